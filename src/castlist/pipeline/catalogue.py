"""Many videos: which they are, where their casts go, and what became of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from castlist.errors import InputError, first_line
from castlist.pipeline.networks import Networks
from castlist.pipeline.scan import SUFFIX, OtherVideo, Scan, cast_folder, scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent

#: What is taken for a video in a folder. A file that is named is opened whatever it is called.
VIDEO_SUFFIXES = (
    ".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts",
    ".mxf", ".ogv", ".ts", ".vob", ".webm", ".wmv",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A video of a catalogue, and the folder of its cast."""

    video: Path
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """What became of a video.

    Attributes
    ----------
    entry : Entry
        The video.
    summary : dict
        What :func:`summary` says of its scan; empty if that failed.
    failed : str
        Why it could not be scanned; empty if it could.
    warned : tuple of str
        What was announced meanwhile, where nobody could hear it.
    other : bool
        Whether it was not scanned because its folder holds the cast of another video.
    """

    entry: Entry
    summary: dict[str, Any]
    failed: str = ""
    warned: tuple[str, ...] = ()
    other: bool = False


def find_videos(paths: Sequence[Path], out: Path | None = None) -> list[Entry]:
    """List the videos that files and folders of them name, each once.

    Where two videos of one folder differ only in their suffix, a cast is called after the whole
    name: ``a.mp4.cast`` and ``a.mkv.cast``. A cast that is there keeps its folder.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders that are searched with all that is in them, linked folders too.
    out : Path, optional
        Folder for the casts; those of a searched folder lie in it as the videos lie there.
        Beside each video if not given.
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
    plain = Counter(_known_as(cast_folder(*one)) for one in found.values())
    entries = [
        Entry(video, cast_folder(video, place, plain[_known_as(cast_folder(video, place))] == 1))
        for video, place in found.values()
    ]
    owners: dict[str, Path] = {}
    for entry in entries:
        owner = owners.setdefault(_known_as(entry.folder), entry.video)
        if owner != entry.video:
            raise InputError(
                f"two videos would share {entry.folder}: {owner} and {entry.video}; scan the "
                "folder that holds both, or each into a folder of its own"
            )
    return entries


def scan_all(
    entries: Sequence[Entry], settings: ScanSettings, *,
    replace: bool = False, progress: Progress = silent,
) -> list[Outcome]:  # fmt: skip
    """Scan videos one after another; one that cannot be scanned does not stop the others.

    What is done is not done again, and what failed is tried again by the next run.
    """
    networks, outcomes = Networks(), []
    for done, entry in enumerate(entries):
        progress("videos", done, len(entries))
        outcomes.append(scan_entry(entry, settings, networks, replace=replace, progress=progress))
    progress("videos", len(entries), len(entries))
    return outcomes


def scan_entry(
    entry: Entry, settings: ScanSettings, networks: Networks, *,
    replace: bool = False, patience: float = 0.0, progress: Progress = silent,
) -> Outcome:  # fmt: skip
    """Scan one video of a catalogue; say why if that fails."""
    try:
        found = scan(
            entry.video, entry.folder, settings, replace=replace, networks=networks,
            patience=patience, progress=progress,
        )  # fmt: skip
    except Exception as error:  # whatever it is: the others are still worth having
        return failure(entry, error)
    return Outcome(entry, summary(found))


def failure(entry: Entry, error: Exception) -> Outcome:
    """Say which video failed, and why, in one line."""
    why = first_line(error)
    named = entry.video.name in why or entry.folder.name in why
    other = isinstance(error, OtherVideo)
    return Outcome(entry, {}, why if named else f"{entry.video}: {why}", other=other)


def summary(found: Scan) -> dict[str, Any]:
    """Say in plain values what a scan found."""
    return {
        "video": found.run["video"]["name"],
        "folder": str(found.folder),
        "report": str(found.report),
        "duration": round(found.cast.duration, 3),
        "counts": found.run["counts"],
        "given_up": found.run["given_up"],
        "set_aside": None if found.set_aside is None else str(found.set_aside),
        "characters": [
            {"title": one.title, "background": one.background, "seconds": round(one.seconds, 2),
             "tracks": len(one.tracks), "sure": round(one.sure, 3)}
            for one in found.cast.characters
        ],
    }  # fmt: skip


def _known_as(folder: Path) -> str:
    """Return what a folder is called where no disk tells ``a.cast`` from ``A.cast``."""
    return os.path.abspath(folder).casefold()


def _videos_in(folder: Path) -> Iterator[Path]:
    """Yield the videos in a folder and all its sub-folders, linked ones too, each folder once."""
    home, seen, starts = folder.resolve(), set(), [folder]
    for start in starts:  # linked folders come after all others: a folder's own name is preferred
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
