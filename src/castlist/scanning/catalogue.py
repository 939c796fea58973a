"""Many videos: which they are, where their casts go, and what became of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from castlist.errors import InputError, first_line
from castlist.progress import Progress, silent
from castlist.scanning.networks import Networks
from castlist.scanning.scan import SUFFIX, Scan, cast_folder, scan
from castlist.scanning.settings import ScanSettings

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
    """

    entry: Entry
    summary: dict[str, Any]
    failed: str = ""
    warned: tuple[str, ...] = ()


def find_videos(paths: Sequence[Path], out: Path | None = None) -> list[Entry]:
    """List the videos that files and folders of them name, each once.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders that are searched with all that is in them.
    out : Path, optional
        Folder for the casts; those of a searched folder lie in it as the videos lie there.
        Beside each video if not given.
    """
    entries: dict[Path, Entry] = {}
    for path in paths:
        if not path.is_dir():
            entries.setdefault(path.absolute(), Entry(path, cast_folder(path, out)))
            continue
        found = sorted(_videos_in(path))
        if not found:
            raise InputError(f"{path}: no videos in this folder")
        for video in found:
            place = None if out is None else out / video.parent.relative_to(path)
            entries.setdefault(video.absolute(), Entry(video, cast_folder(video, place)))
    shared = Counter(str(entry.folder.absolute()) for entry in entries.values())
    if twice := [folder for folder, count in shared.items() if count > 1]:
        raise InputError(f"two videos would share {min(twice)}; scan them with --out of their own")
    return list(entries.values())


def scan_all(
    entries: Sequence[Entry], settings: ScanSettings, *, progress: Progress = silent
) -> list[Outcome]:
    """Scan videos one after another; one that cannot be scanned does not stop the others.

    What is done is not done again, and what failed is tried again by the next run.
    """
    networks, outcomes = Networks(), []
    for done, entry in enumerate(entries):
        progress("videos", done, len(entries))
        outcomes.append(scan_entry(entry, settings, networks, progress=progress))
    progress("videos", len(entries), len(entries))
    return outcomes


def scan_entry(
    entry: Entry, settings: ScanSettings, networks: Networks, *,
    patience: float = 0.0, progress: Progress = silent,
) -> Outcome:  # fmt: skip
    """Scan one video of a catalogue; say why if that fails."""
    try:
        found = scan(
            entry.video, entry.folder, settings, networks=networks, patience=patience,
            progress=progress,
        )  # fmt: skip
    except Exception as error:  # whatever it is: the others are still worth having
        return failure(entry, error)
    return Outcome(entry, summary(found))


def failure(entry: Entry, error: Exception) -> Outcome:
    """Say which video failed, and why, in one line."""
    why = first_line(error)
    named = entry.video.name in why or entry.folder.name in why
    return Outcome(entry, {}, why if named else f"{entry.video}: {why}")


def summary(found: Scan) -> dict[str, Any]:
    """Say in plain values what a scan found."""
    return {
        "video": found.run["video"]["name"],
        "folder": str(found.folder),
        "report": str(found.report),
        "duration": round(found.cast.duration, 3),
        "counts": found.run["counts"],
        "given_up": found.run["given_up"],
        "characters": [
            {"title": one.title, "background": one.background, "seconds": round(one.seconds, 2),
             "tracks": len(one.tracks), "sure": round(one.sure, 3)}
            for one in found.cast.characters
        ],
    }  # fmt: skip


def _videos_in(folder: Path) -> Iterator[Path]:
    for place, inner, names in os.walk(folder):
        inner[:] = [
            name for name in inner if not name.startswith(".") and not name.endswith(SUFFIX)
        ]
        for name in names:
            if not name.startswith(".") and name.lower().endswith(VIDEO_SUFFIXES):
                yield Path(place, name)
