"""Scanning many videos: finding them, choosing their cast folders, and collecting outcomes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from castlist.cast.cast_file import RUN
from castlist.errors import InputError, first_line
from castlist.pipeline.run_manifest import read_manifest, settings_of
from castlist.pipeline.scan import SUFFIX, Networks, OtherVideoError, Scan, cast_folder, scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent

#: Suffixes of the files that are scanned in a folder. A file given by name may have any suffix.
VIDEO_SUFFIXES = (
    ".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts",
    ".mxf", ".ogv", ".ts", ".vob", ".webm", ".wmv",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A video and its cast folder."""

    video: Path
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """The outcome of scanning a video.

    Attributes
    ----------
    entry : Entry
        The video and its cast folder.
    summary : dict
        Result, as :func:`summary` returns it; empty if the scan failed.
    failed : str
        Reason of the failure; empty if there was none.
    warned : tuple of str
        Warnings of a scan in another process.
    other : bool
        Whether the scan failed because the folder holds the cast of another video.
    """

    entry: Entry
    summary: dict[str, Any]
    failed: str = ""
    warned: tuple[str, ...] = ()
    other: bool = False


def find_videos(paths: Sequence[Path], out: Path | None = None) -> list[Entry]:
    """Return the videos given as files and folders, each once.

    If the names of two videos of a folder differ only in their suffix, cast folders have the whole
    names: ``a.mp4.cast`` and ``a.mkv.cast``. An existing cast keeps its folder.

    Parameters
    ----------
    paths : sequence of Path
        Files, and folders to search recursively, including linked folders.
    out : Path, optional
        Parent of the cast folders, with the sub-folders of a searched folder. By default cast
        folders are beside the videos.
    """
    found: dict[Path, tuple[Path, Path | None]] = {}
    for path in paths:
        if not path.is_dir():
            found.setdefault(path.absolute(), (path, out))
            continue
        inside = sorted(_videos_in(path))
        if not inside:
            raise InputError(f"{path}: no videos in this folder")
        for video in inside:
            place = None if out is None else out / video.parent.relative_to(path)
            found.setdefault(video.absolute(), (video, place))
    plain = Counter(_case_insensitive(cast_folder(*one)) for one in found.values())
    entries = [
        Entry(
            video,
            cast_folder(video, place, plain[_case_insensitive(cast_folder(video, place))] == 1),
        )
        for video, place in found.values()
    ]
    owners: dict[str, Path] = {}
    for entry in entries:
        owner = owners.setdefault(_case_insensitive(entry.folder), entry.video)
        if owner != entry.video:
            raise InputError(
                f"{owner} and {entry.video} would have the same cast folder, {entry.folder}; scan "
                "the folder that holds both, or scan each into a separate folder"
            )
    return entries


def scan_all(
    entries: Sequence[Entry], settings: ScanSettings, *,
    replace: bool = False, progress: Progress = silent,
) -> list[Outcome]:  # fmt: skip
    """Scan videos one after another; a failure does not stop the others.

    The next run skips what is done and retries what failed.

    Parameters
    ----------
    entries : sequence of Entry
        The videos.
    settings : ScanSettings
        Settings of all scans.
    replace : bool
        Whether to replace casts of other videos, as in :func:`castlist.scan`.
    progress : callable
        Called with the stage, the number of items done and the total.

    Returns
    -------
    list of Outcome
        One outcome per video, in the order of `entries`.
    """
    networks, outcomes = Networks(), []
    for done, entry in enumerate(entries):
        progress("videos", done, len(entries))
        outcomes.append(scan_entry(entry, settings, networks, replace=replace, progress=progress))
    progress("videos", len(entries), len(entries))
    return outcomes


def scan_entry(
    entry: Entry, settings: ScanSettings, networks: Networks, *,
    replace: bool = False, lock_timeout: float = 0.0, progress: Progress = silent,
) -> Outcome:  # fmt: skip
    """Scan one video; return the failure if there is one."""
    try:
        found = scan(
            entry.video, entry.folder, settings, replace=replace, networks=networks,
            lock_timeout=lock_timeout, progress=progress,
        )  # fmt: skip
    except Exception as error:  # a bug must not stop the other videos either
        return failure(entry, error)
    return Outcome(entry, summary(found))


def scan_to_add(
    joined: Path, video: Path, *, describer: str | None = None, model: Path | None = None,
    tracks: Path | None = None, progress: Progress = silent,
) -> Path:  # fmt: skip
    """Scan a video that is to be added to a joined cast; return its cast folder.

    If the video was scanned before, the same settings are used, so that nothing is repeated. A new
    video is scanned with the describer and the model of the joined cast.

    Parameters
    ----------
    joined : Path
        Folder of the joined cast.
    video : Path
        The video file.
    describer, model, tracks : optional
        Files that the earlier scan was given, if any. Those that only the cast folder names are not
        opened: it may come from a stranger.
    progress : callable
        Called with the stage, the number of items done and the total.
    """
    folder = cast_folder(video)
    named = {"describer": describer, "model": model, "tracks": tracks}
    run = read_manifest(folder / RUN)
    if "settings" in run:
        settings = settings_of(run, folder, named)
    else:
        run = read_manifest(joined / RUN)
        asked = run.get("settings")
        if isinstance(asked, dict):  # the tracks are those of another video
            run["settings"] = {**asked, "tracks": None}
        of_joined = settings_of(run, joined, named)
        settings = ScanSettings(
            describer=of_joined.describer, model=of_joined.model, tracks=of_joined.tracks
        )
    return scan(video, folder, settings, progress=progress).folder


def failure(entry: Entry, error: Exception) -> Outcome:
    """Return the outcome of a failed scan, with the video and the reason in one line."""
    why = first_line(error)
    named = entry.video.name in why or entry.folder.name in why
    other = isinstance(error, OtherVideoError)
    return Outcome(entry, {}, why if named else f"{entry.video}: {why}", other=other)


def summary(found: Scan) -> dict[str, Any]:
    """Return the result of a scan as JSON values."""
    return {
        "video": found.run["video"]["name"],
        "folder": str(found.folder),
        "report": str(found.report),
        "duration": round(found.cast.duration, 3),
        "read_until": found.run["video"].get("read_until"),
        "counts": found.run["counts"],
        "given_up": found.run["given_up"],
        "set_aside": None if found.set_aside is None else str(found.set_aside),
        "lost": found.lost,
        "characters": [
            {"title": one.title, "background": one.background, "seconds": round(one.seconds, 2),
             "tracks": len(one.tracks), "sure": round(one.sure, 3)}
            for one in found.cast.characters
        ],
    }  # fmt: skip


def _case_insensitive(folder: Path) -> str:
    """Return a folder's path as it is on file systems that ignore case."""
    return os.path.abspath(folder).casefold()


def _videos_in(folder: Path) -> Iterator[Path]:
    """Yield the videos in a folder and its sub-folders, including linked ones, each folder once."""
    home, seen, starts = folder.resolve(), set(), [folder]
    for start in starts:  # linked folders last, so that real names are preferred
        for place, inner, names in os.walk(start):
            real = Path(place).resolve()
            if real in seen or (start != folder and home.is_relative_to(real)):  # a loop
                inner.clear()
                continue
            seen.add(real)
            inner[:] = sorted(
                name for name in inner if not name.startswith(".") and not name.endswith(SUFFIX)
            )
            starts += [Path(place, name) for name in inner if os.path.islink(Path(place, name))]
            for name in names:
                if not name.startswith(".") and name.lower().endswith(VIDEO_SUFFIXES):
                    yield Path(place, name)
