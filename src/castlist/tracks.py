"""TrackSet: the face tracks of one or more videos, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import InputError
from castlist.features import Features

#: Prefix of the identities of background characters: unnamed, but one person each (paper, sec. 1).
BACKGROUND_PREFIX = "unknown"
_SHOWN_VIDEOS = 5  # in a notebook
_MAX_VALUE = 2**40  # frames, seconds or pixels: no video has more
_MAX_LETTERS = 2**27  # of all ids, or all identities, as NumPy stores them: as long as the longest


@dataclass(frozen=True, eq=False)
class TrackSet:
    """The face tracks of one or more videos, with per-face features.

    Faces are stored track by track: those of track ``i`` are ``offsets[i]:offsets[i + 1]``.
    Build a set with :meth:`from_faces`, :meth:`join` or :func:`castlist.read_tracks`.

    Attributes
    ----------
    ids : ndarray of str, shape (n_tracks,)
        Track ids, unique within a video.
    videos : tuple of str
        Names of the videos.
    video : ndarray of int, shape (n_tracks,)
        The video of each track, as an index into ``videos``.
    shot : ndarray of int, shape (n_tracks,)
        The shot of each track within its video; -1 if not known.
    end : ndarray of float, shape (n_tracks,)
        The time in seconds at which the last face of each track disappears; NaN if not known.
    identity : ndarray of str, shape (n_tracks,)
        The person of each track; empty if not known.
    offsets : ndarray of int, shape (n_tracks + 1,)
        Where the faces of each track begin.
    frame, time, score : ndarray, shape (n_faces,)
        Frame number (-1 if not known), time in seconds and detector's score (NaN if not known).
    setup : ndarray of int, shape (n_faces,)
        The camera set-up of each face: the same number for the same scene from the same place; -1
        if not known. A scan sets it for the first and the last face of a track.
    box : ndarray of float32, shape (n_faces, 4)
        x, y, width, height in pixels; NaN if not known.
    features : Features or None
        The describer's vector of each face. A scan describes only the best faces of a track.
    describer : str
        Name of the base CNN that computed the features.
    """

    ids: NDArray[np.str_]
    videos: tuple[str, ...]
    video: NDArray[np.int32]
    shot: NDArray[np.int32]
    end: NDArray[np.float64]
    identity: NDArray[np.str_]
    offsets: NDArray[np.int64]
    frame: NDArray[np.int64]
    setup: NDArray[np.int32]
    time: NDArray[np.float64]
    box: NDArray[np.float32]
    score: NDArray[np.float32]
    features: Features | None = None
    describer: str = ""

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_faces(
        cls,
        track: ArrayLike,
        *,
        feature: ArrayLike | Features | None = None,
        identity: ArrayLike | None = None,
        shot: ArrayLike | None = None,
        end: ArrayLike | None = None,
        frame: ArrayLike | None = None,
        setup: ArrayLike | None = None,
        time: ArrayLike | None = None,
        box: ArrayLike | None = None,
        score: ArrayLike | None = None,
        video: str = "video",
        describer: str = "",
    ) -> TrackSet:
        """Return the tracks of one video, built from one value per face.

        Parameters
        ----------
        track : array-like of shape (n_faces,)
            The id of each face's track. Tracks are in the order of their first faces.
        feature : array-like of shape (n_faces, dim) or Features, optional
            The describer's vector of each face.
        identity, shot, end : array-like of shape (n_faces,), optional
            The person, the shot and the end of each face's track: equal within a track.
        frame, setup, time, box, score : array-like, optional
            As in the attributes.
        video, describer : str
            Names of the video and the describer.
        """
        # Numeric ids are sorted as numbers: as text, four million of them take half a minute.
        found, first, code = np.unique(np.asarray(track), return_index=True, return_inverse=True)
        n = len(code)
        features: Features | None
        if feature is None or isinstance(feature, Features):
            features = feature
        else:
            features = Features(np.asarray(feature))
            _require_finite(features)
        columns = {
            "identity": _names(identity, n),
            "shot": _column("shot", shot, (n,), np.int32, -1),
            "end": _column("end", end, (n,), np.float64, np.nan),
            "setup": _column("setup", setup, (n,), np.int32, -1),
            "frame": _column("frame", frame, (n,), np.int64, -1),
            "time": _column("time", time, (n,), np.float64, np.nan),
            "box": _column("box", box, (n, 4), np.float32, np.nan),
            "score": _column("score", score, (n,), np.float32, np.nan),
        }
        for name, values in columns.items():
            if len(values) != n:
                raise InputError(f"{name} has {len(values)} values for {n} faces")
        if features is not None and len(features) != n:
            raise InputError(f"{len(features)} features for {n} faces")

        by_first = np.argsort(first, kind="stable")
        rank = np.empty(len(found), np.int64)
        rank[by_first] = np.arange(len(found))
        ids = _text("id", found[by_first])
        position = rank[code]
        if (np.diff(position) < 0).any():  # the faces of a track are not contiguous
            order = np.argsort(position, kind="stable")
            position = position[order]
            columns = {name: values[order] for name, values in columns.items()}
            features = None if features is None else features.select(order)
        offsets = np.searchsorted(position, np.arange(len(ids) + 1))
        for name in ("identity", "shot", "end"):
            per_track = columns[name][offsets[:-1]]
            differs = columns[name] != per_track[position]
            if name == "end":  # NaN differs from itself
                differs &= ~(np.isnan(columns[name]) & np.isnan(per_track[position]))
            mixed = np.flatnonzero(differs)
            if len(mixed):
                raise InputError(
                    f"video {video!r}, track {str(ids[position[mixed[0]]])!r}: more than one {name}"
                )
            columns[name] = _text(name, per_track) if name == "identity" else per_track
        return cls(
            ids=ids,
            videos=(video,),
            video=np.zeros(len(ids), np.int32),
            offsets=offsets,
            features=features,
            describer=describer,
            **columns,
        )

    @classmethod
    def join(cls, sets: Sequence[TrackSet]) -> TrackSet:
        """Return the tracks of several sets as one set, in order."""
        if not sets:
            raise InputError("nothing to join: give at least one TrackSet")
        videos = tuple(dict.fromkeys(name for one in sets for name in one.videos))
        place = {name: i for i, name in enumerate(videos)}
        describers = {one.describer for one in sets if one.describer}
        if len(describers) > 1:
            raise InputError(f"features of different describers: {', '.join(sorted(describers))}")
        starts = np.cumsum([0, *(one.n_faces for one in sets)])
        per_track = ("ids", "shot", "end", "identity")
        per_face = ("frame", "setup", "time", "box", "score")
        merged: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in sets])
            for name in per_track + per_face
        }
        return cls(
            videos=videos,
            video=np.concatenate(
                [np.array([place[v] for v in one.videos], np.int32)[one.video] for one in sets]
            ),
            offsets=np.concatenate(
                [[0], *(one.offsets[1:] + start for one, start in zip(sets, starts, strict=False))]
            ),
            features=_join_features([one.features for one in sets]),
            describer=describers.pop() if describers else "",
            **merged,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        dim = "no" if self.features is None else f"{self.features.dim}-d {self.features.dtype}"
        return (
            f"<TrackSet: {len(self):,} tracks, {self.n_faces:,} faces, "
            f"{len(self.videos)} videos, {dim} features>"
        )

    def _repr_html_(self) -> str:
        """Return a table of the set's size, for notebooks."""
        shown = ", ".join(self.videos[:_SHOWN_VIDEOS])
        more = len(self.videos) - _SHOWN_VIDEOS
        features = "none" if self.features is None else f"{self.features.dim}-d"
        rows = {
            "Videos": f"{len(self.videos):,}: {shown}"
            + (f" and {more:,} more" if more > 0 else ""),
            "Tracks": f"{len(self):,}",
            "Faces": f"{self.n_faces:,}",
            "Labelled": f"{int(self.labelled.sum()):,} of {len(self):,} tracks",
            "Features": features,
            "Describer": self.describer or "not known",
        }
        cells = (
            f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows.items()
        )
        return f"<table><caption>TrackSet</caption>{''.join(cells)}</table>"

    @property
    def n_faces(self) -> int:
        """Number of faces over all tracks."""
        return int(self.offsets[-1])

    @property
    def face_counts(self) -> NDArray[np.int64]:
        """Number of faces of each track."""
        return np.diff(self.offsets)

    @property
    def track_of_face(self) -> NDArray[np.int64]:
        """The track each face belongs to."""
        return np.repeat(np.arange(len(self)), self.face_counts)

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Start and end of each track in seconds, as rows; NaN if no time is known.

        A track without an ``end`` ends with its last face.
        """
        first, last = (f.reduceat(self.time, self.offsets[:-1]) for f in (np.fmin, np.fmax))
        return np.stack([first, np.fmax(last, self.end)], axis=1)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which tracks have an identity."""
        return np.asarray(self.identity != "")

    @property
    def background(self) -> NDArray[np.bool_]:
        """Which tracks are of background characters."""
        return np.char.startswith(self.identity, BACKGROUND_PREFIX)

    def name(self, track: int) -> str:
        """Return the video and the id of a track, for messages."""
        return f"video {self.videos[self.video[track]]!r}, track {str(self.ids[track])!r}"

    def __getitem__(self, tracks: slice | NDArray[Any] | Sequence[int]) -> TrackSet:
        """Return tracks chosen by slice, numbers or mask; features are not copied."""
        chosen = np.atleast_1d(np.arange(len(self))[tracks])
        counts = self.face_counts[chosen]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        faces = np.repeat(self.offsets[chosen] - offsets[:-1], counts) + np.arange(offsets[-1])
        kept, video = np.unique(self.video[chosen], return_inverse=True)
        return TrackSet(
            ids=self.ids[chosen],
            videos=tuple(self.videos[v] for v in kept),
            video=video.astype(np.int32),
            shot=self.shot[chosen],
            end=self.end[chosen],
            identity=self.identity[chosen],
            offsets=offsets,
            frame=self.frame[faces],
            setup=self.setup[faces],
            time=self.time[faces],
            box=self.box[faces],
            score=self.score[faces],
            features=None if self.features is None else self.features.select(faces),
            describer=self.describer,
        )

    def with_identity(self, identity: ArrayLike) -> TrackSet:
        """Return the same tracks with other identities, one per track."""
        return replace(self, identity=np.asarray(identity, np.str_))

    def mean_features(self) -> NDArray[np.float32]:
        """Return the mean feature of each track (paper, sec. 4: tracks at test time)."""
        return self._mean_features.copy()

    @cached_property
    def _mean_features(self) -> NDArray[np.float32]:
        tracks = self.described()
        return tracks.require_features().means(tracks.offsets)

    def described(self) -> TrackSet:
        """Return the same tracks, with only the faces that have a feature."""
        described = self.require_features().described
        if described.all():
            return self
        faces = np.flatnonzero(described)
        counts = np.bincount(self.track_of_face[faces], minlength=len(self))
        without = np.flatnonzero(counts == 0)
        if len(without):
            raise InputError(f"{self.name(int(without[0]))}: no face has a feature")
        names = ("frame", "setup", "time", "box", "score")
        columns = {name: getattr(self, name)[faces] for name in names}
        features = self.require_features().select(faces)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return replace(self, offsets=offsets, features=features, **columns)

    def overlaps(self) -> NDArray[np.int64]:
        """Return the pairs of tracks that share a frame of a video, as rows (i, j) with i < j.

        Two faces in one frame are two people: these are the paper's negative pairs.
        """
        return self._overlaps.copy()

    @cached_property
    def _overlaps(self) -> NDArray[np.int64]:
        known = np.flatnonzero(self.frame >= 0)
        track = self.track_of_face[known]
        frames = int(self.frame.max(initial=-1)) + 1
        moment = self.video[track].astype(np.int64) * frames + self.frame[known]
        n = max(len(self), 1)
        _, moment = np.unique(moment, return_inverse=True)
        moment, track = np.divmod(np.unique(moment * n + track), n)
        # Tracks of one moment are adjacent: take pairs one place apart, two places apart, …
        pairs, first, step = [np.empty(0, np.int64)], np.arange(len(moment)), 1
        while len(first):
            first = first[first + step < len(moment)]
            first = first[moment[first] == moment[first + step]]
            pairs.append(np.unique(track[first] * n + track[first + step]))
            step += 1
        return np.stack(np.divmod(np.unique(np.concatenate(pairs)), n), axis=1)

    def require_features(self) -> Features:
        """Return the features; raise InputError if there are none."""
        if self.features is None:
            raise InputError(
                f"the tracks of {', '.join(self.videos[:3]) or 'this set'} have no features; "
                "describe the faces first"
            )
        return self.features


