"""A cast's folder: what a scan, or a join, left in it, and where the videos are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast import Cast
from castlist.cast.cast_file import (
    RUN,
    check_format,
    check_id,
    check_number,
    check_run,
    digest,
    load_cast,
    scan_digest,
    valid_embeddings,
)
from castlist.cast.events import Event
from castlist.errors import InputError
from castlist.io.files import replacing
from castlist.io.pictures import Cover, frame_of, picture_counts, pictures_of, read_covers
from castlist.io.read import read_tracks
from castlist.io.untrusted import load_array, read_json
from castlist.tracks import TrackSet

TRACKS, CAST, REPORT = "tracks.parquet", "cast.json", "report.html"
#: A cast that is about to take the place of an earlier one.
NEXT_CAST = "cast.next.json"
POINTS, CORRECTIONS, FACES = "embeddings.npy", "corrections.db", "faces"
#: Of a cast of several videos: a folder a video, its characters, and what tells its name from a
#: track's.
EPISODES, LABELS, OF = "episodes", "characters.npy", ":"

T = TypeVar("T")


@dataclass(frozen=True)
class Scanned:
    """What a scan left in a cast's folder.

    Attributes
    ----------
    folder : Path
        The folder.
    tracks : TrackSet
        The face tracks.
    labels : ndarray of int, shape (n_tracks,)
        The id of the character that the machine put each track in.
    points : ndarray of float32, shape (n_tracks, dim)
        What was clustered.
    threshold : float
        τ.
    duration : float
        Seconds of video, all together.
    run : dict
        What ``run.json`` says.
    scans : tuple of str
        Which scan of its video the tracks of each video are of.
    next_id : int
        The least id that no character was given by a scan or a join.
    taken : frozenset of int
        Events that took clusterings before this scan was grouped.
    """

    folder: Path
    tracks: TrackSet
    labels: NDArray[np.int64]
    points: NDArray[np.float32]
    threshold: float
    duration: float
    run: dict[str, Any]
    scans: tuple[str, ...]
    next_id: int
    taken: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, cast: Cast, points: NDArray[np.float32], about: Mapping[str, Any], folder: Path,
        run: dict[str, Any],
    ) -> Scanned:  # fmt: skip
        """Return what a scan of one video left.

        Parameters
        ----------
        cast, points
            What it made, and of what.
        about : mapping
            What the cast's file says besides: ``threshold``, ``next``, and ``taken`` if a scan was
            not the first.
        folder, run
            Where it is, and what ``run.json`` says.
        """
        labels = np.full(len(cast.tracks), -1)
        for one in cast.characters:
            labels[one.tracks] = one.number
        next_id = max(check_id(about["next"]), int(labels.max(initial=0)) + 1)
        return cls(
            folder, cast.tracks, labels, points, check_number(about["threshold"]), cast.duration,
            run, (scan_digest(cast.tracks),) * len(cast.tracks.videos), next_id,
            frozenset(check_id(event) for event in about.get("taken", ())),
        )  # fmt: skip

    @property
    def films(self) -> list[dict[str, Any]]:
        """What is known of each video."""
        return list(self.run["videos"] if "videos" in self.run else [self.run.get("video", {})])

    @property
    def joined(self) -> bool:
        """Whether it is a cast of several videos."""
        return "videos" in self.run

    @cached_property
    def basis(self) -> str:
        """What tells this clustering of these tracks from another."""
        return digest(*(scan.encode() for scan in self.scans), self.labels.tobytes())

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """When each video begins, if they are seen one after another."""
        lengths = [float(film.get("duration", 0.0)) for film in self.films]
        return np.concatenate([[0.0], np.cumsum(lengths)])[:-1]

    def pictures(self, track: str) -> list[Path]:
        """Find the pictures of a track's faces, best first."""
        return pictures_of(*self._faces_of(track))

    def frame(self, track: str) -> Path:
        """Return where the frame of a track's best picture is, if there is one."""
        return frame_of(*self._faces_of(track))

    def picture_counts(self) -> dict[str, int]:
        """Count the pictures of every track that has some."""
        return self._of_all(picture_counts)

    def covers(self) -> dict[str, Cover]:
        """Return what is known of the best picture of every track."""
        return self._of_all(read_covers)

    def faces_folder(self, track: str) -> Path:
        """Return the folder of a track's pictures."""
        return self._faces_of(track)[0]

    def _faces_of(self, track: str) -> tuple[Path, str]:
        """Return the folder of a track's pictures, and what the track is called there."""
        episode, _, own = track.rpartition(OF) if self.joined else ("", "", track)
        home = self.folder / EPISODES / episode if episode else self.folder
        return home / FACES, own

    def _of_all(self, read: Callable[[Path], dict[str, T]]) -> dict[str, T]:
        """Read something of the pictures of every video, by track."""
        if not self.joined:
            return read(self.folder / FACES)
        return {
            f"{film['episode']}{OF}{track}": value
            for film in self.films
            for track, value in read(self.folder / EPISODES / film["episode"] / FACES).items()
        }


