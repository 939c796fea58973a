"""A cast of several videos on disk: a folder a video, so that one more costs only its own.

``episodes/<name>`` holds a video's tracks, their embeddings, the characters' numbers and the
pictures; ``run.json`` says which videos, in order; ``model.safetensors`` is the model of all of
them, and ``balls.npz`` where the characters are.
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

from castlist.cast.checks import FORMAT, RUN
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
from castlist.io.files import printable, replacing
from castlist.io.parquet import write_tracks
from castlist.io.pictures import COVERS
from castlist.tracks import TrackSet

MODEL, BALLS = "model.safetensors", "balls.npz"
_LONGEST = 60  # letters of a folder's name: disks take 255 bytes


def write_episode(
    folder: Path,
    film: dict[str, Any],
    tracks: TrackSet,
    points: NDArray[np.float32],
    faces: Path,
) -> None:
    """Write a video of a joined cast: its tracks, embeddings and pictures."""
    home = folder / EPISODES / check_name(film["episode"])  # `..` would be the cast, all of it
    # Of an `add` that was killed, perhaps of another video of this name: its pictures are not ours.
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True, exist_ok=True)
    write_tracks(home / TRACKS, tracks)
    write_points(home, points)
    (home / FACES).mkdir(exist_ok=True)
    pictures: list[Path] = []
    with suppress(FileNotFoundError):
        pictures = [*faces.glob("*.jpg"), *faces.glob(COVERS)]
    for picture in pictures:
        target = home / FACES / picture.name
        try:
            os.link(picture, target)  # the same picture, and no more room
        except OSError:
            with suppress(FileNotFoundError):  # by another scan, just now: Source.check_same
                shutil.copyfile(picture, target)


def write_labels(folder: Path, film: dict[str, Any], labels: NDArray[np.int64]) -> None:
    """Write who the tracks of a video are."""
    path = folder / EPISODES / check_name(film["episode"]) / LABELS
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, labels.astype(np.int64), allow_pickle=False)


def write_about(folder: Path, run: dict[str, Any], threshold: float) -> None:
    """Write which videos are, or were, in it; what is not named here is not in the cast."""
    duration = sum(film["duration"] for film in run["videos"])
    about = {
        "format": FORMAT, "threshold": threshold, "duration": duration,
        "videos": [film["title"] for film in run["videos"]],
    }  # fmt: skip
    for name, value in (
        (RUN, {**run, "format": FORMAT}),
        (CAST, about),
    ):  # CAST last: it says that something changed
        with replacing(folder / name) as partial:
            partial.write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")


def film_of(
    scanned: Scanned, out: Path, others: Sequence[dict[str, Any]],
    present: Sequence[dict[str, Any]],
) -> dict[str, Any]:  # fmt: skip
    """Return what a joined cast knows of a video, with names that no other video of it has.

    Its folder is no other's, of all that are or were in the cast; its title none of those that are
    ``present``.
    """
    video = dict(scanned.films[0])
    name = printable(str(video.get("name") or scanned.folder.stem))
    # A video called `...mp4` has the stem `..`, which is no name for a folder.
    plain = re.sub(r"[^\w.\- ]", "_", Path(name).stem)[:_LONGEST].strip(". ") or "video"
    taken = {one["episode"].casefold() for one in others}  # some disks tell no e1 from E1
    titles = {" ".join(one["title"].split()) for one in present}  # a page shows no two blanks
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
