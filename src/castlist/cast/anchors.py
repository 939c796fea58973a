"""Anchors: tracks as the log stores them, by time, box and face, to find them in a new scan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.geometry import iou
from castlist.io.untrusted import parse_json
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
#: Width and height of the frames of a video, as displayed; None if they are not known.
Size = tuple[int, int] | None

#: Seconds between the faces of a track that are stored, at least: of an ordinary scan, all are.
_STEP = 0.15
_MOST_FACES = 100_000  # accepted when reading
_LONGEST_SIDE = 2**20  # of a frame
#: Seconds by which the start or end of a track may differ between scans.
_SLACK = 0.3
#: Seconds between two faces of a track up to which its box is interpolated between them.
_GAP = 1.0
#: Intersection over union from which two boxes are of one face.
_SAME_BOX = 0.3
#: Cosine of two mean features below which they show different faces. The same track in two scans
#: with different settings is far above it (docs/user-guide/corrections.md).
SAME_FACE = 0.5
#: Number of tracks whose embeddings stand for that of a part: the most similar ones.
_NEAREST = 3


@dataclass(frozen=True)
class Anchor:
    """A track, described by what does not change when the video is scanned again.

    Attributes
    ----------
    scan : str
        Hash of the scan that it is a track of.
    video : str
        Name of the video.
    track : str
        The track's id in that scan.
    faces : tuple of (seconds, x, y, width, height)
        Some of its faces, in pixels of the frame.
    describer : str
        Name of the describer of its feature.
    feature : ndarray of float32
        Its mean feature, normalised to unit length; empty if it has none.
    size : (width, height) or None
        Size of the frame: the same video may be scanned again in another resolution.
    """

    scan: str
    video: str
    track: str
    faces: tuple[tuple[float, ...], ...]
    describer: str = ""
    feature: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    size: Size = None


def anchors_of(
    tracks: TrackSet, rows: Sequence[int], scans: Sequence[str],
    mean_features: NDArray[np.float32], sizes: Sequence[Size] | None = None,
) -> list[Anchor]:  # fmt: skip
    """Return anchors of tracks.

    Parameters
    ----------
    tracks : TrackSet
        The tracks.
    rows : sequence of int
        Rows of the tracks to return anchors of.
    scans : sequence of str
        The scan of each video.
    mean_features : ndarray of shape (n_tracks, dim)
        Mean features of unit length; NaN for tracks without a feature.
    sizes : sequence of (width, height) or None, optional
        The size of the frames of each video.
    """
    sizes = [None] * len(tracks.videos) if sizes is None else sizes
    made = []
    for row in rows:
        own = slice(*tracks.offsets[row : row + 2])
        faces = np.column_stack([tracks.time[own].round(3), tracks.box[own].astype(float).round(1)])
        faces = faces[_spread(tracks.time[own])]
        feature = (
            mean_features[row] if np.isfinite(mean_features[row]).all() else mean_features[row][:0]
        )
        made.append(
            Anchor(
                scans[tracks.video[row]], tracks.videos[tracks.video[row]], str(tracks.ids[row]),
                tuple(tuple(face) for face in faces[np.isfinite(faces).all(axis=1)].tolist()),
                tracks.describer, feature, sizes[tracks.video[row]],
            )
        )  # fmt: skip
    return made


def _spread(time: NDArray[np.floating]) -> list[int]:
    """Return the first and the last of some times, and those between that are not too near."""
    chosen = [0]
    for k, seconds in enumerate(time.tolist()):
        if k == len(time) - 1 or seconds - time[chosen[-1]] >= _STEP:
            chosen.append(k)
    return sorted(set(chosen))


def faces_to_json(anchor: Anchor) -> str:
    """Return the faces of an anchor as JSON, with the size of the frame if it is known."""
    faces = anchor.faces
    value = faces if anchor.size is None else {"size": anchor.size, "faces": faces}
    return json.dumps(value, separators=(",", ":"))


def faces_from_json(text: str) -> tuple[tuple[tuple[float, ...], ...], Size]:
    """Return the faces of a stored anchor and its size; raise InputError if they are invalid."""
    value = parse_json(text)
    if not isinstance(value, dict):
        return _check_faces(value), None
    size = value.get("size")
    if (
        value.keys() != {"size", "faces"}
        or not isinstance(size, list)
        or not all(type(side) is int and 0 < side < _LONGEST_SIDE for side in size)
        or len(size) != 2
    ):
        raise InputError("a track in a frame of no valid size")
    return _check_faces(value["faces"]), (size[0], size[1])


def _check_faces(faces: Any) -> tuple[tuple[float, ...], ...]:
    """Return the faces of a stored anchor; raise InputError if they are invalid."""
    if (
        not isinstance(faces, list)
        or len(faces) > _MOST_FACES
        or not all(
            isinstance(face, list) and len(face) == 5 and all(type(n) in (int, float) for n in face)
            for face in faces
        )
    ):
        raise InputError("a track without time and place")
    return tuple(tuple(float(n) for n in face) for face in faces)


def check_feature(data: Any) -> NDArray[np.float32]:
    """Return the feature of a stored anchor; raise InputError if it is invalid."""
    if not isinstance(data, bytes) or len(data) % 2:
        raise InputError("an anchor without a feature")
    feature = np.frombuffer(data, "<f2").astype(np.float32)
    if not np.isfinite(feature).all():
        raise InputError("an anchor whose feature is not finite")
    return feature


def find_anchors(
    tracks: TrackSet,
    anchors: Sequence[Anchor],
    mean_features: NDArray[np.float32],
    renamed: bool = True,
    sizes: Sequence[Size] | None = None,
) -> list[tuple[Rows, Rows]]:
    """Return the current tracks at the time and place of each anchor.

    One track may have become two, and two tracks one. A track is at the place of an anchor if it
    has its box, and no other track has it better, for half of the time or more in which both are
    there. That has to be long enough: in the same place after a cut, somebody else may begin a
    frame early.

    Parameters
    ----------
    tracks : TrackSet
        The current tracks.
    anchors : sequence of Anchor
        The anchors to find.
    mean_features : ndarray of shape (n_tracks, dim)
        Mean features of the current tracks, of unit length.
    renamed : bool
        Whether a single video is taken for the video of the anchors even if its file has another
        name. False for joined casts, where a video that is left is not one that was removed.
    sizes : sequence of (width, height) or None, optional
        The size of the frames of each video. Boxes are compared as fractions of the frame if it is
        known, and in pixels otherwise.

    Returns
    -------
    list of (rows, rows)
        For each anchor, the tracks there with its face, and those with a different face.
    """
    begin, end = tracks.time[tracks.offsets[:-1]], tracks.time[tracks.offsets[1:] - 1]
    place = {name: i for i, name in enumerate(tracks.videos)}
    only = 0 if renamed and len(tracks.videos) == 1 else -1
    found = []
    for anchor in anchors:
        video = place.get(anchor.video, only)
        faces = np.array(sorted(anchor.faces), np.float64).reshape(-1, 5)
        path = _Path(faces[:, 0], faces[:, 1:])
        if anchor.size and sizes and video >= 0 and (size := sizes[video]):
            path = _Path(path.time, path.box * np.tile(np.divide(size, anchor.size), 2))
        first, last = path.time.min(initial=np.inf), path.time.max(initial=-np.inf)
        here = (tracks.video == video) & (begin <= last + _SLACK) & (first - _SLACK <= end)
        rows = np.flatnonzero(here)
        chosen = rows[_at_place(path, [_Path.of(tracks, row) for row in rows.tolist()])]
        same = _same_face(anchor, tracks.describer, mean_features[chosen])
        found.append((chosen[same], chosen[~same]))
    return found


@dataclass(frozen=True)
class _Path:
    """The box of a face over time."""

    time: NDArray[np.float64]
    box: NDArray[np.float64]

    @classmethod
    def of(cls, tracks: TrackSet, row: int) -> _Path:
        own = slice(*tracks.offsets[row : row + 2])
        return cls(tracks.time[own].round(3), tracks.box[own].astype(float))  # as they are stored

    @property
    def seconds(self) -> float:
        return float(self.time[-1] - self.time[0])

    def at(self, moments: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the box at some moments, interpolated; before and after it is as at the ends."""
        return np.stack([np.interp(moments, self.time, side) for side in self.box.T], axis=1)

    def has(self, moments: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return at which moments the box is known: not before, after or in a long gap."""
        last = len(self.time) - 1
        before = np.searchsorted(self.time, moments, side="right") - 1
        after = np.searchsorted(self.time, moments, side="left")
        gap = self.time[np.minimum(after, last)] - self.time[np.maximum(before, 0)]
        return np.asarray((before >= 0) & (after <= last) & (gap <= _GAP))

    def near(self, moments: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which moments are within its time, or just outside of it."""
        return np.asarray((self.time[0] - _SLACK <= moments) & (moments <= self.time[-1] + _SLACK))


def _at_place(path: _Path, others: Sequence[_Path]) -> NDArray[np.bool_]:
    """Return which of the paths that are near one in time are of the same face."""
    if not others:
        return np.zeros(0, bool)
    moments = np.unique(np.concatenate([path.time, *(one.time for one in others)]))
    moments = moments[path.has(moments)]
    inside = np.array([one.has(moments) for one in others])
    agree = _agree(path, others, moments, inside)
    enough = np.array(
        [
            min(path.time[-1], one.time[-1]) - max(path.time[0], one.time[0])
            >= min(_SLACK, path.seconds / 4, one.seconds / 4)
            for one in others
        ]
    )
    good = enough & agree.any(axis=1) & (2 * agree.sum(axis=1) >= inside.sum(axis=1))
    if good.any():
        return np.asarray(good)
    # Two short tracks, sampled at different times, of which most is near the other.
    near = np.array([one.near(path.time) for one in others])
    hits = _agree(path, others, path.time, near).sum(axis=1)
    back = np.array([path.near(one.time).mean() for one in others])
    return np.asarray((2 * hits > len(path.time)) & (2 * back > 1))


def _agree(
    path: _Path, others: Sequence[_Path], moments: NDArray[np.float64], when: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return at which moments each of the others has the box of a path; one of them at each."""
    boxes = path.at(moments)
    shared = np.array([np.nan_to_num(iou(one.at(moments), boxes)) for one in others])
    shared[~when] = -1
    best = (shared == shared.max(axis=0, initial=-1.0)) & (shared >= _SAME_BOX)
    return np.asarray(best & (np.cumsum(best, axis=0) == 1))


def _same_face(
    anchor: Anchor, describer: str, mean_features: NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Return which tracks have the face of an anchor; all if features cannot be compared."""
    compares = anchor.describer == describer and len(anchor.feature) == mean_features.shape[1] > 0
    if not compares:
        return np.ones(len(mean_features), bool)
    return np.asarray(~(mean_features @ anchor.feature < SAME_FACE))  # NaN: it has no feature


@dataclass(frozen=True)
class CutTracks:
    """Tracks, some of which are cut in two because they show two people.

    Attributes
    ----------
    tracks : TrackSet
        The tracks, with parts in the place of those that are cut.
    origin : ndarray of int, shape (n_tracks,)
        The row of each track before all cuts.
    marks : tuple of tuples of (str, str)
        For each track, the times of its cuts as text, and its id: before all cuts, after the
        first, and so on. The last is its own. Times are needed because a track may be cut, made
        whole by undo, and cut at another time: then its parts have the same ids.
    """

    tracks: TrackSet
    origin: Rows
    marks: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def whole(cls, tracks: TrackSet) -> CutTracks:
        """Return tracks without cuts."""
        return cls(
            tracks, np.arange(len(tracks)), tuple((("", name),) for name in tracks.ids.tolist())
        )

    def place_of(self, row: int, seconds: float) -> int | None:
        """Return the first face of a track at or after a time; None unless some are before it."""
        first, last = self.tracks.offsets[row : row + 2].tolist()
        found = first + int(np.searchsorted(self.tracks.time[first:last], seconds))
        return found if first < found < last else None

    def cut(self, row: int, seconds: float) -> CutTracks:
        """Return the tracks with one of them cut; unchanged if one side would have no faces."""
        face = self.place_of(row, seconds)
        if face is None:
            return self
        tracks = self.tracks
        counts = np.ones(len(tracks), np.int64)
        counts[row] = 2
        again = np.repeat(np.arange(len(tracks)), counts)
        names = _part_names(str(tracks.ids[row]), set(tracks.ids.tolist()))
        ids = tracks.ids[again].tolist()
        ids[row : row + 2] = names
        end = tracks.end[again].copy()
        end[row] = seconds
        times = f"{self.marks[row][-1][0]}@{seconds!r}"
        parts = tuple((*self.marks[row], (times, name)) for name in names)
        return CutTracks(
            replace(
                tracks, ids=np.array(ids, np.str_), video=tracks.video[again],
                shot=tracks.shot[again], identity=tracks.identity[again], end=end,
                offsets=np.insert(tracks.offsets, row + 1, face),
            ),
            self.origin[again],
            (*self.marks[:row], *parts, *self.marks[row + 1 :]),
        )  # fmt: skip

    @property
    def parts(self) -> Rows:
        """The rows of parts of cut tracks."""
        return np.array([k for k, marks in enumerate(self.marks) if len(marks) > 1], np.int64)

    def mean_features(self, whole: Floats) -> Floats:
        """Return mean features of unit length; a part has its own if a face of it has a feature.

        Parameters
        ----------
        whole : ndarray of shape (n, dim)
            Values of the tracks before all cuts.
        """
        found = whole[self.origin]
        for row in self.parts.tolist():
            features = self.tracks.require_features()
            faces = np.arange(*self.tracks.offsets[row : row + 2])
            faces = faces[features.described[faces]]
            if len(faces):
                found[row] = unit(features.take(faces).mean(axis=0))
        return found

    def points(self, whole: Floats, mean_features: Floats) -> Floats:
        """Return embeddings; that of a part is the mean of the tracks most similar to it.

        A part cannot always be embedded: a model file that only the cast names is not opened.

        Parameters
        ----------
        whole : ndarray of shape (n, dim)
            Values of the tracks before all cuts.
        mean_features : ndarray of shape (n_tracks, dim)
            From :meth:`mean_features`.
        """
        parts = self.parts
        found = whole[self.origin]
        others = np.setdiff1d(np.arange(len(self.tracks)), parts)
        if len(others):
            for row in parts.tolist():
                near = others[
                    np.argsort(-(mean_features[others] @ mean_features[row]), kind="stable")[
                        :_NEAREST
                    ]
                ]
                found[row] = unit(whole[self.origin[near]].mean(axis=0))
        return found


def unit(x: NDArray[np.floating]) -> Floats:
    """Return vectors normalised to unit length; zero vectors stay zero."""
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.maximum(lengths, 1e-9), np.float32)


def _part_names(name: str, taken: set[str]) -> list[str]:
    """Return unused ids for two parts of a track."""
    while {f"{name}a", f"{name}b"} & taken:
        name += "_"
    return [f"{name}a", f"{name}b"]
