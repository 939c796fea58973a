"""What may stand in ``run.json`` and ``cast.json``, checked before it is believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.events import MOST_IDS
from castlist.errors import InputError

RUN = "run.json"
#: Of cast.json and run.json; raised when a castlist of before could not read them.
FORMAT = 2
_MOST = 2**40  # seconds, or pixels: no video has so many
_FARTHEST = 1e9  # embeddings are of length 1, or nearly so


def check_format(path: Path, found: Any) -> None:
    """Refuse a file of another format, and say what to do if it is a newer one."""
    if found == FORMAT:
        return
    newer = type(found) is int and found > FORMAT
    what = "it was written by a newer castlist: use that one, or a later one"
    raise InputError(
        f"{path}: of format {str(found)[:20]}, and this castlist reads format {FORMAT}; "
        f"{what if newer else 'scan again'}"
    )


def check_run(run: Any) -> dict[str, Any]:
    """Return what ``run.json`` says, if its parts are of the right kind; else a ValueError."""
    if not isinstance(run, dict) or not isinstance(run.get("settings"), dict):
        raise ValueError(f"{RUN} without settings")
    films = run.get("videos", [run.get("video", {})])
    if not isinstance(films, list) or not all(isinstance(film, dict) for film in films):
        raise ValueError(f"{RUN} without videos")
    for film in films:
        _check_film(film)
    return run


def amount(value: Any) -> float:
    """Return a number that is one, and not beyond all; else a ValueError."""
    if type(value) not in (int, float) or not 0 <= value < _MOST:
        raise ValueError(f"{str(value)[:20]!r} is no number, too small or too large")
    return float(value)


def number_of(value: Any) -> int:
    """Return the number of a character; else a ValueError."""
    if type(value) is not int or not 0 < value < MOST_IDS:
        raise ValueError(f"{str(value)[:20]!r} is no number of a character")
    return value


def are_points(values: NDArray[Any]) -> bool:
    """Say whether numbers are embeddings that can be reckoned with: squares of them, too."""
    return values.dtype.kind == "f" and bool((np.abs(values) < _FARTHEST).all())


def _check_film(film: dict[str, Any]) -> None:
    """Check what is noted of a video: how long, how fast and how large it is, and its names."""
    film["duration"] = amount(film.get("duration", 0.0))
    if film.get("rate") is not None:
        amount(film["rate"])
    size = film.get("size")
    if size is not None:
        if not isinstance(size, list) or len(size) != 2:
            raise ValueError(f"{RUN} with a strange size of a video")
        film["size"] = [int(amount(side)) for side in size]
    for key in ("name", "path", "title", "episode"):
        if not isinstance(film.get(key, ""), str) or "\0" in film.get(key, ""):
            raise ValueError(f"{RUN} with a strange {key!r} of a video")