def _column(
    name: str, values: ArrayLike | None, shape: tuple[int, ...], dtype: Any, default: Any
) -> Any:
    if values is None:
        return np.full(shape, default, dtype)
    given = np.asarray(values)
    if given.dtype.kind not in "biuf":
        raise InputError(f"{name} must be numbers, not {given.dtype}")
    if given.size:
        limit = 2**31 if name in ("shot", "setup") else _MAX_VALUE
        low, high = np.fmin.reduce(given, axis=None), np.fmax.reduce(given, axis=None)  # not NaN
        whole = np.issubdtype(dtype, np.integer)
        if low <= -limit or high >= limit or (whole and not np.isfinite(given).all()):
            raise InputError(f"{name} has a value that is not a number or is too large")
    return given.astype(dtype)


def _names(identity: ArrayLike | None, n: int) -> Any:
    """Return identities as text; None and NaN are unknown people, not names."""
    values = np.full(n, "") if identity is None else np.asarray(identity)
    if values.dtype != object:
        return values.astype(np.str_)
    # Keep objects: in a NumPy text array, every face's name would be as long as the longest.
    named = [name if isinstance(name, str) else "" for name in values.tolist()]
    return np.array(named, object)


def _text(what: str, values: NDArray[Any]) -> NDArray[np.str_]:
    """Return names as a NumPy text array, unless a very long one would make it fill the memory."""
    if values.dtype == object:
        longest = max((len(str(value)) for value in values.tolist()), default=0)
        if longest * len(values) > _MAX_LETTERS:
            raise InputError(
                f"an {what} of {longest:,} letters is too long for {len(values):,} tracks"
            )
    return values.astype(np.str_)


