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
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import CutTracks
from castlist.cast.cast_file import FORMAT, RUN
from castlist.cast.current import CurrentCast
from castlist.cast.events import BackgroundMark, Cut, Edit, Named, NotNamed, Pinned
from castlist.cast.finder import store_anchors
from castlist.cast.folder import (
    CAST,
    EPISODES,
    FACES,
    LABELS,
    OF,
    TRACKS,
    Scanned,
    check_name,
    write_points,
)
from castlist.cast.log import Log
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
    home.mkdir(parents=True, exist_ok=True)
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


def inherited_edits(
    cast: CurrentCast,
    film: dict[str, Any],
    labels: Rows,
    log: Log,
    named: set[int],
    marked: set[int],
) -> Edit:
    """Return the corrections of a video as an edit of the joined cast it is added to.

    Parameters
    ----------
    cast : CurrentCast
        The cast of the video.
    film : dict
        The entry of the video in the joined cast.
    labels : ndarray of int
        The ids of its tracks' characters in the joined cast.
    log : Log
        The log of the joined cast; anchors of corrected tracks are stored in it.
    named : set of int
        Ids that have a name, which they keep; ids named here are added.
    marked : set of int
        Ids whose background mark is known; ids marked here are added.
    """
    state = cast.state
    cut, cuts = _cut_as(cast, film, log)
    corrected = _all_rows(cast)
    numbers = store_anchors(log, cut, corrected.tolist(), cast.scanned, cast.mean_features)
    number = dict(zip(corrected.tolist(), numbers, strict=True))

    def find(rows: Rows) -> tuple[int, ...]:
        return tuple(number[row] for row in rows.tolist())

    pins = [
        Pinned(id=there, tracks=find(np.flatnonzero((state.pin > 0) & (labels == there))))
        for there in np.unique(labels[state.pin > 0]).tolist()
    ]
    names, marks = [], []
    for here in np.unique(state.owner).tolist():
        there = int(labels[state.owner == here][0])
        if state.names.get(here) and there not in named:
            named.add(there)
            names.append(Named(id=there, name=state.names[here]))
        if here in state.background and there not in marked:
            marked.add(there)
            marks.append(BackgroundMark(id=there, background=state.background[here]))
    said: dict[str, Any] = {
        "cuts": tuple(cuts), "pins": tuple(pins), "names": tuple(names), "background": tuple(marks),
        "not_face": find(np.flatnonzero(state.not_face)),
        "face": find(np.flatnonzero(state.face)),
        "different": tuple((find(a), find(b)) for a, b in state.different),
        "same": tuple((find(a), find(b)) for a, b in state.same),
        "checked": find(np.flatnonzero(state.checked)),
        "mixed": tuple(find(rows) for rows in state.mixed),
        "waived": tuple((number[i], number[j]) for i, j in sorted(state.waived)),
        "not_named": tuple(
            NotNamed(id=int(labels[rows[0]]), name=name, tracks=find(rows))
            for name, rows in state.not_named if len(rows)
        ),
    }  # fmt: skip
    return Edit(**{name: said[name] for name in Edit.model_fields})  # so that none is forgotten


def _all_rows(cast: CurrentCast) -> Rows:
    """Return the tracks that have corrections."""
    state = cast.state
    groups: Sequence[Rows] = [
        np.flatnonzero((state.pin > 0) | state.not_face | state.face | state.checked),
        *(rows for pair in (*state.different, *state.same) for rows in pair), *state.mixed,
        *(rows for _, rows in state.not_named),
        np.array(sorted(state.waived), np.int64).ravel(),
    ]  # fmt: skip
    return np.unique(np.concatenate(groups))


def _cut_as(cast: CurrentCast, film: dict[str, Any], log: Log) -> tuple[CutTracks, list[Cut]]:
    """Return the tracks with their ids in the joined cast, cut as in the video's own cast."""
    prefix = f"{film['episode']}{OF}"
    whole = cast.scanned.tracks
    ids = np.array([f"{prefix}{name}" for name in whole.ids.tolist()], np.str_)
    made = CutTracks.whole(replace(whole, ids=ids, videos=(film["title"],)))
    wanted = sorted(
        {
            (len(parent[0]), parent, child[0][len(parent[0]) + 1 :])
            for marks in cast.cut_tracks.marks
            for parent, child in pairwise(marks)
        }
    )
    cuts = []
    for _, (times, name), at in wanted:
        row = next(k for k, own in enumerate(made.marks) if own[-1] == (times, f"{prefix}{name}"))
        looks = made.mean_features(cast.whole_features)
        (number,) = store_anchors(log, made, [row], cast.scanned, looks)
        cuts.append(Cut(track=number, at=float(at)))
        made = made.cut(row, float(at))
    return made, cuts
