"""The videos of a joined cast on disk: one folder per video, so that one more costs only its own.

``episodes/<name>`` holds a video's tracks, their embeddings, the numbers of their characters and
the pictures. ``run.json`` lists the videos in order, ``model.safetensors`` is the model of all of
them, and ``balls.npz`` has the balls of the characters.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast_file import FORMAT, RUN
from castlist.cast.folder import (
    CAST,
    EPISODES,
    FACES,
    LABELS,
    TRACKS,
    Scanned,
    check_name,
    write_points,
)
from castlist.errors import CastlistError
from castlist.io.cast_files import is_own_file, refuse_link
from castlist.io.files import printable, replacing
from castlist.io.parquet import write_tracks
from castlist.io.pictures import COVERS
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
MODEL, BALLS = "model.safetensors", "balls.npz"
_LONGEST = 60  # characters of a folder name; file systems allow 255 bytes


def write_episode(
    folder: Path,
    film: dict[str, Any],
    tracks: TrackSet,
    points: NDArray[np.float32],
    faces: Path,
) -> None:
    """Write a video of a joined cast: its tracks, embeddings and pictures."""
    home = folder / EPISODES / check_name(film["episode"])  # `..` would be the whole cast
    refuse_link(home.parent)
    refuse_link(home)
    # Remove the rest of an interrupted `add`, which may be of another video of this name.
    shutil.rmtree(home, ignore_errors=True)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # a file has its name
        raise CastlistError(f"cannot write {home}: {error.strerror}; remove it") from error
    write_tracks(home / TRACKS, tracks)
    write_points(home, points)
    (home / FACES).mkdir(exist_ok=True)
    pictures: list[Path] = []
    with suppress(FileNotFoundError):
        pictures = [*faces.glob("*.jpg"), *faces.glob(COVERS)]
    for picture in filter(is_own_file, pictures):
        target = home / FACES / picture.name
        try:
            os.link(picture, target)  # takes no disk space
        except OSError:
            with suppress(FileNotFoundError):  # replaced by another scan: SourceCast.check_same
                shutil.copyfile(picture, target)


def write_labels(folder: Path, film: dict[str, Any], labels: NDArray[np.int64]) -> None:
    """Write the ids of the characters of a video's tracks."""
    path = folder / EPISODES / check_name(film["episode"]) / LABELS
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, labels.astype(np.int64), allow_pickle=False)


def write_about(folder: Path, run: dict[str, Any], threshold: float) -> None:
    """Write ``run.json`` and ``cast.json``; videos that are not listed are not in the cast."""
    duration = sum(film["duration"] for film in run["videos"])
    about = {
        "format": FORMAT, "threshold": threshold, "duration": duration,
        "videos": [film["title"] for film in run["videos"]],
    }  # fmt: skip
    for name, value in (
        (RUN, {**run, "format": FORMAT}),
        (CAST, about),
    ):  # CAST last: readers watch it for changes
        with replacing(folder / name) as partial:
            partial.write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")


def video_entry(
    scanned: Scanned, out: Path, others: Sequence[dict[str, Any]],
    present: Sequence[dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    """Return the entry of a video in ``run.json`` of a joined cast, with unique names.

    Its folder differs from those of all videos that are or were in the cast, and its title from
    those that are ``present``.
    """
    video = dict(scanned.films[0])
    name = printable(str(video.get("name") or scanned.folder.stem))
    # The stem of `...mp4` is `..` before Python 3.14, which cannot be a folder, and `...mp4` since.
    stem = Path(Path(name).name.lstrip(".")).stem
    plain = re.sub(r"[^\w.\- ]", "_", stem)[:_LONGEST].strip(". ") or "video"
    taken = {one["episode"].casefold() for one in others}  # some file systems ignore case
    titles = {" ".join(one["title"].split()) for one in present}  # HTML collapses spaces
    episode, title, k = plain, name, 2
    while episode.casefold() in taken or " ".join(title.split()) in titles:
        episode, k = f"{plain}-{k}", k + 1
        if " ".join(title.split()) in titles:
            title = f"{name} ({episode})"
    last = float(scanned.tracks.spans.max(initial=0.0))
    video |= {
        "name": name, "episode": episode, "title": title,
        "duration": max(float(video.get("duration", 0.0)), last),
    }  # fmt: skip
    path = scanned.folder / str(video.get("path", ""))
    with suppress(ValueError):  # on another drive
        video["path"] = os.path.relpath(path, out)
    return video
