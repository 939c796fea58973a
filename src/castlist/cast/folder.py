"""The folder of a cast: the files that a scan or a join writes, and where the videos are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Size
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
from castlist.io.cast_files import refuse_links
from castlist.io.files import replacing
from castlist.io.pictures import Cover, frame_of, picture_counts, pictures_of, read_covers
from castlist.io.track_files import read_tracks
from castlist.io.untrusted import load_array, read_json
from castlist.tracks import TrackSet

TRACKS, CAST, REPORT = "tracks.parquet", "cast.json", "report.html"
#: A new cast, before it replaces an earlier one.
NEXT_CAST = "cast.next.json"
POINTS, CORRECTIONS, FACES = "embeddings.npy", "corrections.db", "faces"
#: In a cast of several videos: the folder with one folder per video, the file of its characters,
#: and the separator between the name of a video and the id of a track.
EPISODES, LABELS, OF = "episodes", "characters.npy", ":"

T = TypeVar("T")


@dataclass(frozen=True)
class Scanned:
    """The result of a scan or a join, as read from a cast's folder.

    Attributes
    ----------
    folder : Path
        The folder.
    tracks : TrackSet
        The face tracks.
    labels : ndarray of int, shape (n_tracks,)
        The id of the character that clustering assigned to each track.
    points : ndarray of float32, shape (n_tracks, dim)
        The embeddings that were clustered.
    threshold : float
        τ.
    duration : float
        Seconds of video, of all videos together.
    run : dict
        The content of ``run.json``.
    scans : tuple of str
        For each video, the hash of the scan that its tracks are of.
    next_id : int
        The least id that no scan or join has used.
    taken : frozenset of int
        Events that accepted clusterings before this scan was clustered; they no longer apply.
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
        """Return the result of a scan of one video.

        Parameters
        ----------
        cast, points
            The cast, and the embeddings that were clustered.
        about : mapping
            The other keys of the cast's file: ``threshold``, ``next``, and ``taken`` if there was
            an earlier scan.
        folder, run
            The folder, and the content of ``run.json``.
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
        """The entry of each video in ``run.json``."""
        return list(self.run["videos"] if "videos" in self.run else [self.run.get("video", {})])

    @property
    def joined(self) -> bool:
        """Whether it is a cast of several videos."""
        return "videos" in self.run

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The width and height of the frames of each video; None if they are not known."""
        noted = [film.get("size") or (0, 0) for film in self.films]
        number = len(self.tracks.videos)
        sizes = noted if len(noted) == number else [(0, 0)] * number
        return tuple((width, height) if width and height else None for width, height in sizes)

    @cached_property
    def basis(self) -> str:
        """A hash that identifies this clustering of these tracks."""
        return digest(*(scan.encode() for scan in self.scans), self.labels.tobytes())

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """Start of each video, if they are played one after another."""
        lengths = [float(film.get("duration", 0.0)) for film in self.films]
        return np.concatenate([[0.0], np.cumsum(lengths)])[:-1]

    def pictures(self, track: str) -> list[Path]:
        """Return the pictures of a track's faces, best first."""
        return pictures_of(*self._faces_of(track))

    def frame(self, track: str) -> Path:
        """Return the path of the frame of a track's best picture, which may not exist."""
        return frame_of(*self._faces_of(track))

    def picture_counts(self) -> dict[str, int]:
        """Return the number of pictures of each track that has any."""
        return self._of_all(picture_counts)

    def covers(self) -> dict[str, Cover]:
        """Return the cover of each track that has one."""
        return self._of_all(read_covers)

    def faces_folder(self, track: str) -> Path:
        """Return the folder of a track's pictures."""
        return self._faces_of(track)[0]

    def _faces_of(self, track: str) -> tuple[Path, str]:
        return faces_of(self.folder, track, self.joined)

    def _of_all(self, read: Callable[[Path], dict[str, T]]) -> dict[str, T]:
        """Return ``read`` of the pictures of all videos, keyed by track."""
        if not self.joined:
            return read(self.folder / FACES)
        return {
            f"{film['episode']}{OF}{track}": value
            for film in self.films
            for track, value in read(self.folder / EPISODES / film["episode"] / FACES).items()
        }


def faces_of(folder: Path, track: str, joined: bool | None = None) -> tuple[Path, str]:
    """Return the folder of a track's pictures, and the track's id in it.

    ``joined`` is whether it is a cast of several videos; found out from the folder if not given.
    """
    joined = (folder / EPISODES).is_dir() if joined is None else joined
    episode, _, own = track.rpartition(OF) if joined else ("", "", track)
    home = folder / EPISODES / episode if episode else folder
    return home / FACES, own


def read_scanned(folder: str | Path, live: Iterable[Event] = ()) -> Scanned:
    """Read a cast's folder, of one video or of several.

    Parameters
    ----------
    folder : path
        The folder.
    live : iterable of Event
        The events in effect: they determine which videos a joined cast has.
    """
    folder = Path(folder)
    refuse_links(folder)
    if not (folder / CAST).is_file():
        raise InputError(f"{folder}: not a cast; `castlist scan video.mp4` writes video.cast")
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
        raise InputError(
            f"{folder}: damaged or unfinished; scan the video again ({error})"
        ) from error
    points, labels = found.points, found.labels
    fits = points.ndim == 2 and len(points) == len(tracks) and bool((labels > 0).all())
    if not own or not fits or not valid_embeddings(points):
        raise InputError(f"{folder}: its files do not belong together; scan the video again")
    return found


def read_run(folder: Path) -> dict[str, Any]:
    """Return ``run.json`` of a joined cast, which lists its videos, removed ones included."""
    refuse_links(folder)
    try:
        run = check_run(read_json(folder / RUN))
        if "videos" in run:
            check_format(folder / RUN, run.get("format"))
        for film in run.get("videos", []):
            check_name(film["episode"])
            if not isinstance(film["title"], str):
                raise ValueError("a video has no title")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: not a cast ({error})") from error
    if "videos" not in run:
        raise InputError(
            f"{folder} is the cast of one video; `castlist join` makes a cast of several"
        )
    return run


def videos_present(films: Iterable[dict[str, Any]], live: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the videos that are in a joined cast, after the events in effect."""
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
    """Return the tracks of several videos as one set; ids begin with the name of the video."""
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
    """Return a file name; raise InputError if it would lead out of its folder."""
    if name in ("", ".", "..") or Path(name).name != name:
        raise InputError(f"{name!r} is not a file name")
    return name


def write_points(folder: Path, points: NDArray[np.float32]) -> None:
    """Write the embeddings that were clustered."""
    with replacing(folder / POINTS) as partial, partial.open("wb") as file:
        np.save(file, points, allow_pickle=False)