def read_scanned(folder: str | Path, live: Iterable[Event] = ()) -> Scanned:
    """Read a cast's folder, of one video or of several.

    Parameters
    ----------
    folder : path
        The folder.
    live : iterable of Event
        The events that hold: of several videos, they say which are in the cast.
    """
    folder = Path(folder)
    if not (folder / CAST).is_file():
        raise InputError(f"{folder}: not a cast; `castlist scan video.mp4` makes video.cast")
    if (folder / EPISODES).is_dir():
        return _read_joined(folder, live)
    tracks = read_tracks(folder / TRACKS)
    cast = load_cast(folder / CAST, tracks)
    try:
        points = load_array(folder / POINTS)
        run = check_run(read_json(folder / RUN))
        about = read_json(folder / CAST)
        own = about.get("points", now := digest(points.tobytes())) == now
        found = Scanned.of(cast, points.astype(np.float32), about, folder, run)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: damaged or unfinished; scan again ({error})") from error
    points, labels = found.points, found.labels
    fits = points.ndim == 2 and len(points) == len(tracks) and bool((labels > 0).all())
    if not own or not fits or not valid_embeddings(points):
        raise InputError(f"{folder}: its files do not belong together; scan again")
    return found


def read_run(folder: Path) -> dict[str, Any]:
    """Read which videos are, or were, in a joined cast."""
    try:
        run = check_run(read_json(folder / RUN))
        if "videos" in run:
            check_format(folder / RUN, run.get("format"))
        for film in run.get("videos", []):
            check_name(film["episode"])
            if not isinstance(film["title"], str):
                raise ValueError("a video without a title")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: not a cast ({error})") from error
    if "videos" not in run:
        raise InputError(f"{folder} is the cast of one video; `castlist join` makes one of several")
    return run


def videos_present(films: Iterable[dict[str, Any]], live: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the videos that are in a joined cast: those it was joined of, and what holds since."""
    films = list(films)
    inside = {film["episode"] for film in films if not film.get("added")}
    for event in live:
        if event.kind == "add":
            inside.add(event.body.video)
        elif event.kind == "remove":
            inside.discard(event.body.video)
    return [film for film in films if film["episode"] in inside]


def _read_joined(folder: Path, live: Iterable[Event]) -> Scanned:
    """Read the folder of a cast of several videos."""
    run = read_run(folder)
    try:
        about = read_json(folder / CAST)
        check_format(folder / CAST, about["format"])
        films = videos_present(run["videos"], live)
        homes = [folder / EPISODES / film["episode"] for film in films]
        labels = [load_array(home / LABELS) for home in homes]
        points = [load_array(home / POINTS) for home in homes]
        threshold, next_id = check_number(about["threshold"]), check_id(run["next"])
        duration = sum(film["duration"] for film in films)
        sets = [read_tracks(home / TRACKS) for home in homes]
        tracks = join_tracks(sets, films)
        some = [x for x in points if len(x)]
        whole = np.concatenate(some) if some else np.empty((0, 0))
        numbers = np.concatenate(labels) if labels else np.empty(0, np.int64)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"{folder}: damaged or unfinished; join again ({error})") from error
    fits = whole.ndim == 2 and len(whole) == len(tracks) and numbers.shape == (len(tracks),)
    if (
        not fits
        or numbers.dtype.kind != "i"
        or not (numbers > 0).all()
        or not valid_embeddings(whole)
    ):
        raise InputError(f"{folder}: its files do not belong together; join again")
    return Scanned(
        folder, tracks, numbers.astype(np.int64), whole.astype(np.float32), threshold, duration,
        {**run, "videos": films}, tuple(scan_digest(one) for one in sets),
        max(next_id, int(numbers.max(initial=0)) + 1),
    )  # fmt: skip


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


def check_name(name: str) -> str:
    """Return a name of a file in its folder, and nowhere else on the disk; else a ValueError."""
    if name in ("", ".", "..") or Path(name).name != name:
        raise InputError(f"{name!r} is not a file's name")
    return name


def write_points(folder: Path, points: NDArray[np.float32]) -> None:
    """Write what was clustered."""
    with replacing(folder / POINTS) as partial, partial.open("wb") as file:
        np.save(file, points, allow_pickle=False)


def find_video(scanned: Scanned, film: int = 0) -> Path | None:
    """Find a video of a cast: where it was, or beside the folder."""
    video = scanned.films[film]
    places = [
        scanned.folder / str(video.get("path", "")),
        scanned.folder.parent / str(video.get("name", "")),
    ]
    # os.path: a name too long, or behind a closed door, is a file that is not there.
    return next((path.resolve() for path in places if os.path.isfile(path)), None)
