"""Anchors: tracks as the log stores them, by time, box and face, to find them in a new scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.geometry import iou
from castlist.tracks import TrackSet

if TYPE_CHECKING:
    from castlist.cast.log import Log

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]

#: Faces of a track that are stored, spread over its time.
_FACES = 9
_MOST_FACES = 100  # that are read
#: A track of another scan may begin or end this much (seconds) later or earlier.
_SLACK = 0.3
#: Boxes that overlap so much (intersection over union) are of one face.
_SAME_BOX = 0.3
#: Cosine of two mean features below which they are clearly of two faces. One track scanned twice
#: with other settings is far above it (docs/user-guide/corrections.md).
SAME_FACE = 0.5
#: Number of tracks whose embeddings stand for that of a part: the most similar ones.
_NEAREST = 3


@dataclass(frozen=True)
class Anchor:
    """One track, by what does not change when the video is scanned again.

    Attributes
    ----------
    scan : str
        Which scan of the video it is a track of.
    video : str
        Name of the video.
    track : str
        The track's id in that scan.
    faces : tuple of (seconds, x, y, width, height)
        Some of its faces.
    describer : str
        Whose features it has.
    feature : ndarray of float32
        Its mean feature, of unit length; empty if it has none.
    """

    scan: str
    video: str
    track: str
    faces: tuple[tuple[float, ...], ...]
    describer: str = ""
    feature: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))


def anchors_of(
    tracks: TrackSet, rows: Sequence[int], scans: Sequence[str], looks: NDArray[np.float32]
) -> list[Anchor]:
    """Return anchors of some tracks.

    Parameters
    ----------
    tracks : TrackSet
        The tracks.
    rows : sequence of int
        Which of them.
    scans : sequence of str
        The scan of each video.
    looks : ndarray of shape (n_tracks, dim)
        Mean features of unit length; not a number where a track has none.
    """
    made = []
    for row in rows:
        first, last = int(tracks.offsets[row]), int(tracks.offsets[row + 1]) - 1
        chosen = np.unique(np.linspace(first, last, _FACES).round().astype(int))
        faces = np.column_stack([tracks.time[chosen], tracks.box[chosen]]).astype(float).round(3)
        look = looks[row] if np.isfinite(looks[row]).all() else looks[row][:0]
        made.append(
            Anchor(
                scans[tracks.video[row]], tracks.videos[tracks.video[row]], str(tracks.ids[row]),
                tuple(tuple(face) for face in faces[np.isfinite(faces).all(axis=1)].tolist()),
                tracks.describer, look,
            )
        )  # fmt: skip
    return made


def check_faces(faces: Any) -> tuple[tuple[float, ...], ...]:
    """Return the faces of an anchor as they are stored; else an InputError."""
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
    """Return the feature of an anchor as it is stored; else an InputError."""
    if not isinstance(data, bytes) or len(data) % 2:
        raise InputError("a track without a feature")
    feature = np.frombuffer(data, "<f2").astype(np.float32)
    if not np.isfinite(feature).all():
        raise InputError("a track with a feature that is none")
    return feature


def find_anchors(
    tracks: TrackSet, anchors: Sequence[Anchor], looks: NDArray[np.float32], renamed: bool = True
) -> list[tuple[Rows, Rows]]:
    """Find the tracks that are now where these were.

    One track may have become two, and two one.

    Parameters
    ----------
    tracks : TrackSet
        The tracks of now.
    anchors : sequence of Anchor
        Those that are looked for.
    looks : ndarray of shape (n_tracks, dim)
        Mean features of the tracks of now, of unit length.
    renamed : bool
        Whether a video that is the only one is the same one, whatever its file is called now. Of
        several videos, the one that is left is another than those that were removed.

    Returns
    -------
    list of (rows, rows)
        For each anchor the tracks that are there with its face, and those there with another.
    """
    begin, end = tracks.time[tracks.offsets[:-1]], tracks.time[tracks.offsets[1:] - 1]
    place = {name: i for i, name in enumerate(tracks.videos)}
    only = 0 if renamed and len(tracks.videos) == 1 else -1
    found = []
    for anchor in anchors:
        here = tracks.video == place.get(anchor.video, only)
        faces = np.array(anchor.faces, np.float64).reshape(-1, 5)
        time = faces[:, 0]
        first, last = time.min(initial=np.inf) - _SLACK, time.max(initial=-np.inf) + _SLACK
        rows = np.flatnonzero(here & (begin <= last) & (first <= end))
        hits, near = _seen(tracks, rows, faces)
        # One face may be a neighbour's, in the same place after a cut.
        good = (hits > 0) & (hits + near >= min(2, len(faces)))
        if not hits.any():  # a glimpse that was looked at in other moments
            good = 2 * near > len(faces)
        chosen = rows[good]
        same = _same_face(anchor, tracks.describer, looks[chosen])
        found.append((chosen[same], chosen[~same]))
    return found


def _seen(tracks: TrackSet, rows: Rows, faces: NDArray[np.float64]) -> tuple[Rows, Rows]:
    """Count for each of some tracks the faces that it has: within its time, and just beside it."""
    time, boxes = faces[:, 0], faces[:, 1:]
    shared = np.zeros((len(rows), len(faces)))
    inside = np.zeros(shared.shape, bool)
    around = np.zeros(shared.shape, bool)
    for k, row in enumerate(rows.tolist()):
        own = slice(tracks.offsets[row], tracks.offsets[row + 1])
        times = tracks.time[own]
        # Where it is at a moment, between two of its faces.
        there = np.stack([np.interp(time, times, side) for side in tracks.box[own].T], axis=1)
        shared[k] = np.nan_to_num(iou(there, boxes))
        inside[k] = (times[0] <= time) & (time <= times[-1])
        around[k] = (times[0] - _SLACK <= time) & (time <= times[-1] + _SLACK) & ~inside[k]
    counts = []
    for when in (inside, around):
        value = np.where(when, shared, -1.0)
        best = (value == value.max(axis=0, initial=-1.0)) & (value >= _SAME_BOX)
        best &= np.cumsum(best, axis=0) == 1  # one track a face
        counts.append(best.sum(axis=1))
    return counts[0], counts[1]


def _same_face(anchor: Anchor, describer: str, looks: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Say which tracks have the face of an anchor; features that do not compare say nothing."""
    compares = anchor.describer == describer and len(anchor.feature) == looks.shape[1] > 0
    if not compares:
        return np.ones(len(looks), bool)
    return np.asarray(~(looks @ anchor.feature < SAME_FACE))  # not a number: it has no feature


