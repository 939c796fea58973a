"""What speaks for two characters, or two parts of one, being one person; and how likely that is."""

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

#: Weights of the evidence, in its order, and where it begins. Fitted on recast validation and on
#: five real clips (benchmarks/bench_review.py --fit).
BETWEEN = np.array([6.468, 2.379, -1.03, -0.17, -2.723, 0.482, 0.036, 1.133])
ODDS_BETWEEN = -6.531
INSIDE = np.array([3.553, 0.061, 8.983, -8.515, 0.419, 0.525, 0.601])
ODDS_INSIDE = -3.632
#: Tracks are near in time if they begin in the same, or neighbouring, stretches of so many seconds.
_STRETCH = 30.0


@dataclass(frozen=True)
class Facts:
    """What is known of tracks beside their embeddings, whoever they are.

    Attributes
    ----------
    looks : ndarray of shape (n_tracks, dim)
        Mean features of unit length: embeddings of tracks that were clustered together are alike,
        and say less of whether they should have been.
    overlaps : ndarray of shape (m, 2)
        Tracks that share a frame.
    faces : ndarray of shape (n_tracks,)
        How many faces each has.
    large : ndarray of shape (n_tracks,)
        The logarithm of how wide its faces are, to the usual in this video.
    stretch : ndarray of shape (n_tracks,)
        In which stretch of time it begins; those of two videos are never neighbours.
    """

    looks: NDArray[np.float32]
    overlaps: Rows
    faces: Floats
    large: Floats
    stretch: Rows

    @classmethod
    def of(
        cls, tracks: TrackSet, looks: NDArray[np.float32] | None = None,
        overlaps: Rows | None = None,
    ) -> Facts:  # fmt: skip
        """Read them off tracks; mean features and shared frames too, if they are not given."""
        if not len(tracks):
            nothing = np.empty(0)
            none = np.empty(0, np.int64)
            return cls(np.empty((0, 0), np.float32), none.reshape(0, 2), nothing, nothing, none)
        first = tracks.offsets[:-1]
        wide = np.add.reduceat(np.nan_to_num(tracks.box[:, 2]), first) / tracks.face_counts
        large = np.log(np.maximum(wide, 1.0))
        stretch = np.floor(np.nan_to_num(tracks.time[first]) / _STRETCH)
        return cls(
            unit(tracks.mean_features()) if looks is None else looks,
            tracks.overlaps() if overlaps is None else overlaps, tracks.face_counts.astype(float),
            large - np.median(large), _numbered(tracks.video, stretch),
        )  # fmt: skip


@dataclass(frozen=True)
class Groups:
    """What is known of groups of tracks: characters, or parts of one.

    Attributes
    ----------
    towards, looks : ndarray of shape (n, dim)
        Their mean embeddings and features, of unit length.
    sizes : ndarray of shape (n,)
        How many tracks they have.
    faces, large : ndarray of shape (n,)
        How many faces their tracks have, as a logarithm, and how large those are, on average.
    seen : ndarray of shape (n, n_stretches)
        How many of their tracks begin in each stretch of time.
    """

    towards: Floats
    looks: Floats
    sizes: Rows
    faces: Floats
    large: Floats
    seen: Floats

    @classmethod
    def of(cls, points: NDArray[np.floating], facts: Facts, place: Rows) -> Groups:
        """Group tracks by their place; -1 is in none."""
        rows = np.flatnonzero(place >= 0)
        place = place[rows]
        sizes = np.bincount(place)
        seen = np.zeros((len(sizes), int(facts.stretch.max(initial=0)) + 1))
        np.add.at(seen, (place, facts.stretch[rows]), 1)
        means = [_unit(Balls.of(x[rows], place).sums) for x in (points, facts.looks)]
        faces = np.bincount(place, np.log(facts.faces[rows])) / sizes
        large = np.bincount(place, facts.large[rows]) / sizes
        return cls(means[0], means[1], sizes, faces, large, seen)

    def some(self, which: slice) -> Groups:
        """Return some of them."""
        return Groups(*(getattr(self, column.name)[which] for column in fields(self)))


