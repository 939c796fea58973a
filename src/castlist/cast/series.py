"""One cast of several videos: join casts, add one more video, remove one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast import make_cast
from castlist.cast.cast_file import RUN
from castlist.cast.current import CurrentCast
from castlist.cast.earlier_words import earlier_words
from castlist.cast.episodes import (
    BALLS,
    MODEL,
    video_entry,
    write_about,
    write_episode,
    write_labels,
)
from castlist.cast.events import AddedVideo, Edit, Event, RemovedVideo, live_events
from castlist.cast.folder import (
    CAST,
    CORRECTIONS,
    FACES,
    TRACKS,
    join_tracks,
    read_run,
    videos_present,
)
from castlist.cast.inherited import Inheritance, inherited_edits
from castlist.cast.log import ConflictError, Log
from castlist.cast.matching import (
    Balls,
    Link,
    NameConflict,
    group_across_videos,
    local_characters,
    name_conflicts,
    place_in_balls,
)
from castlist.cast.scan_model import model_of
from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import embed_tracks
from castlist.errors import CastlistError, InputError
from castlist.io.lock import locked
from castlist.io.output_guard import is_joined
from castlist.model.ball_model import BallModel
from castlist.model.model_file import load_model, save_model
from castlist.video.fingerprint import Fingerprint, difference

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


class AlreadyExistsError(InputError):
    """The joined cast, or the video in it, exists already."""


class SourceCast(CurrentCast):
    """The cast of one video that is joined or added, as it was when it was read.

    It is not locked, because its folder may be read-only, or be joined into two casts at once.
    Instead, call :meth:`check_same` after copying its pictures.
    """

    def __init__(self, folder: str | Path) -> None:
        self._noted = _stamp(Path(folder))
        super().__init__(folder)
        if self.scanned.joined:
            self.close()
            raise InputError(f"{folder} is a joined cast; give the casts of its videos instead")

    def check_same(self) -> None:
        """Raise ConflictError if the video was scanned again since the cast was read."""
        if _stamp(self.folder) != self._noted:
            raise ConflictError(f"{self.folder} was scanned again while it was read; try again")

    def embedded(self, model: BallModel) -> tuple[Floats, Floats]:
        """Return embeddings by the common model, of the whole tracks and of the cut tracks."""
        whole = np.empty((0, 0), np.float32)
        if len(self.scanned.tracks):
            whole = embed_tracks(self.scanned.tracks, model)
        return whole, self.cut_tracks.points(whole, self.mean_features)

    def whole_labels(self, labels: Rows) -> Rows:
        """Return labels of the tracks as scanned; a cut track has that of its first part."""
        whole = np.zeros(len(self.scanned.tracks), np.int64)
        whole[self.cut_tracks.origin[::-1]] = labels[::-1]
        return whole


def join(
    folders: Sequence[str | Path], out: str | Path, *, link: Link = complete_linkage,
    model: str | Path | None = None,
) -> list[NameConflict]:  # fmt: skip
    """Join the casts of several videos into one cast.

    The characters of the videos, as corrected, are merged by complete linkage of the centres of
    their balls at τ. They are never split.

    Parameters
    ----------
    folders : sequence of paths
        Casts of single videos.
    out : path
        The folder of the joined cast, which must not exist yet.
    link : callable
        The linkage function; :func:`castlist.ray_linkage` runs on a Ray cluster, with
        the same result.
    model : path, optional
        The model of the first cast, if it is not a shipped one.

    Returns
    -------
    list of NameConflict
        Characters whose names contradict their faces. Names take precedence.
    """
    out = Path(out)
    if len({Path(folder).resolve() for folder in folders}) < 2:
        raise InputError("joining needs at least two casts")
    if not out.name:
        raise InputError(f"{out}: a joined cast needs a folder of its own; give a new one")
    # Written beside it, and renamed when complete.
    beside = out.with_name(f".{out.name}.partial")
    with locked(beside):
        if out.exists():
            if not is_joined(out):
                raise InputError(f"{out} exists already; give another folder")
            raise AlreadyExistsError(
                f"{out} exists already; `castlist add` adds one more video to it"
            )
        partial = beside / "cast"
        shutil.rmtree(partial, ignore_errors=True)  # left by a killed process
        try:
            conflicts = _join(folders, out, partial, link, None if model is None else Path(model))
            os.replace(partial, out)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    return conflicts


def _join(
    folders: Sequence[str | Path], out: Path, partial: Path, link: Link, own_model: Path | None
) -> list[NameConflict]:
    """Write the joined cast into a folder that will be renamed to ``out``."""
    with ExitStack() as stack:
        casts = [stack.enter_context(SourceCast(folder)) for folder in folders]
        films: list[dict[str, Any]] = []
        for cast in casts:
            _refuse_twice(cast, films, out)
            films.append(video_entry(cast.scanned, out, films, films))
        casts[0].model = own_model
        model = model_of(casts[0])
        points = [cast.embedded(model) for cast in casts]
        units = local_characters(casts, [cut for _, cut in points])
        groups = group_across_videos(units, model.threshold, link)
        labels = _by_screen_time(casts, films, groups[units.of_track])
        place = np.zeros(len(units.names), np.int64)
        place[units.of_track] = labels
        run = {
            "castlist": casts[0].scanned.run.get("castlist", ""), "videos": films,
            "settings": casts[0].scanned.run["settings"],
            "next": int(labels.max(initial=0)) + 1,
        }  # fmt: skip
        ends = np.cumsum([len(cast.tracks) for cast in casts])
        own_labels = np.split(labels, ends[:-1])
        for film, cast, (whole, _), own in zip(films, casts, points, own_labels, strict=True):
            write_episode(partial, film, cast.scanned.tracks, whole, cast.folder / FACES)
            write_labels(partial, film, cast.whole_labels(own))
            cast.check_same()
        about = (MODEL, RUN, CAST, CORRECTIONS, BALLS)
        written = [*partial.rglob("*"), *(partial / name for name in about)]
        save_model(model, partial / MODEL)
        write_about(partial, run, model.threshold)
        named: set[int] = set()
        marked: dict[int, float] = {}
        with closing(Log(partial / CORRECTIONS)) as log:
            edits = [
                inherited_edits(cast, Inheritance(cast, film), own, log, named, marked)
                for film, cast, own in zip(films, casts, own_labels, strict=True)
            ]
            log.append("join", Edit.of(edits), 0)
        balls_of(partial).save(partial / BALLS)
        if not all(path.exists() for path in written):  # else the rest would be taken for a cast
            raise CastlistError(f"{out}: its files were removed while it was written; join again")
    return name_conflicts(units, place, model.threshold)


def add(folder: str | Path, video: str | Path) -> tuple[list[NameConflict], int]:
    """Add one more video to a joined cast; existing characters keep their tracks and ids.

    Parameters
    ----------
    folder : path
        The joined cast.
    video : path
        The cast of the video.

    Returns
    -------
    conflicts : list of NameConflict
        Characters whose names contradict their faces.
    new : int
        Number of new characters.
    """
    folder = Path(folder)
    with (
        locked(folder),
        SourceCast(video) as cast,
        closing(Log(folder / CORRECTIONS)) as log,
    ):
        run, events = read_run(folder), log.events()
        ever = {event.body.video for event in events if event.kind == "add"}
        # Without those of an `add` that was killed before it appended its event.
        run["videos"] = [f for f in run["videos"] if not f.get("added") or f["episode"] in ever]
        live = live_events(events)[0]
        inside = videos_present(run["videos"], live)
        try:
            _refuse_twice(cast, inside, folder)
        except AlreadyExistsError:  # perhaps by an `add` that was killed before it wrote the balls
            _write_balls(balls_of(folder), folder)
            raise
        film = {**video_entry(cast.scanned, folder, run["videos"], inside), "added": True}
        model = load_model(folder / MODEL)
        whole, points = cast.embedded(model)
        balls = balls_of(folder)
        first = log.next_id(run["next"])
        earlier = None
        if any(other["title"] == film["title"] for other in run["videos"]):  # it was there before
            earlier = earlier_words(folder, live, film, cast, whole, first)
        words = Inheritance(cast, film, earlier)
        places = words.places(local_characters([cast], [points]))
        units = places.units
        place, conflicts = place_in_balls(
            units, balls, model.threshold, first, places.settled, places.refused
        )
        new = np.unique(place[place >= first]).tolist()
        labels = place[units.of_track]
        # First files that nothing refers to yet: if killed in between, nothing has been added.
        write_episode(folder, film, cast.scanned.tracks, whole, cast.folder / FACES)
        cast.check_same()
        write_labels(folder, film, cast.whole_labels(labels))
        known = dict(zip(balls.numbers.tolist(), balls.names.tolist(), strict=True))
        named = {number for number, name in known.items() if name} | set(
            earlier.names if earlier else ()
        )
        edits = inherited_edits(cast, words, labels, log, named, dict.fromkeys(known, np.inf))
        run["videos"].append(film)
        write_about(folder, run, model.threshold)
        body = AddedVideo(video=film["episode"], **dict(edits))
        try:
            last = log.append("add", body, balls.known[1], new=new).number
        except ConflictError as error:
            raise ConflictError(
                f"{folder}: changed by somebody else; add the video again"
            ) from error
        if earlier:  # some of its tracks are where they were put before
            _write_balls(balls_of(folder), folder)
            return conflicts, len(new)
        names = {name.id: name.name for name in edits.names}
        face = np.where(cast.state.not_face, -1, labels)
        _write_balls(balls.with_more(points, face, names, (len(inside) + 1, last)), folder)
        return conflicts, len(new)


def remove(folder: str | Path, video: str, *, who: str | None = None) -> Event:
    """Remove a video from a joined cast; return the event, which can be undone.

    Parameters
    ----------
    folder : path
        The joined cast.
    video : str
        The video: its file name with or without extension, or its title.
    who : str, optional
        The author of the event; the current user if not given.
    """
    with CurrentCast(folder, who) as cast:
        if not cast.scanned.joined:
            raise InputError(f"{folder} is not a joined cast; no video can be removed from it")
        films = cast.scanned.films
        ways = ("episode", "title", "name")
        found = next(
            (some for way in ways if (some := [f for f in films if f.get(way) == video])), []
        )
        if len(found) != 1:
            named = ", ".join(film["episode"] for film in films)
            several = f"{len(found)} videos are called" if found else "there is no video"
            raise InputError(f"{folder}: {several} {video!r}; its videos are {named}")
        if len(films) == 1:
            raise InputError(f"{folder}: {video} is its only video and cannot be removed")
        return cast.append_event("remove", RemovedVideo(video=found[0]["episode"]))


def balls_of(folder: Path) -> Balls:
    """Return the balls of the characters of a joined cast, as corrected."""
    with closing(Log(folder / CORRECTIONS)) as log:
        inside = videos_present(read_run(folder)["videos"], live_events(log.events())[0])
        known = len(inside), log.last
    with suppress(InputError):  # missing or damaged: it is computed again
        balls = Balls.load(folder / BALLS)
        if balls.known == known:
            return balls
    with CurrentCast(folder) as cast:  # outdated: read the whole cast
        known = len(cast.scanned.films), cast.last
        return Balls.of(cast.points, cast.state.labels, cast.state.names, known)


def _write_balls(balls: Balls, folder: Path) -> None:
    """Write the balls of a joined cast; if that fails, they are computed again when needed."""
    with suppress(CastlistError):
        balls.save(folder / BALLS)


def _refuse_twice(cast: SourceCast, films: Sequence[dict[str, Any]], folder: Path) -> None:
    """Raise AlreadyExistsError if a joined cast has this video, under any file name."""
    own = cast.scanned.films[0]
    for film in films:
        if same_video(own, film):
            raise AlreadyExistsError(
                f"{cast.folder}: this video is already in {folder}: {film['title']}"
            )


def same_video(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two entries are of one video: by content, if both have a fingerprint."""
    known = [Fingerprint.from_json(film.get("fingerprint")) for film in (one, other)]
    if known[0] is not None and known[1] is not None:
        return difference(known[0], known[1]) == ""
    keys = ("name", "bytes", "changed")
    return all(one.get(key) is not None and one.get(key) == other.get(key) for key in keys)


def _stamp(folder: Path) -> tuple[int, int, int]:
    """Return what identifies the file of tracks, which a scan replaces before its pictures."""
    try:
        stat = (folder / TRACKS).stat()
    except OSError:  # reading it reports the error
        return 0, 0, 0
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _by_screen_time(
    casts: Sequence[CurrentCast], films: Sequence[dict[str, Any]], labels: Rows
) -> Rows:
    """Return labels as numbers by screen time in all videos."""
    tracks = join_tracks([cast.tracks for cast in casts], films)
    starts = np.concatenate([[0.0], np.cumsum([film["duration"] for film in films])])
    some = [cast.mean_features for cast in casts if len(cast.mean_features)]
    if not some:
        return labels
    cast = make_cast(
        tracks, labels, np.concatenate(some), float(starts[-1]), starts=starts[:-1].tolist()
    )
    numbers = np.zeros(len(labels), np.int64)
    for one in cast.characters:
        numbers[one.tracks] = one.number
    return numbers
