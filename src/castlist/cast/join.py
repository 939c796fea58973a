"""One cast of several videos: join casts, and add one more video to a joined cast."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.balls import Balls
from castlist.cast.carry import carry_over
from castlist.cast.cast import make_cast
from castlist.cast.conflicts import Conflict
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CORRECTIONS, FACES, digest
from castlist.cast.joined import (
    BALLS,
    MODEL,
    clear_labels,
    film_of,
    join_tracks,
    read_run,
    write_about,
    write_episode,
    write_labels,
)
from castlist.cast.log import ChangedMeanwhile, Log
from castlist.cast.recluster import model_of
from castlist.cast.replay import live_events
from castlist.cast.source import Source
from castlist.cast.units import Link, conflicts_of, place_units, put_together, units_of
from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import embed_tracks
from castlist.errors import InputError
from castlist.io.lock import locked
from castlist.io.places import is_joined
from castlist.learn.model import BallModel
from castlist.learn.model_file import load_model, save_model

Rows = NDArray[np.int64]


class AlreadyThere(InputError):
    """What was to be made is there."""


def join(
    folders: Sequence[str | Path], out: str | Path, *, link: Link = complete_linkage
) -> list[Conflict]:
    """Make one cast of the casts of several videos.

    The characters of the videos, as corrected, are put together and never taken apart: by complete
    linkage of their balls' middles at τ.

    Parameters
    ----------
    folders : sequence of paths
        Casts of single videos.
    out : path
        The folder of the joined cast, which must not be there yet.
    link : callable
        What groups the middles: :func:`castlist.cluster.ray.ray_linkage` does it on a Ray cluster,
        with the same result.

    Returns
    -------
    list of Conflict
        Where names say otherwise than faces. Names are believed, and nothing is guessed.
    """
    out = Path(out)
    if len({Path(folder).resolve() for folder in folders}) < 2:
        raise InputError("two casts at least are needed to join")
    if not out.name:
        raise InputError(f"{out}: a joined cast needs a folder of its own; name one that is new")
    # Beside it, and moved when whole: half a cast is none.
    beside = out.with_name(f".{out.name}.partial")
    with locked(beside):
        if out.exists():
            if not is_joined(out):
                raise InputError(f"{out} is there already; give another folder with -o")
            raise AlreadyThere(
                f"{out} is there already; `castlist add` puts one more video into it"
            )
        partial = beside / "cast"
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        try:
            conflicts = _join(folders, out, partial, link)
            os.replace(partial, out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return conflicts


def _join(folders: Sequence[str | Path], out: Path, partial: Path, link: Link) -> list[Conflict]:
    """Write the cast of several into a folder that will be moved to ``out``."""
    with ExitStack() as stack:
        casts = [stack.enter_context(closing(Source(folder))) for folder in folders]
        films: list[dict[str, Any]] = []
        for cast in casts:
            films.append(film_of(cast.scanned, out, films))
        model = model_of(casts[0])
        points = [_embedded(cast, model) for cast in casts]
        units = units_of(casts, points)
        groups = put_together(units, model.threshold, link)
        labels = _by_screen_time(casts, films, groups[units.of_track], points)
        place = np.zeros(len(units.names), np.int64)
        place[units.of_track] = labels
        run = {
            "castlist": casts[0].scanned.run.get("castlist", ""), "videos": films,
            "settings": casts[0].scanned.run["settings"],
            "print": digest(*(cast.scanned.basis.encode() for cast in casts)),
            "first": int(labels.max(initial=0)) + 1,
        }  # fmt: skip
        ends = np.cumsum([len(cast.tracks) for cast in casts])
        parts = np.split(np.arange(len(labels)), ends[:-1])
        for film, cast, own, rows in zip(films, casts, points, parts, strict=True):
            write_episode(partial, film, cast.tracks, own, cast.folder / FACES)
            write_labels(partial, film, labels[rows])
            cast.check_same()
        save_model(model, partial / MODEL)
        write_about(partial, run, model.threshold)
        named: set[int] = set()
        settled: set[int] = set()
        last = 0
        with closing(Log(partial / CORRECTIONS)) as log:
            for film, cast, rows in zip(films, casts, parts, strict=True):
                tracks = join_tracks([cast.tracks], [film])
                _, last = carry_over(
                    log, last, run["print"], cast, tracks, labels[rows], named, settled
                )
        balls_of(partial).save(partial / BALLS)
    return conflicts_of(units, place, model.threshold)


def add(folder: str | Path, video: str | Path) -> tuple[list[Conflict], int]:
    """Put one more video into a joined cast; who was there stays who they are.

    Parameters
    ----------
    folder : path
        The joined cast.
    video : path
        The cast of the video.

    Returns
    -------
    conflicts : list of Conflict
        Where names say otherwise than faces.
    new : int
        How many characters are new.
    """
    folder = Path(folder)
    with locked(folder), closing(Source(video)) as cast:
        run = read_run(folder)
        clear_labels(folder, run)  # of an `add` that was killed
        film = film_of(cast.scanned, folder, run["videos"])
        same = ("name", "bytes", "changed")
        model = load_model(folder / MODEL)
        if any(all(film.get(k) == one.get(k) for k in same) for one in run["videos"]):
            write_about(folder, run, model.threshold)  # a kill may have come before the last files
            balls_of(folder).save(folder / BALLS)
            raise AlreadyThere(f"{video}: this video is in {folder} already")
        points = _embedded(cast, model)
        units = units_of([cast], [points])
        _take_clusterings(folder, run)
        balls = balls_of(folder)
        place, conflicts = place_units(units, balls, model.threshold)
        labels = place[units.of_track]
        made = np.setdiff1d(labels, balls.numbers).tolist()
        # First what nobody sees yet: killed in between, it is as if nothing had been added.
        write_episode(folder, film, cast.tracks, points, cast.folder / FACES)
        cast.check_same()
        write_labels(folder, film, labels)
        with closing(Log(folder / CORRECTIONS)) as log:
            known = set(balls.numbers.tolist())
            named = set(balls.numbers[balls.names != ""].tolist())
            names, last = carry_over(
                log, balls.known[1], run["print"], cast, join_tracks([cast.tracks], [film]),
                labels, named, known,
            )  # fmt: skip
            if log.last != last:
                raise ChangedMeanwhile(f"{folder}: somebody changed it meanwhile; add again")
        run["videos"].append(film)
        run["made"] = sorted({*run.get("made", []), *made})
        write_about(folder, run, model.threshold)
        face = np.where(cast.state.not_face, -1, labels)
        balls.with_more(points, face, names, (len(run["videos"]), last)).save(folder / BALLS)
        return conflicts, len(made)


def balls_of(folder: Path) -> Balls:
    """Return where the characters of a joined cast are, as corrected."""
    with closing(Log(folder / CORRECTIONS)) as log:
        known = len(read_run(folder)["videos"]), log.last
    with suppress(InputError):  # not there, or damaged: it can be made again
        balls = Balls.load(folder / BALLS)
        if balls.known == known:
            return balls
    with closing(Corrections(folder)) as cast:  # something is new: all of it is read
        face = np.where(cast.state.not_face, -1, cast.state.owner)
        known = len(cast.scanned.films), cast.last
        return Balls.of(cast.points, face, cast.state.names, known)


def _take_clusterings(folder: Path, run: dict[str, Any]) -> None:
    """Write down a clustering that a person took: it would not hold for more tracks than it had."""
    with closing(Log(folder / CORRECTIONS)) as log:
        made = [event for event in live_events(log.events())[0] if event.kind == "recluster"]
    new = [event.body["clustering"] for event in made if event.body["clustering"] not in
           run.get("taken", [])]  # fmt: skip
    if not new:
        return
    with closing(Corrections(folder)) as cast:
        numbers = np.setdiff1d(cast.clustered, cast.scanned.labels).tolist()
        run["made"] = sorted({*run.get("made", []), *numbers})
        run["taken"] = [*run.get("taken", []), *new]
        for k, film in enumerate(run["videos"]):
            film["labels"] = f"characters-{new[-1]}.npy"  # beside the old, until all are there
            write_labels(folder, film, cast.clustered[cast.tracks.video == k])
        write_about(folder, run, cast.scanned.threshold)
        clear_labels(folder, run)


def _embedded(cast: Corrections, model: BallModel) -> NDArray[np.float32]:
    """Embed the tracks of a video by the model of all: not fine-tuned, so that they compare."""
    return embed_tracks(cast.tracks, model) if len(cast.tracks) else np.empty((0, 0), np.float32)


def _by_screen_time(
    casts: Sequence[Corrections],
    films: Sequence[dict[str, Any]],
    labels: Rows,
    points: Sequence[NDArray[np.float32]],
) -> Rows:
    """Give characters numbers by how long they are on screen in all videos."""
    tracks = join_tracks([cast.tracks for cast in casts], films)
    starts = np.concatenate([[0.0], np.cumsum([film["duration"] for film in films])])
    some = [x for x in points if len(x)]
    if not some:
        return labels
    cast = make_cast(
        tracks, labels, np.concatenate(some), float(starts[-1]), starts=starts[:-1].tolist()
    )
    numbers = np.zeros(len(labels), np.int64)
    for one in cast.characters:
        numbers[one.tracks] = one.number
    return numbers
