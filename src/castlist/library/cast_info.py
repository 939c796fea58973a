"""What the library shows of a cast, read from small files of its folder."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from castlist.cast.cast_file import RUN
from castlist.cast.events import ACTIONS, live_events
from castlist.cast.folder import CAST, CORRECTIONS
from castlist.cast.log import Log
from castlist.errors import CastlistError, InputError, first_line
from castlist.io.cast_files import refuse_links
from castlist.io.files import printable
from castlist.io.output_guard import is_cast
from castlist.pipeline.run_manifest import read_manifest
from castlist.pipeline.scan import PARTS

Stamp = tuple[tuple[int, int], ...]
#: Files that change whenever the cast does. SQLite appends corrections to the file with ``-wal``.
_WATCHED = (RUN, CAST, CORRECTIONS, f"{CORRECTIONS}-wal", PARTS)
_NOT_BY_HAND = ("add", "remove", "join")


@dataclass(frozen=True)
class CastInfo:
    """What is known of a cast without opening it.

    Attributes
    ----------
    folder : Path
        The cast folder.
    videos : tuple of str
        Names of its videos.
    video : Path or None
        The file of its video, without links in its path, if it has one video that exists.
    joined : bool
        Whether it is a cast of several videos.
    complete : bool
        Whether its scan was finished; if not, a scan resumes.
    seconds : float
        Length of its videos.
    characters, tracks : int
        Number of characters and tracks that the scan found; 0 if unknown.
    corrections : int
        Number of corrections that hold.
    problem : str
        Why it cannot be read; empty if it can.
    """

    folder: Path
    videos: tuple[str, ...] = ()
    video: Path | None = None
    joined: bool = False
    complete: bool = False
    seconds: float = 0.0
    characters: int = 0
    tracks: int = 0
    corrections: int = 0
    problem: str = ""


def stamp_of(folder: Path) -> Stamp:
    """Return times and sizes of the files of a cast that change whenever it does."""
    found = []
    for name in _WATCHED:
        try:
            stat = os.stat(folder / name)
            found.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            found.append((0, -1))
    # An empty file with -wal comes and goes when a log is only read.
    return tuple((0, -1) if size == 0 else (at, size) for at, size in found)


def read_cast_info(folder: Path) -> CastInfo:
    """Return what is known of a cast; the reason if it cannot be read. Writes nothing."""
    try:
        refuse_links(folder)
    except InputError as error:
        return CastInfo(folder, problem=first_line(error))
    run = read_manifest(folder / RUN)
    # os.path answers False for what is not accessible; Path raises.
    complete = os.path.isfile(folder / CAST)
    if not run and complete:
        return CastInfo(folder, problem="run.json is missing or damaged; scan the video again")
    if not is_cast(folder):
        return CastInfo(folder, problem="not a cast folder; scan the video again")
    listed, joined = run.get("videos"), "videos" in run
    entries = listed if isinstance(listed, list) else [run.get("video")]
    films = [film for film in entries if isinstance(film, dict)]
    info = CastInfo(
        folder,
        videos=tuple(printable(str(film.get("name", ""))) for film in films),
        video=None if joined or not films else _file_of(folder, films[0]),
        joined=joined,
        complete=complete,
        seconds=sum(_number(film, "duration") for film in films),
        characters=int(_number(run.get("counts"), "characters")),
        tracks=int(_number(run.get("counts"), "tracks")),
    )
    try:
        return replace(info, corrections=_corrections(folder / CORRECTIONS))
    except (CastlistError, OSError) as error:
        return replace(info, problem=first_line(error))


def folder_size(folder: Path) -> int:
    """Return the size of all files in a folder, in bytes; what cannot be read counts nothing."""
    total, places = 0, [os.fspath(folder)]
    for place in places:
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        places.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def _corrections(path: Path) -> int:
    """Return the number of corrections in a log that were made by hand and not undone."""
    with closing(Log(path, read_only=True)) as log:
        live, _ = live_events(log.events())
    return sum(event.kind in ACTIONS and event.kind not in _NOT_BY_HAND for event in live)


def _file_of(folder: Path, film: dict[str, Any]) -> Path | None:
    """Return the file of a video: where it was scanned, or beside the cast; None if gone."""
    places = [folder / str(film.get("path") or "."), folder.parent / str(film.get("name") or ".")]
    found = (Path(os.path.realpath(place)) for place in places if os.path.isfile(place))
    return next(found, None)


def _number(entry: Any, name: str) -> float:
    """Return a number in a damaged or forged entry, from 0 to a trillion; 0 if it is none."""
    value = entry.get(name) if isinstance(entry, dict) else None
    usable = isinstance(value, int | float) and 0 <= value < 1e12
    return float(value) if usable and value is not None else 0.0
