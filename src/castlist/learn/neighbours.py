"""Neighbour averaging: replace each embedding by a mean of those near it in the same video.

Complete linkage depends on the two tracks of a character that are farthest apart, and among
hundreds of tracks some are always bad. Averaging moves a blurred track to the good tracks of the
same person; a person with a single track stays in place.

Evidence other than faces enters here: tracks that share a frame are not averaged with each other,
and tracks at the same place of the same camera set-up are, even if one face is turned away.

``network.py`` has the same formula with gradient, for training.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from castlist.parallel import in_threads

Pairs = NDArray[np.int64]
Floats = NDArray[np.floating]

#: Number of rows of the cosine matrix per block.
_ROWS = 512
#: Tolerance for one cosine computed in blocks of different sizes.
ROUNDING = 1e-6
#: Added to the cosine of two points that are one person by other evidence.
_BONUS = 1.0


def average_neighbours(
    points: Floats,
    reach: float,
    rounds: int,
    nearest: float = 0.0,
    together: Pairs | None = None,
    apart: Pairs | None = None,
) -> Floats:
    """Return points on the unit sphere, each replaced by a mean of its neighbours and itself.

    z_i ← unit(Σ_j [s_ij − reach]₊ z_j), repeated ``rounds`` times. The similarity s_ij is the
    cosine, plus 1 for pairs of ``together``. The result does not depend on the number of threads.

    Parameters
    ----------
    points : ndarray of shape (n, D)
        Points of unit length.
    reach : float
        Similarity above which two points are neighbours.
    rounds : int
        Number of rounds.
    nearest : float
        Two points are neighbours only if one of them is among the k points most similar to the
        other, itself included, with k = ``nearest`` · √n. Without this limit, the means of two
        people who look alike and have many tracks move together. A person has more tracks in a
        longer video, so k grows with n. 0 for no limit.
    together : ndarray of int, shape (m, 2), optional
        Pairs that are probably one person, by evidence other than their cosine.
    apart : ndarray of int, shape (m, 2), optional
        Pairs of two people. They are never neighbours.
    """
    bonus, never = _by_row(together), _by_row(apart)
    for _ in range(rounds):
        points = _averaged_once(points, reach, neighbour_count(len(points), nearest), bonus, never)
    return points


def neighbour_count(n: int, nearest: float) -> int | None:
    """Return the maximum number of neighbours of one point among n, itself included.

    None if there is no limit.
    """
    count = max(2, round(nearest * n**0.5))
    return count if nearest and count < n else None


def _averaged_once(
    points: Floats, reach: float, count: int | None, bonus: Pairs, never: Pairs
) -> Floats:
    n = len(points)
    least = np.full(n, reach, points.dtype)
    means = np.empty_like(points)
    starts = range(0, n, _ROWS)
    if count is not None:

        def least_of(start: int) -> Floats:
            similarity = _similarity(points, start, bonus)
            similarity.partition(n - count, axis=1)
            return similarity[:, n - count].copy()

        for start, last in in_threads(starts, least_of):
            least[start : start + _ROWS] = last - ROUNDING

    def mean_of(start: int) -> Floats:
        weights = _similarity(points, start, bonus)
        near = weights >= np.minimum(least[start : start + _ROWS, None], least)
        weights -= reach
        np.maximum(weights, 0, out=weights)
        weights *= near
        weights[_places(never, start)] = 0
        return weights @ points

    for start, mean in in_threads(starts, mean_of):
        means[start : start + _ROWS] = mean
    return unit(means)


def unit(points: Floats) -> Floats:
    """Return points scaled to length 1. A point at the origin stays there."""
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    return np.asarray(points / np.maximum(norms, 1e-12)[:, None])


def _similarity(points: Floats, start: int, bonus: Pairs) -> Floats:
    """Return the similarity of the block of points from ``start`` on to all points."""
    similarity = points[start : start + _ROWS] @ points.T
    similarity[_places(bonus, start)] += _BONUS
    return np.asarray(similarity)


def _places(pairs: Pairs, start: int) -> tuple[Pairs, Pairs]:
    """Return rows and columns of pairs in the block of rows from ``start`` on."""
    first, last = np.searchsorted(pairs[:, 0], [start, start + _ROWS])
    return pairs[first:last, 0] - start, pairs[first:last, 1]


def _by_row(pairs: Pairs | None) -> Pairs:
    """Return pairs in both directions, sorted by their first point."""
    if pairs is None or not len(pairs):
        return np.empty((0, 2), np.int64)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return both[np.argsort(both[:, 0], kind="stable")]
