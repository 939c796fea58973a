"""Picture files of faces, and ``covers.json``, which describes the best picture of each track.

A track has ``<track>_<k>.jpg``, best first, and ``<track>_frame.jpg``, the whole frame of the best
one. ``covers.json`` has its quality, its time, and the box of the face in the frame.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import FiniteFloat, TypeAdapter

from castlist.errors import InputError
from castlist.io.cast_files import is_own_file
from castlist.io.files import replacing
from castlist.io.untrusted import read_json, read_small

COVERS = "covers.json"
PICTURES = 3  # per track, at most
_JPEG = b"\xff\xd8\xff"  # how every JPEG file begins
_MAX_BYTES = 2**24  # far more than the whole frame of a video, made small
_NAME = re.compile(r"(?P<track>[^.].*)_\d\.jpg", re.DOTALL)


@dataclass(frozen=True)
class Cover:
    """The best picture of a track.

    Attributes
    ----------
    quality : float
        Quality as a cover, 0 to 1.
    time : float
        Time in seconds.
    box : tuple of float
        x, y, width and height of the face, as fractions of the frame.
    times : tuple of float
        Time of each of the track's pictures, best first; empty if unknown.
    """

    quality: FiniteFloat
    time: FiniteFloat
    box: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
    times: tuple[FiniteFloat, ...] = ()


_COVER = TypeAdapter(Cover)


def pictures_of(faces: Path, track: str) -> list[Path]:
    """Return the pictures of a track's faces, best first."""
    # Do not list the folder: it may hold tens of thousands of files.
    paths = [faces / f"{track}_{k}.jpg" for k in range(PICTURES)]
    return [path for path in paths if is_own_file(path)]


def jpeg_of(path: Path) -> bytes | None:
    """Return the content of a picture; None if it is missing, a link, or no JPEG file."""
    if not is_own_file(path):
        return None
    try:
        data = read_small(path, _MAX_BYTES)
    except (OSError, InputError):
        return None
    return data if data.startswith(_JPEG) else None


def frame_of(faces: Path, track: str) -> Path:
    """Return the path of the frame of a track's best picture."""
    return faces / f"{track}_frame.jpg"


def picture_counts(faces: Path) -> dict[str, int]:
    """Return the number of pictures per track; tracks without pictures are left out."""
    if not faces.is_dir():
        return {}
    names = (_NAME.fullmatch(path.name) for path in os.scandir(faces))
    return dict(Counter(name["track"] for name in names if name))


def write_covers(faces: Path, covers: Mapping[str, Cover]) -> None:
    """Write the covers by track."""
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
    """Read the covers by track; damaged ones are left out.

    They only decide which picture comes first.
    """
    try:
        value = read_json(faces / COVERS) if is_own_file(faces / COVERS) else {}
    except (OSError, ValueError):
        return {}
    found = {}
    for track, one in value.items() if isinstance(value, dict) else ():
        with suppress(ValueError):
            cover = _COVER.validate_python(one)
            x, y, w, h = (min(max(side, 0.0), 1.0) for side in cover.box)
            found[track] = replace(cover, box=(x, y, w, h), times=cover.times[:PICTURES])
    return found
