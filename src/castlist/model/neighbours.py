"""Neighbour averaging: replace each embedding by a mean of those near it in the same video.

Complete linkage depends on the two tracks of a character that are farthest apart, and among
hundreds of tracks some are always bad. Averaging moves a blurred track to the good tracks of the
same person; a person with a single track stays in place.

The more people there are in a video, the more pairs of them look alike by chance. So the similarity
from which on two tracks are neighbours is chosen for each video (:func:`reach_of`).

Evidence other than faces enters here: tracks that share a frame are not averaged with each other,
and tracks at the same place of the same camera set-up are, even if one face is turned away.

``research/training/network.py`` has the same formula with gradient, for training.
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
#: Maximum number of rounds; points have stopped moving long before.
MAX_ROUNDS = 100
#: Number of quantiles of the cosines of different people that a model keeps.
N_QUANTILES = 16
#: Maximum number of points that these are computed from.
_MAX_STRANGERS = 3000
#: Steps in which a reach is chosen, and its maximum: a higher one splits people with few tracks.
_STEP = 0.005
_MAX_REACH = 0.4


def cosines_of_strangers(
    points: Floats, labels: NDArray[np.int64], seed: int = 0
) -> NDArray[np.float32]:
    """Return quantiles of the cosines of different people: the k-th is exceeded by 2^−k of them.

    Parameters
    ----------
    points : ndarray of shape (n, D)
        Points of unit length. At most 3,000 of them are used, drawn by ``seed``.
    labels : ndarray of int, shape (n,)
        Whom each point shows.
    """
    rows = np.random.default_rng(seed).permutation(len(points))[:_MAX_STRANGERS]
    different = labels[rows][:, None] != labels[rows]
    cosines = (points[rows] @ points[rows].T)[np.triu(different)]
    shares = 1 - 0.5 ** np.arange(1, N_QUANTILES + 1)
    return np.asarray(np.quantile(cosines, shares), np.float32)


def reach_of(points: Floats, least: float, false_rate: float, strangers: Floats) -> float:
    """Return the reach for the points of a video, from ``least`` to 0.4.

    It is the lowest reach at which expected false pairs are at most ``false_rate`` of the pairs
    found, or at most one. As many false pairs are expected as there would be if every point were a
    different person. The result does not depend on the number of threads.

    Parameters
    ----------
    points : ndarray of shape (n, D)
        Points of unit length.
    least : float
        Minimum.
    false_rate : float
        Maximum share of false pairs among pairs of neighbours. 0 returns the minimum.
    strangers : ndarray of shape (16,)
        What :func:`cosines_of_strangers` returned for the model.
    """
    n = len(points)
    if not false_rate or n < 2:
        return least
    reaches = np.arange(least, max(_MAX_REACH, least) + _STEP / 2, _STEP)

    def count(start: int) -> NDArray[np.int64]:
        similarity = points[start : start + _ROWS] @ points.T
        steps = ((similarity[similarity >= least] - least) / _STEP).astype(np.int64)
        last = len(reaches) - 1
        return np.bincount(np.minimum(steps, last), minlength=len(reaches))

    at_step = np.zeros(len(reaches), np.int64)
    for _, some in in_threads(range(0, n, _ROWS), count):
        at_step += some
    found = (np.cumsum(at_step[::-1])[::-1] - n) // 2  # without each point and itself
    logarithm = np.interp(reaches, strangers, -np.arange(1.0, N_QUANTILES + 1))
    expected = 2**logarithm * n * (n - 1) / 2
    good = (expected <= false_rate * found) | (expected <= 1)
    return float(reaches[np.argmax(good)] if good.any() else reaches[-1])


def average_neighbours(
    points: Floats,
    reach: float,
    rounds: int,
    nearest: float = 0.0,
    share: float = 0.0,
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
    share : float
        Two points are neighbours only if their similarity is at least ``share`` times the cosine of
        one of them to the point most similar to it. A point with good neighbours needs no weak
        ones, which are often other people; a blurred point has only weak ones. 0 for no limit.
    together : ndarray of int, shape (m, 2), optional
        Pairs that are probably one person, by evidence other than their cosine.
    apart : ndarray of int, shape (m, 2), optional
        Pairs of two people. They are never neighbours.
    """
    bonus, never = _by_row(together), _by_row(apart)
    for _ in range(rounds):
        count = neighbour_count(len(points), nearest)
        points = _averaged_once(points, reach, count, share, bonus, never)
    return points


def neighbour_count(n: int, nearest: float) -> int | None:
    """Return the maximum number of neighbours of one point among n, itself included.

    None if there is no limit.
    """
    count = max(2, round(nearest * n**0.5))
    return count if nearest and count < n else None


def _averaged_once(
    points: Floats,
    reach: float,
    count: int | None,
    share: float,
    bonus: Pairs,
    never: Pairs,
) -> Floats:
    n = len(points)
    # The least similarity of a neighbour of each point, by rank and by share.
    least = np.full((2, n), reach, points.dtype)
    means = np.empty_like(points)
    starts = range(0, n, _ROWS)
    if n > 1 and (count is not None or share):
        ranks = [n - (count or n), n - 2]  # the most similar point is the point itself

        def least_of(start: int) -> Floats:
            similarity = _similarity(points, start, bonus)
            similarity.partition(ranks, axis=1)
            return similarity[:, ranks].T

        for start, (last, best) in in_threads(starts, least_of):
            own = slice(start, start + _ROWS)
            if count is not None:
                least[0, own] = last - ROUNDING
            if share:
                least[1, own] = share * np.minimum(best, 1) - ROUNDING

    def mean_of(start: int) -> Floats:
        weights = _similarity(points, start, bonus)
        near = np.ones(weights.shape, bool)
        for rule in least:
            near &= weights >= np.minimum(rule[start : start + _ROWS, None], rule)
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