def _require_finite(features: Features) -> None:
    faces = np.flatnonzero(features.described)
    for start, block in features.select(faces).chunks():
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        if len(bad):
            face = int(faces[start + bad[0]])
            raise InputError(f"the feature of face {face} is not finite")


def _join_features(parts: Sequence[Features | None]) -> Features | None:
    present = [part for part in parts if part is not None]
    if present and len(present) < len(parts):
        raise InputError("some of the sets to join have features and some have none")
    return Features.join(present) if present else None


def _check(tracks: TrackSet) -> None:
    """Refuse arrays of inconsistent lengths, tracks without a face, and duplicate ids."""
    n, faces = len(tracks.ids), tracks.n_faces
    for name in ("video", "shot", "end", "identity"):
        if getattr(tracks, name).shape != (n,):
            raise InputError(f"{name} must have one value for each of the {n} tracks")
    for name in ("frame", "setup", "time", "score", "box"):
        if len(getattr(tracks, name)) != faces:
            raise InputError(f"{name} must have one value for each of the {faces} faces")
    if tracks.features is not None and len(tracks.features) != faces:
        raise InputError(f"{len(tracks.features)} features for {faces} faces")
    empty = np.flatnonzero(tracks.face_counts < 1)
    if len(empty):
        raise InputError(f"{tracks.name(int(empty[0]))}: the track has no face")
    order = np.lexsort((tracks.ids, tracks.video))
    same = (np.diff(tracks.video[order]) == 0) & (tracks.ids[order][1:] == tracks.ids[order][:-1])
    if same.any():
        raise InputError(f"{tracks.name(int(order[1:][same][0]))}: this id is used twice")