def _overlaps(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the intersection over union of boxes, one by one."""
    low, high = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, :2] + a[:, 2:], b[:, :2] + b[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    union = a[:, 2:].prod(axis=1) + b[:, 2:].prod(axis=1) - shared
    return np.asarray(shared / np.maximum(union, 1e-9))


@dataclass(frozen=True)
class CutTracks:
    """Tracks of which some are cut.

    Attributes
    ----------
    tracks : TrackSet
        The tracks, parts in the place of those that are cut.
    origin : ndarray of int, shape (n_tracks,)
        Which track each was before all cuts, as a row.
    marks : tuple of tuples of (str, str)
        For each track the times at which it was cut, as text, and its id: before all cuts, after
        the first, and so on. The last are its own. (Times, because the same track may be cut at one
        time, made whole again, and cut at another: then its parts are called the same.)
    """

    tracks: TrackSet
    origin: Rows
    marks: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def whole(cls, tracks: TrackSet) -> CutTracks:
        """Begin with tracks that are not cut."""
        return cls(
            tracks, np.arange(len(tracks)), tuple((("", name),) for name in tracks.ids.tolist())
        )

    def place_of(self, row: int, seconds: float) -> int | None:
        """Return the first face of a track from a time on; None unless some are before it."""
        first, last = self.tracks.offsets[row : row + 2].tolist()
        found = first + int(np.searchsorted(self.tracks.time[first:last], seconds))
        return found if first < found < last else None

    def cut(self, row: int, seconds: float) -> CutTracks:
        """Return the tracks with one of them cut; the same if it has no faces on one side."""
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
        """The tracks that are parts of another."""
        return np.array([k for k, marks in enumerate(self.marks) if len(marks) > 1], np.int64)

    def looks(self, whole: Floats) -> Floats:
        """Return mean features of unit length: a part's are its own, if one of its faces has one.

        Parameters
        ----------
        whole : ndarray of shape (n, dim)
            Those of the tracks before all cuts.
        """
        found = whole[self.origin]
        for row in self.parts.tolist():
            features = self.tracks.require_features()
            faces = np.arange(*self.tracks.offsets[row : row + 2])
            faces = faces[features.described[faces]]
            if len(faces):
                found[row] = unit(features.take(faces).mean(axis=0))
        return found

    def points(self, whole: Floats, looks: Floats) -> Floats:
        """Return embeddings: a part's is the mean of those of the tracks that look most like it.

        A model that could embed it may be gone: one that was fine-tuned is not kept.

        Parameters
        ----------
        whole : ndarray of shape (n, dim)
            Those of the tracks before all cuts.
        looks : ndarray of shape (n_tracks, dim)
            As :meth:`looks` gives them.
        """
        parts = self.parts
        found = whole[self.origin]
        others = np.setdiff1d(np.arange(len(self.tracks)), parts)
        if len(others):
            for row in parts.tolist():
                near = others[np.argsort(-(looks[others] @ looks[row]), kind="stable")[:_NEAREST]]
                found[row] = unit(whole[self.origin[near]].mean(axis=0))
        return found


def unit(x: NDArray[np.floating]) -> Floats:
    """Return vectors of unit length, but for those of none."""
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.maximum(lengths, 1e-9), np.float32)


def _part_names(name: str, taken: set[str]) -> list[str]:
    """Return ids for two parts of a track that no other track has."""
    while {f"{name}a", f"{name}b"} & taken:
        name += "_"
    return [f"{name}a", f"{name}b"]


def store_anchors(
    log: Log, cut: CutTracks, rows: Sequence[int], scans: Sequence[str], looks: NDArray[np.float32]
) -> list[int]:
    """Store anchors of some tracks, parts of others among them; return their numbers."""
    made = anchors_of(cut.tracks, rows, scans, looks)
    marked = [
        replace(one, scan=one.scan + cut.marks[row][-1][0])
        for row, one in zip(rows, made, strict=True)
    ]
    return log.anchor(marked)


class Finder:
    """Finds the tracks that events speak of among those at hand.

    Parameters
    ----------
    log : Log
        Where the anchors are.
    cut : CutTracks
        The tracks at hand.
    scans : sequence of str
        The scan of each video: its own tracks are known by their ids, those of others by time, box
        and face.
    looks : ndarray of shape (n_tracks, dim)
        Their mean features, of unit length.
    renamed : bool
        As in :func:`find_anchors`.
    """

    def __init__(
        self, log: Log, cut: CutTracks, scans: Sequence[str], looks: NDArray[np.float32],
        renamed: bool = True,
    ) -> None:  # fmt: skip
        self._log = log
        self._cut = cut
        self._scans = scans
        self._looks = looks
        self._renamed = renamed
        self._place: dict[tuple[str, str], list[int]] = {}
        for row, marks in enumerate(cut.marks):
            for times, name in marks:
                self._place.setdefault((self._scan(row) + times, name), []).append(row)
        self._rows: dict[int, Rows] = {}  # of each anchor
        self._number: dict[int, int] = {}  # the anchor of a row
        self.anchors: dict[int, Anchor] = {}
        #: Anchors that were not found, and the tracks that are there with another face.
        self.missing: dict[int, Rows] = {}
        #: Of those, the anchors of the tracks that a person said they are.
        self.given: dict[int, int] = {}
        self.learn()

    def _scan(self, row: int) -> str:
        return str(self._scans[self._cut.tracks.video[row]])

    def keys(self) -> list[str]:
        """Return for each track what tells it from all tracks of all scans."""
        return [
            f"{self._scan(row)}{times} {name}"
            for row, marks in enumerate(self._cut.marks)
            for times, name in marks[-1:]
        ]

    def numbers(self, rows: Rows) -> list[int]:
        """Return the numbers of the anchors of some tracks, storing those that are new."""
        new = [row for row in rows.tolist() if row not in self._number]
        if new:
            stored = store_anchors(self._log, self._cut, new, self._scans, self._looks)
            self._number |= dict(zip(new, stored, strict=True))
            self.learn()
        return [self._number[row] for row in rows.tolist()]

    def rows(self, numbers: Iterable[int]) -> Rows:
        """Return the tracks of some anchors, as far as they are there."""
        parts = [self._rows[self.given.get(n, n)] for n in numbers]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def learn(self) -> None:
        """Take up the anchors that were stored since."""
        elsewhere = []
        for number, anchor in self._log.anchors(max(self._rows, default=0)).items():
            self.anchors[number] = anchor
            rows = self._place.get((anchor.scan, anchor.track))
            if rows is None:
                elsewhere.append(number)
                continue
            self._rows[number] = np.array(rows)
            times, name = self._cut.marks[rows[0]][-1]
            if name == anchor.track and self._scan(rows[0]) + times == anchor.scan:
                self._number[rows[0]] = number
        anchors = [self.anchors[n] for n in elsewhere]
        found = find_anchors(self._cut.tracks, anchors, self._looks, self._renamed)
        for number, (same, other) in zip(elsewhere, found, strict=True):
            self._rows[number] = same
            if not len(same):
                self.missing[number] = other
