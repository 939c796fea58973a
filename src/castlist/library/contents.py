"""The videos and cast folders of a folder, and which cast is of which video."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from castlist.io.files import printable
from castlist.library.cast_info import CastInfo
from castlist.pipeline.catalogue import VIDEO_SUFFIXES
from castlist.pipeline.scan import SUFFIX, cast_folder

_MAX_DEPTH = 8  # levels of sub-folders that are searched


@dataclass(frozen=True)
class Found:
    """What a folder holds.

    Attributes
    ----------
    videos : tuple of Path
        The video files, in order of their paths.
    casts : tuple of Path
        The cast folders, in order of their paths.
    unreadable : tuple of (Path, str)
        Folders that could not be listed, and why.
    """

    videos: tuple[Path, ...]
    casts: tuple[Path, ...]
    unreadable: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True)
class Place:
    """A video, the folder of its cast, and the cast if there is one."""

    video: Path
    folder: Path
    cast: CastInfo | None


def find_contents(folder: Path) -> Found:
    """Return the videos and casts in a folder and its sub-folders.

    Hidden files and folders, linked folders, and the insides of cast folders are left out.
    """
    videos: list[Path] = []
    casts: list[Path] = []
    unreadable: list[tuple[Path, str]] = []

    def search(place: Path, depth: int) -> None:
        try:
            with os.scandir(place) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            unreadable.append((place, error.strerror or str(error)))
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                if entry.name.endswith(SUFFIX):
                    casts.append(place / entry.name)
                elif depth < _MAX_DEPTH:
                    search(place / entry.name, depth + 1)
            elif entry.name.lower().endswith(VIDEO_SUFFIXES):
                videos.append(place / entry.name)

    search(folder, 0)
    return Found(tuple(videos), tuple(casts), tuple(unreadable))


def place_videos(videos: Iterable[Path], casts: Mapping[Path, CastInfo]) -> list[Place]:
    """Return each video with its cast: the one that was scanned from it, or the one it would get.

    The folder of a video that was never scanned is the one that `castlist scan` would choose.

    Parameters
    ----------
    videos : iterable of Path
        The video files.
    casts : mapping of Path to CastInfo
        The casts by folder.
    """
    videos = list(videos)
    of_video: dict[Path, list[CastInfo]] = {}
    for info in casts.values():
        if info.video is not None:
            of_video.setdefault(info.video, []).append(info)
    same_stem = Counter(_stem(video) for video in videos)
    placed = []
    for video in videos:
        folder = cast_folder(video, None, same_stem[_stem(video)] == 1)
        own = of_video.get(Path(os.path.realpath(video)), [])
        cast = next((info for info in own if info.folder == folder), own[0] if own else None)
        placed.append(Place(video, cast.folder if cast else folder, cast))
    return placed


def key_of(path: Path, home: Path) -> str:
    """Return the key of a path in addresses: the same at every start, and no path itself."""
    inside = os.path.relpath(path, home)
    return hashlib.sha256(inside.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def shown_path(path: Path, home: Path) -> str:
    """Return a path relative to the library as text; empty for the library itself."""
    inside = printable(os.path.relpath(path, home).replace(os.sep, "/"))
    return "" if inside == "." else inside


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _stem(video: Path) -> str:
    """Return a video's path without its suffix, as it is on file systems that ignore case."""
    return str(video.with_suffix("")).casefold()