def between(a: Groups, b: Groups, shared: Rows) -> Floats:
    """Return what speaks for every one of some groups and of others being one person.

    Parameters
    ----------
    a, b : Groups
        Of n and of m groups.
    shared : ndarray of shape (n, m)
        How many pairs of their tracks share a frame.

    Returns
    -------
    ndarray of shape (n, m, 8)
        The cosines of their mean embeddings and mean features; of the smaller and of the larger,
        the logarithm of how many tracks it has; of one plus the pairs that share a frame; of the
        smaller's tracks, how many faces they have and how large those are; and how many tracks of
        the larger are near in time.
    """
    logs = np.log(a.sizes), np.log(b.sizes)
    smaller = a.sizes[:, None] <= b.sizes[None, :]  # whether it is the first of the two
    near = a.seen @ np.log1p(_around(b.seen)).T / a.sizes[:, None]
    back = b.seen @ np.log1p(_around(a.seen)).T / b.sizes[:, None]
    return np.stack(
        [
            a.towards @ b.towards.T, a.looks @ b.looks.T,
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
    """Return what speaks for parts of a character and the rest of it being one person.

    Parameters
    ----------
    points, facts
        As of :func:`between`.
    rows : ndarray of int
        The tracks of the character.
    parts : ndarray of bool, shape (m, n_rows)
        Which of them are in each part.
    others : sequence of two ndarrays
        The mean embeddings and features of all other characters, of unit length.

    Returns
    -------
    ndarray of shape (m, 7)
        The cosines of the part's and the rest's mean embeddings, and of the part's and the
        nearest other character's; the same of features; the logarithms of how many tracks the part
        and the rest have; and how many tracks of the rest are near in time.
    """
    member = parts.astype(float)
    sizes = parts.sum(axis=1)
    told = []
    for x, elsewhere in zip((points, facts.looks), others, strict=True):
        # If there is nobody else, a stranger takes the place of the nearest: their cosine is 0.
        sums = member @ x[rows]
        one, rest = _unit(sums), _unit(x[rows].sum(axis=0) - sums)
        told += [(one * rest).sum(axis=1), (one @ elsewhere.T).max(axis=1, initial=0)]
    stretches, code = np.unique(facts.stretch[rows], return_inverse=True)
    seen = np.zeros((len(rows), int(np.ptp(stretches)) + 1))
    seen[np.arange(len(rows)), (stretches - stretches[0])[code]] = 1
    of_part = member @ seen
    of_rest = seen.sum(axis=0) - of_part
    near = (of_part * np.log1p(_around(of_rest))).sum(axis=1) / sizes
    return np.column_stack([*told, np.log(sizes), np.log(len(rows) - sizes), near])


def likely_between(evidence: Floats) -> Floats:
    """Say how likely two characters are one person."""
    return _logistic(evidence @ BETWEEN + ODDS_BETWEEN)


def likely_inside(evidence: Floats) -> Floats:
    """Say how likely a part of a character is the same person as the rest."""
    return _logistic(evidence @ INSIDE + ODDS_INSIDE)


def _logistic(odds: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0, -odds)))  # which overflows nowhere


def shared_frames(
    a: Rows, b: Rows, overlaps: Rows, waived: set[tuple[int, int]]
) -> NDArray[np.int64]:
    """Count the pairs of tracks of every two groups that share a frame and are not waived.

    ``a`` and ``b`` are the places of all tracks in the groups of each side.
    """
    counts = np.zeros((int(a.max()) + 1, int(b.max()) + 1), np.int64)
    one, other = not_waived(overlaps, waived).T
    for i, j in ((one, other), (other, one)):
        known = (a[i] >= 0) & (b[j] >= 0)
        np.add.at(counts, (a[i[known]], b[j[known]]), 1)
    return counts


def _numbered(video: NDArray[np.integer], stretch: Floats) -> Rows:
    """Give numbers to the stretches of time in which tracks begin, and to no others.

    Neighbours have neighbouring numbers, and nobody else has: there is a gap of one number, however
    long the time between, or the series, is.
    """
    order = np.lexsort((stretch, video))
    same = np.diff(video[order]) == 0
    steps = np.where(same, np.minimum(np.diff(stretch[order]), 2), 2)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.concatenate([[0], np.cumsum(steps)])
    return numbers


def _around(seen: Floats) -> Floats:
    """Add the neighbouring stretches of time to each."""
    around = seen.copy()
    around[:, 1:] += seen[:, :-1]
    around[:, :-1] += seen[:, 1:]
    return around


def _unit(x: Floats) -> Floats:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9))
