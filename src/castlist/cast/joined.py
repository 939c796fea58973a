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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.folder import (
    CAST,
    EPISODES,
    FACES,
    OF,
    POINTS,
    RUN,
    TRACKS,
    Scanned,
    write_points,
)
from castlist.cast.noted import amount, are_points, check_run
from castlist.errors import InputError
from castlist.io.files import printable, replacing
from castlist.io.parquet import write_tracks
from castlist.io.read import read_tracks
from castlist.io.untrusted import load_array, read_json
from castlist.tracks import TrackSet
from castlist.video.pictures import COVERS

LABELS, MODEL, BALLS = "characters.npy", "model.safetensors", "balls.npz"
_LONGEST = 60  # letters of a folder's name: disks take 255 bytes


def check_name(name: str) -> str:
    """Return a name of a file in its folder, and nowhere else on the disk; else a ValueError."""
    if name in ("", ".", "..") or Path(name).name != name:
        raise InputError(f"{name!r} is not a file's name")
    return name


def read_run(folder: Path) -> dict[str, Any]:
    """Read which videos are in a joined cast."""
    try:
        run = check_run(read_json(folder / RUN))
        for film in run.get("videos", []):
            check_name(film["episode"])
            check_name(film.get("labels", LABELS))
            if not isinstance(film["title"], str):
                raise ValueError("a video without a title")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: not a cast ({error})") from error
    if "videos" not in run:
        raise InputError(f"{folder} is the cast of one video; `castlist join` makes one of several")
    return run


def read_joined(folder: Path) -> Scanned:
    """Read the folder of a cast of several videos."""
    run = read_run(folder)
    try:
        about = read_json(folder / CAST)
        films = run["videos"]
        str(run["print"])
        homes = [folder / EPISODES / film["episode"] for film in films]
        labels = [load_array(labels_of(folder, film)) for film in films]
        points = [load_array(home / POINTS) for home in homes]
        threshold = amount(about["threshold"])
        duration = sum(film["duration"] for film in films)
        tracks = join_tracks([read_tracks(home / TRACKS) for home in homes], films)
        some = [x for x in points if len(x)]
        whole = np.concatenate(some) if some else np.empty((0, 0))
        numbers = np.concatenate(labels) if labels else np.empty(0, np.int64)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{folder}: damaged or unfinished; join again ({error})") from error
    fits = whole.ndim == 2 and len(whole) == len(tracks) and numbers.shape == (len(tracks),)
    if not fits or numbers.dtype.kind != "i" or not (numbers > 0).all():
        raise InputError(f"{folder}: its files do not belong together; join again")
    if not are_points(whole):
        raise InputError(f"{folder}: its files do not belong together; join again")
    return Scanned(
        folder, tracks, numbers.astype(np.int64), whole.astype(np.float32), threshold, duration, run
    )


def join_tracks(sets: Sequence[TrackSet], films: Sequence[dict[str, Any]]) -> TrackSet:
    """Put the tracks of several videos into one set, by ids that tell their video."""
    some = [
        replace(
            one,
            ids=np.array([f"{film['episode']}{OF}{name}" for name in one.ids.tolist()]),
            videos=(film["title"],),
        )
        for one, film in zip(sets, films, strict=True)
        if len(one)
    ]
    titles = tuple(film["title"] for film in films)
    if not some:
        return replace(sets[0], videos=titles) if sets else TrackSet.from_faces([])
    joined = TrackSet.join(some)
    place = np.array([titles.index(name) for name in joined.videos], np.int32)
    return replace(joined, videos=titles, video=place[joined.video])


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


def labels_of(folder: Path, film: dict[str, Any]) -> Path:
    """Return the file of who the tracks of a video are."""
    return folder / EPISODES / str(film["episode"]) / str(film.get("labels", LABELS))


def write_labels(folder: Path, film: dict[str, Any], labels: NDArray[np.int64]) -> None:
    """Write who the tracks of a video are."""
    with replacing(labels_of(folder, film)) as partial, partial.open("wb") as file:
        np.save(file, labels.astype(np.int64), allow_pickle=False)


def clear_labels(folder: Path, run: dict[str, Any]) -> None:
    """Remove the files of numbers that ``run.json`` does not name: of clusterings before."""
    for film in run["videos"]:
        own = labels_of(folder, film)
        for path in own.parent.glob("characters*.npy"):
            if path != own:
                path.unlink(missing_ok=True)


def write_about(folder: Path, run: dict[str, Any], threshold: float) -> None:
    """Write which videos are in it; what is not named here is not in the cast."""
    duration = sum(film["duration"] for film in run["videos"])
    about = {
        "format": 1, "threshold": threshold, "duration": duration,
        "videos": [film["title"] for film in run["videos"]],
    }  # fmt: skip
    for name, value in ((RUN, run), (CAST, about)):  # CAST last: it says that something changed
        with replacing(folder / name) as partial:
            partial.write_text(json.dumps(value, indent=1, ensure_ascii=False), "utf-8")


def film_of(scanned: Scanned, out: Path, others: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Say what a joined cast knows of a video, with names that no other video of it has."""
    video = dict(scanned.films[0])
    name = printable(str(video.get("name") or scanned.folder.stem))
    # A video called `...mp4` has the stem `..`, which is no name for a folder.
    plain = re.sub(r"[^\w.\- ]", "_", Path(name).stem)[:_LONGEST].strip(". ") or "video"
    taken = {one["episode"].casefold() for one in others}  # some disks tell no e1 from E1
    titles = {" ".join(one["title"].split()) for one in others}  # a page shows no two blanks
    episode, title, k = plain, name, 2
    while episode.casefold() in taken or " ".join(title.split()) in titles:
        episode, k = f"{plain}-{k}", k + 1
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
