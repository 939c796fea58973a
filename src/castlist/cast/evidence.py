"""Evidence that two characters, or two parts of one, are the same person, and its probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import unit
from castlist.cast.links import not_waived
from castlist.cast.matching import Balls
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Weights and intercepts of logistic regressions on the evidence, fitted on recast validation and
#: on five real clips (benchmarks/bench_review.py --fit).
BETWEEN = np.array([6.468, 2.379, -1.03, -0.17, -2.723, 0.482, 0.036, 1.133])
ODDS_BETWEEN = -6.531
INSIDE = np.array([3.553, 0.061, 8.983, -8.515, 0.419, 0.525, 0.601])
ODDS_INSIDE = -3.632
#: Seconds. Tracks are near in time if they start in the same or in neighbouring intervals.
_STRETCH = 30.0


@dataclass(frozen=True)
class Facts:
    """Facts about tracks besides their embeddings, independent of their characters.

    Attributes
    ----------
    mean_features : ndarray of shape (n_tracks, dim)
        Mean features of unit length. Embeddings of tracks in one cluster are similar, and so say
        less about whether the cluster is right.
    overlaps : ndarray of shape (m, 2)
        Pairs of tracks that share a frame.
    faces : ndarray of shape (n_tracks,)
        The number of faces of each.
    large : ndarray of shape (n_tracks,)
        The logarithm of its mean face width, relative to the median of the video.
    stretch : ndarray of shape (n_tracks,)
        The interval of time in which it starts; intervals of two videos are never neighbours.
    """

    mean_features: NDArray[np.float32]
    overlaps: Rows
    faces: Floats
    large: Floats
    stretch: Rows

    @classmethod
    def of(
        cls, tracks: TrackSet, mean_features: NDArray[np.float32] | None = None,
        overlaps: Rows | None = None,
    ) -> Facts:  # fmt: skip
        """Return the facts of tracks; mean features and shared frames are computed if not given."""
        if not len(tracks):
            nothing = np.empty(0)
            none = np.empty(0, np.int64)
            return cls(np.empty((0, 0), np.float32), none.reshape(0, 2), nothing, nothing, none)
        first = tracks.offsets[:-1]
        wide = np.add.reduceat(np.nan_to_num(tracks.box[:, 2]), first) / tracks.face_counts
        large = np.log(np.maximum(wide, 1.0))
        stretch = np.floor(np.nan_to_num(tracks.time[first]) / _STRETCH)
        return cls(
            unit(tracks.mean_features()) if mean_features is None else mean_features,
            tracks.overlaps() if overlaps is None else overlaps, tracks.face_counts.astype(float),
            large - np.median(large), _numbered(tracks.video, stretch),
        )  # fmt: skip


@dataclass(frozen=True)
class Groups:
    """Properties of groups of tracks: characters, or parts of one.

    Attributes
    ----------
    mean_embeddings, mean_features : ndarray of shape (n, dim)
        Their mean embeddings and features, of unit length.
    sizes : ndarray of shape (n,)
        Their numbers of tracks.
    faces, large : ndarray of shape (n,)
        The mean over their tracks of the logarithm of the number of faces, and of ``Facts.large``.
    seen : ndarray of shape (n, n_stretches)
        The number of their tracks that start in each interval of time.
    """

    mean_embeddings: Floats
    mean_features: Floats
    sizes: Rows
    faces: Floats
    large: Floats
    seen: Floats

    @classmethod
    def of(cls, points: NDArray[np.floating], facts: Facts, place: Rows) -> Groups:
        """Return the groups of tracks; ``place`` is the group of each, -1 for none."""
        rows = np.flatnonzero(place >= 0)
        place = place[rows]
        sizes = np.bincount(place)
        seen = np.zeros((len(sizes), int(facts.stretch.max(initial=0)) + 1))
        np.add.at(seen, (place, facts.stretch[rows]), 1)
        means = [_unit(Balls.of(x[rows], place).sums) for x in (points, facts.mean_features)]
        faces = np.bincount(place, np.log(facts.faces[rows])) / sizes
        large = np.bincount(place, facts.large[rows]) / sizes
        return cls(means[0], means[1], sizes, faces, large, seen)

    def some(self, which: slice) -> Groups:
        """Return a slice of the groups."""
        return Groups(*(getattr(self, column.name)[which] for column in fields(self)))


def between(a: Groups, b: Groups, shared: Rows) -> Floats:
    """Return the evidence for each pair of groups that they are one person.

    Parameters
    ----------
    a, b : Groups
        n and m groups.
    shared : ndarray of shape (n, m)
        The number of pairs of their tracks that share a frame.

    Returns
    -------
    ndarray of shape (n, m, 8)
        The cosines of their mean embeddings and of their mean features; the logarithms of the
        number of tracks of the smaller and of the larger group, and of one plus the number of pairs
        that share a frame; ``faces`` and ``large`` of the smaller group; and how many tracks of the
        larger group are near in time to those of the smaller one.
    """
    logs = np.log(a.sizes), np.log(b.sizes)
    smaller = a.sizes[:, None] <= b.sizes[None, :]  # whether it is the first of the two
    near = a.seen @ np.log1p(_around(b.seen)).T / a.sizes[:, None]
    back = b.seen @ np.log1p(_around(a.seen)).T / b.sizes[:, None]
    return np.stack(
        [
            a.mean_embeddings @ b.mean_embeddings.T, a.mean_features @ b.mean_features.T,
            np.minimum.outer(*logs), np.maximum.outer(*logs), np.log1p(shared),
            np.where(smaller, a.faces[:, None], b.faces[None, :]),
            np.where(smaller, a.large[:, None], b.large[None, :]),
            np.where(smaller, near, back.T),
        ],
        axis=-1,
    )  # fmt: skip


def inside(
    points: NDArray[np.floating], facts: Facts, rows: Rows, parts: NDArray[np.bool_],
    others: Sequence[Floats],
) -> Floats:  # fmt: skip
    """Return the evidence for each part of a character that it and the rest are one person.

    Parameters
    ----------
    points, facts
        Embeddings, and facts about the tracks.
    rows : ndarray of int
        The tracks of the character.
    parts : ndarray of bool, shape (m, n_rows)
        The tracks of each part.
    others : sequence of two ndarrays
        The mean embeddings and features of all other characters, of unit length.

    Returns
    -------
    ndarray of shape (m, 7)
        The cosine of the mean embeddings of part and rest, and of the part and the nearest other
        character; the same for features; the logarithms of the number of tracks of the part and of
        the rest; and how many tracks of the rest are near in time.
    """
    member = parts.astype(float)
    sizes = parts.sum(axis=1)
    columns = []
    for x, elsewhere in zip((points, facts.mean_features), others, strict=True):
        # Without other characters, the cosine to the nearest one counts as 0.
        sums = member @ x[rows]
        one, rest = _unit(sums), _unit(x[rows].sum(axis=0) - sums)
        columns += [(one * rest).sum(axis=1), (one @ elsewhere.T).max(axis=1, initial=0)]
    stretches, code = np.unique(facts.stretch[rows], return_inverse=True)
    seen = np.zeros((len(rows), int(np.ptp(stretches)) + 1))
    seen[np.arange(len(rows)), (stretches - stretches[0])[code]] = 1
    of_part = member @ seen
    of_rest = seen.sum(axis=0) - of_part
    near = (of_part * np.log1p(_around(of_rest))).sum(axis=1) / sizes
    return np.column_stack([*columns, np.log(sizes), np.log(len(rows) - sizes), near])


def likely_between(evidence: Floats) -> Floats:
    """Return the probability that two characters are one person."""
    return _logistic(evidence @ BETWEEN + ODDS_BETWEEN)


def likely_inside(evidence: Floats) -> Floats:
    """Return the probability that a part of a character is the same person as the rest."""
    return _logistic(evidence @ INSIDE + ODDS_INSIDE)


def _logistic(odds: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -odds)))  # does not overflow


def shared_frames(
    a: Rows, b: Rows, overlaps: Rows, waived: set[tuple[int, int]]
) -> NDArray[np.int64]:
    """Return the number of track pairs of each two groups that share a frame and are not waived.

    ``a`` and ``b`` are the group of each track on either side; -1 for none.
    """
    counts = np.zeros((int(a.max()) + 1, int(b.max()) + 1), np.int64)
    one, other = not_waived(overlaps, waived).T
    for i, j in ((one, other), (other, one)):
        known = (a[i] >= 0) & (b[j] >= 0)
        np.add.at(counts, (a[i[known]], b[j[known]]), 1)
    return counts


def _numbered(video: NDArray[np.integer], stretch: Floats) -> Rows:
    """Return numbers of the intervals in which tracks start, without those that have no tracks.

    Neighbouring intervals have consecutive numbers; between others is a gap of one number, however
    long the time between them is.
    """
    order = np.lexsort((stretch, video))
    same = np.diff(video[order]) == 0
    steps = np.where(same, np.minimum(np.diff(stretch[order]), 2), 2)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(steps)])
    return numbers


def _around(seen: Floats) -> Floats:
    """Return the counts of each interval plus those of its neighbours."""
    around = seen.copy()
    around[:, 1:] += seen[:, :-1]
    around[:, :-1] += seen[:, 1:]
    return around


def _unit(x: Floats) -> Floats:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9))
