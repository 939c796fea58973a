"""What may stand in ``run.json`` and ``cast.json``, checked before it is believed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast import Cast, Character
from castlist.cast.events import MOST_IDS
from castlist.errors import InputError
from castlist.io.files import replacing
from castlist.io.untrusted import read_json
from castlist.tracks import TrackSet

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


def check_number(value: Any) -> float:
    """Return a number that is one, and not beyond all; else a ValueError."""
    if type(value) not in (int, float) or not 0 <= value < _MOST:
        raise ValueError(f"{str(value)[:20]!r} is no number, too small or too large")
    return float(value)


def check_id(value: Any) -> int:
    """Return the number of a character; else a ValueError."""
    if type(value) is not int or not 0 < value < MOST_IDS:
        raise ValueError(f"{str(value)[:20]!r} is no number of a character")
    return value


def valid_embeddings(values: NDArray[Any]) -> bool:
    """Say whether numbers are embeddings that can be reckoned with: squares of them, too."""
    return values.dtype.kind == "f" and bool((np.abs(values) < _FARTHEST).all())


def _check_film(film: dict[str, Any]) -> None:
    """Check what is noted of a video: how long, how fast and how large it is, and its names."""
    film["duration"] = check_number(film.get("duration", 0.0))
    if film.get("rate") is not None:
        check_number(film["rate"])
    size = film.get("size")
    if size is not None:
        if not isinstance(size, list) or len(size) != 2:
            raise ValueError(f"{RUN} with a strange size of a video")
        film["size"] = [int(check_number(side)) for side in size]
    for key in ("name", "path", "title", "episode"):
        if not isinstance(film.get(key, ""), str) or "\0" in film.get(key, ""):
            raise ValueError(f"{RUN} with a strange {key!r} of a video")


def save_cast(cast: Cast, path: Path, about: dict[str, Any]) -> None:
    """Write a cast as JSON: characters, and the ids of their tracks.

    ``next`` is the least id that no character of this folder was ever given; ``about`` may give a
    larger one.
    """
    ids = cast.tracks.ids
    value = {
        "format": FORMAT,
        "next": max((one.number for one in cast.characters), default=0) + 1,
        "video": cast.tracks.videos[0] if cast.tracks.videos else "",
        "duration": cast.duration,
        "scan": scan_digest(cast.tracks),
        **about,
        "characters": [
            {
                "number": one.number,
                "name": one.name,
                "title": one.title,
                "background": one.background,
                "seconds": round(one.seconds, 3),
                "sure": round(one.sure, 4),
                "small": one.small,
                "tracks": [str(ids[t]) for t in one.tracks],
                "track_sure": [round(sure, 4) for sure in one.track_sure],
            }
            for one in cast.characters
        ],
    }
    with replacing(path) as partial:
        partial.write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")


def load_cast(path: Path, tracks: TrackSet) -> Cast:
    """Read what :func:`save_cast` wrote, around the tracks it was made of."""
    place = {str(name): i for i, name in enumerate(tracks.ids)}
    try:
        value = read_json(path)
        check_format(path, value["format"])
        if value.get("scan", now := scan_digest(tracks)) != now:
            raise InputError(
                f"{path}: not a cast of these tracks: they are of another scan, which is at work "
                "or was cut off; scan again"
            )
        characters = tuple(
            Character(
                check_id(one["number"]), str(one["name"]), bool(one["background"]),
                np.array([place[name] for name in one["tracks"]], np.int64),
                check_number(one["seconds"]), check_number(one["sure"]), small=bool(one["small"]),
                track_sure=tuple(check_number(sure) for sure in one["track_sure"]),
            )
            for one in value["characters"]
        )  # fmt: skip
        return Cast(tracks, characters, check_number(value["duration"]))
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a cast of these tracks ({error})") from error


def scan_digest(tracks: TrackSet) -> str:
    """Return what tells these tracks from those of another scan."""
    parts = (tracks.ids, tracks.video, tracks.offsets, tracks.time, tracks.box)
    return digest(*(np.ascontiguousarray(part).tobytes() for part in parts))


def digest(*parts: bytes) -> str:
    """Return a short hash of some bytes."""
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()[:16]
