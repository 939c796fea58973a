"""Pictures of faces to show in reports and on the review page, and their files."""

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

_FRAME_WIDTH = 480  # maximum width of a frame to show, in pixels
_QUALITY, _FRAME_QUALITY = 84, 75  # JPEG quality


@dataclass(frozen=True)
class Picture:
    """A picture of a face to show.

    Attributes
    ----------
    face : bytes
        The face with hair and shoulders, as JPEG to save memory.
    frame : bytes
        The whole frame, scaled down, as JPEG. Faces of one frame share it.
    cover : Cover
        Score as a cover, time, and box in the frame.
    """

    face: bytes
    frame: bytes
    cover: Cover


def as_jpeg(image: Image, quality: int = _QUALITY) -> bytes:
    """Return an image as JPEG."""
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise CastlistError("OpenCV cannot encode a picture of a face as JPEG")
    return bytes(data.tobytes())


def frame_view(image: Image) -> bytes:
    """Return a frame scaled down, as JPEG."""
    height, width = image.shape[:2]
    scale = min(1.0, _FRAME_WIDTH / width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return as_jpeg(shrunk(image, size), _FRAME_QUALITY)


def share_of(image: Image, box: NDArray[np.floating]) -> tuple[float, float, float, float]:
    """Return a box in shares of its frame, clipped to it."""
    height, width = image.shape[:2]
    x, y, w, h = (float(value) for value in box)
    left, right = (min(max(at / width, 0.0), 1.0) for at in (x, x + w))
    top, bottom = (min(max(at / height, 0.0), 1.0) for at in (y, y + h))
    return left, top, right - left, bottom - top


def write_pictures(faces: Path, track: str, pictures: Sequence[Picture]) -> None:
    """Write the pictures of a track, best first, and the frame of the best."""
    for k in range(len(pictures), PICTURES):  # left by an interrupted run
        (faces / f"{track}_{k}.jpg").unlink(missing_ok=True)
    for k, one in enumerate(pictures[:PICTURES]):
        with replacing(faces / f"{track}_{k}.jpg", wait=False) as partial:
            partial.write_bytes(one.face)
    if pictures:
        with replacing(frame_of(faces, track), wait=False) as partial:
            partial.write_bytes(pictures[0].frame)
