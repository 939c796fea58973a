"""Pictures of faces, as people are shown them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.errors import CastlistError
from castlist.io.files import replacing
from castlist.io.pictures import PICTURES, Cover, frame_of
from castlist.video.frames import Image, shrunk

_FRAME_WIDTH = 480  # pixels of a frame that is shown beside a face, at most
_QUALITY, _FRAME_QUALITY = 84, 75  # of JPEG


@dataclass(frozen=True)
class Picture:
    """A face as people are shown it.

    Attributes
    ----------
    face : bytes
        The face with hair and shoulders, as JPEG, so that many can be held.
    frame : bytes
        The whole frame, small, as JPEG too: faces of one frame share it.
    cover : Cover
        How good it is, and where in the frame.
    """

    face: bytes
    frame: bytes
    cover: Cover


def as_jpeg(image: Image, quality: int = _QUALITY) -> bytes:
    """Return a picture as JPEG."""
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise CastlistError("a picture of a face cannot be written as JPEG")
    return bytes(data.tobytes())


def frame_view(image: Image) -> bytes:
    """Return a frame small and as JPEG."""
    height, width = image.shape[:2]
    scale = min(1.0, _FRAME_WIDTH / width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return as_jpeg(shrunk(image, size), _FRAME_QUALITY)


def share_of(image: Image, box: NDArray[np.floating]) -> tuple[float, float, float, float]:
    """Return a box as shares of its frame, no part of it outside."""
    height, width = image.shape[:2]
    x, y, w, h = (float(value) for value in box)
    left, right = (min(max(at / width, 0.0), 1.0) for at in (x, x + w))
    top, bottom = (min(max(at / height, 0.0), 1.0) for at in (y, y + h))
    return left, top, right - left, bottom - top


def write_pictures(faces: Path, track: str, pictures: Sequence[Picture]) -> None:
    """Write the pictures of a track, best first, and the frame of the best."""
    for k in range(len(pictures), PICTURES):  # of a run that was cut off
        (faces / f"{track}_{k}.jpg").unlink(missing_ok=True)
    for k, one in enumerate(pictures[:PICTURES]):
        with replacing(faces / f"{track}_{k}.jpg", wait=False) as partial:
            partial.write_bytes(one.face)
    if pictures:
        with replacing(frame_of(faces, track), wait=False) as partial:
            partial.write_bytes(pictures[0].frame)
