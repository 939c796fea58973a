"""The file ``cast.json``: writing, reading, and validation of it and of ``run.json``."""

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
#: Version of cast.json and run.json; raised if older versions of castlist cannot read them.
FORMAT = 2
_MOST = 2**40  # seconds or pixels; more than any video has
_FARTHEST = 1e9  # embeddings have a length of about 1


def check_format(path: Path, found: Any) -> None:
    """Raise InputError if a file has another format version."""
    if found == FORMAT:
        return
    newer = type(found) is int and found > FORMAT
    what = "it was written by a newer version of castlist: update castlist"
    raise InputError(
        f"{path}: format {str(found)[:20]}, but this castlist reads format {FORMAT}; "
        f"{what if newer else 'scan the video again'}"
    )


def check_run(run: Any) -> dict[str, Any]:
    """Return the content of ``run.json``, validated; raise ValueError if it is invalid."""
    if not isinstance(run, dict) or not isinstance(run.get("settings"), dict):
        raise ValueError(f"{RUN}: no settings")
    films = run.get("videos", [run.get("video", {})])
    if not isinstance(films, list) or not all(isinstance(film, dict) for film in films):
        raise ValueError(f"{RUN}: invalid list of videos")
    for film in films:
        _check_film(film)
    return run


def check_number(value: Any) -> float:
    """Return a number in the accepted range as float; raise ValueError otherwise."""
    if type(value) not in (int, float) or not 0 <= value < _MOST:
        raise ValueError(f"{str(value)[:20]!r} is not a number from 0 to {_MOST}")
    return float(value)


def check_id(value: Any) -> int:
    """Return the id of a character; raise ValueError if it is invalid."""
    if type(value) is not int or not 0 < value < MOST_IDS:
        raise ValueError(f"{str(value)[:20]!r} is not the id of a character")
    return value


def valid_embeddings(values: NDArray[Any]) -> bool:
    """Return whether values are finite embeddings whose squares do not overflow."""
    return values.dtype.kind == "f" and bool((np.abs(values) < _FARTHEST).all())


def _check_film(film: dict[str, Any]) -> None:
    """Validate the entry of a video: duration, delay, frame rate, sizes and names."""
    film["duration"] = check_number(film.get("duration", 0.0))
    for key in ("rate", "delay"):
        if film.get(key) is not None:
            check_number(film[key])
    for key in ("size", "stored_size"):
        size = film.get(key)
        if size is not None:
            if not isinstance(size, list) or len(size) != 2:
                raise ValueError(f"{RUN}: invalid {key} of a video")
            film[key] = [int(check_number(side)) for side in size]
    for key in ("name", "path", "title", "episode"):
        if not isinstance(film.get(key, ""), str) or "\0" in film.get(key, ""):
            raise ValueError(f"{RUN}: invalid {key!r} of a video")


def save_cast(cast: Cast, path: Path, about: dict[str, Any]) -> None:
    """Write a cast as JSON: characters, and the ids of their tracks.

    ``about`` has more keys for the file. ``next`` is the least id that was never used in this
    folder; ``about`` may have a larger one.
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
    """Read a cast that :func:`save_cast` wrote; ``tracks`` are the tracks it was made of."""
    place = {str(name): i for i, name in enumerate(tracks.ids)}
    try:
        value = read_json(path)
        check_format(path, value["format"])
        if value.get("scan", now := scan_digest(tracks)) != now:
            raise InputError(
                f"{path}: not a cast of these tracks: they are of another scan, which is running "
                "or was interrupted; scan the video again"
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
    """Return a hash that identifies the tracks of a scan."""
    parts = (tracks.ids, tracks.video, tracks.offsets, tracks.time, tracks.box)
    return digest(*(np.ascontiguousarray(part).tobytes() for part in parts))


def digest(*parts: bytes) -> str:
    """Return a short hash of some bytes."""
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()[:16]
