"""Files of pictures of faces: which there are, and what is known of the best of each track.

Of a track there are ``<track>_<k>.jpg``, the best first, and ``<track>_frame.jpg``, the whole frame
of the best. ``covers.json`` says how good that is, when it was, and where in the frame the face is.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from castlist.io.files import replacing
from castlist.io.untrusted import read_json

COVERS = "covers.json"
PICTURES = 3  # of a track, at most
_NAME = re.compile(r"(?P<track>[^.].*)_\d\.jpg", re.DOTALL)


@dataclass(frozen=True)
class Cover:
    """What is known of the best picture of a track.

    Attributes
    ----------
    quality : float
        How well it would do as a cover, 0 to 1.
    time : float
        When it was, in seconds.
    box : tuple of float
        x, y, width and height of the face, as shares of the frame.
    times : tuple of float
        When each of the track's pictures was, the best first; empty if that is not known.
    """

    quality: float
    time: float
    box: tuple[float, float, float, float]
    times: tuple[float, ...] = ()


def pictures_of(faces: Path, track: str) -> list[Path]:
    """Find the pictures of a track's faces, best first."""
    # Not by listing the folder, which may hold tens of thousands.
    paths = [faces / f"{track}_{k}.jpg" for k in range(PICTURES)]
    return [path for path in paths if path.is_file()]


def frame_of(faces: Path, track: str) -> Path:
    """Return where the frame of a track's best picture is."""
    return faces / f"{track}_frame.jpg"


def picture_counts(faces: Path) -> dict[str, int]:
    """Count the pictures of every track that has some."""
    if not faces.is_dir():
        return {}
    names = (_NAME.fullmatch(path.name) for path in os.scandir(faces))
    return dict(Counter(name["track"] for name in names if name))


def write_covers(faces: Path, covers: Mapping[str, Cover]) -> None:
    """Write what is known of the best picture of each track."""
    value = {
        track: {
            "quality": round(one.quality, 4), "time": round(one.time, 3),
            "box": [round(part, 4) for part in one.box],
            "times": [round(time, 3) for time in one.times],
        }
        for track, one in covers.items()
    }  # fmt: skip
    with replacing(faces / COVERS) as partial:
        partial.write_text(json.dumps(value), "utf-8")


def read_covers(faces: Path) -> dict[str, Cover]:
    """Read what :func:`write_covers` wrote; nothing of what is damaged or of an earlier castlist.

    Which picture comes first depends on it, and nothing else.
    """
    try:
        value = read_json(faces / COVERS)
    except (OSError, ValueError):
        return {}
    found = {}
    for track, one in value.items() if isinstance(value, dict) else ():
        with suppress(AttributeError, KeyError, TypeError, ValueError, OverflowError):
            times = [float(time) for time in one.get("times", [])][:PICTURES]
            numbers = np.array([one["quality"], one["time"], *one["box"], *times], np.float64)
            if np.isfinite(numbers).all():
                x, y, w, h = numbers[2:6].clip(0, 1).tolist()
                cover = Cover(float(numbers[0]), float(numbers[1]), (x, y, w, h), tuple(times))
                found[track] = cover
    return found
