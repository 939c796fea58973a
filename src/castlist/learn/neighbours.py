"""Neighbours: a track's embedding becomes the mean of those near it, in the same video.

Complete linkage looks at the two tracks of a character that are farthest apart, and among hundreds
there are always two bad ones. Averaged with its neighbours, a blurred track of somebody who has
good ones as well stands where the good ones do; somebody with one track stays where they are.

What is known of two tracks besides their faces goes in here: tracks that share a frame are not
averaged, and tracks at one place of one camera set-up are, also if the face is turned away in one.

A model is trained through the same formula, with gradient, in ``network.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from castlist.parallel import in_threads

Pairs = NDArray[np.int64]
Floats = NDArray[np.floating]

#: Rows of a matrix of cosines at once.
_ROWS = 512
#: Of a cosine: the same one, computed in blocks of another size.
ROUNDING = 1e-6
#: What is added to the cosine of two points that are one person by other evidence.
_TOGETHER = 1.0


def average_neighbours(
    points: Floats,
    reach: float,
    rounds: int,
    nearest: float = 0.0,
    together: Pairs | None = None,
    apart: Pairs | None = None,
) -> Floats:
    """Replace every point of the unit sphere by a mean of its neighbours, itself among them.

    z_i ← unit(Σ_j [s_ij − reach]₊ z_j), repeated ``rounds`` times, where the similarity s_ij is the
    cosine, and one more for pairs of ``together``. The result does not depend on the number of
    threads.

    Parameters
    ----------
    points : ndarray of shape (n, D)
        Of unit length.
    reach : float
        Similarity above which two points are neighbours.
    rounds : int
        Number of rounds.
    nearest : float
        Two points are neighbours only if one of them is among the k most similar to the other,
        itself included, with k = ``nearest`` · √n. Without that bound, the means of two people who
        look alike and have many tracks move together. In a longer video a person has more tracks,
        so k grows with n. 0 is no bound.
    together : ndarray of int, shape (m, 2), optional
        Pairs that are probably one person by other evidence than their cosine.
    apart : ndarray of int, shape (m, 2), optional
        Pairs that are two people, and never neighbours.
    """
    more, never = _by_row(together), _by_row(apart)
    for _ in range(rounds):
        points = _averaged_once(points, reach, neighbour_count(len(points), nearest), more, never)
    return points


def neighbour_count(n: int, nearest: float) -> int | None:
    """Return the most neighbours of one point among n, itself included; None if any number."""
    count = max(2, round(nearest * n**0.5))
    return count if nearest and count < n else None


def _averaged_once(
    points: Floats, reach: float, count: int | None, more: Pairs, never: Pairs
) -> Floats:
    n = len(points)
    least = np.full(n, reach, points.dtype)
    means = np.empty_like(points)
    starts = range(0, n, _ROWS)
    if count is not None:

        def last_of(start: int) -> Floats:
            similarity = _similarity(points, start, more)
            similarity.partition(n - count, axis=1)
            return similarity[:, n - count].copy()

        for start, last in in_threads(starts, last_of):
            least[start : start + _ROWS] = last - ROUNDING

    def mean_of(start: int) -> Floats:
        weights = _similarity(points, start, more)
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
    """Return points scaled to length 1; one at the origin stays there."""
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    return np.asarray(points / np.maximum(norms, 1e-12)[:, None])


def _similarity(points: Floats, start: int, more: Pairs) -> Floats:
    """Return the similarity of a block of points to all."""
    similarity = points[start : start + _ROWS] @ points.T
    similarity[_places(more, start)] += _TOGETHER
    return np.asarray(similarity)


def _places(pairs: Pairs, start: int) -> tuple[Pairs, Pairs]:
    """Return where pairs are in the block of rows that begins at ``start``."""
    first, last = np.searchsorted(pairs[:, 0], [start, start + _ROWS])
    return pairs[first:last, 0] - start, pairs[first:last, 1]


def _by_row(pairs: Pairs | None) -> Pairs:
    """Return pairs in both directions, in order of their first point."""
    if pairs is None or not len(pairs):
        return np.empty((0, 2), np.int64)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return both[np.argsort(both[:, 0], kind="stable")]
