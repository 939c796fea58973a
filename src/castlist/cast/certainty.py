"""Certainty of a character: the probability that all of its tracks show one person.

It is estimated from the features of the describer, not from embeddings: those of tracks in one
cluster have been averaged with each other. A character is certain if even its most distant track is
more similar to the rest of the character than its tracks are to other characters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Logistic regression of whether a character is one person, on its margin; and of whether a single
#: track is the only one of its person, on its similarity to others. Fitted by
#: ``datasets/fit_certainty.py``.
SLOPE, OFFSET = 4.66, 1.36
SINGLE_SLOPE, SINGLE_OFFSET = -4.86, 2.61
#: Logistic regression of whether a track is in the character of its person, on its margin.
TRACK_SLOPE, TRACK_OFFSET = 3.38, 3.16

_NEAREST = 3  # number of tracks that the similarity of a track is averaged over
_MOST, _MOST_OF_ONE = 6000, 64  # tracks that are compared, in total and per character
_ROWS = 1024  # rows of the similarity matrix per step


def certainty(features: NDArray[np.floating], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability that each cluster is right, in order of label.

    It is the logistic function of a cluster's margin, or of a single track's similarity to others;
    :func:`margins` defines both.
    """
    cohesion, others, count = margins(features, labels)
    many = _logistic(SLOPE * (cohesion - others) + OFFSET)
    single = _logistic(SINGLE_SLOPE * others + SINGLE_OFFSET)
    return np.where(count > 1, many, single)


def margins(
    features: NDArray[np.floating], labels: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the cohesion of each cluster, its similarity to others, and its number of tracks.

    The margin of a cluster is its cohesion less its similarity to others. Cohesion is the least
    mean cosine of a track to the rest of its cluster. The similarity of a track to others is the
    mean of its three largest cosines to tracks of other clusters; that of a cluster is the mean
    over its tracks. For the latter, large clusters are sampled evenly.

    Parameters
    ----------
    features : ndarray of shape (n, dim)
        Mean features of tracks.
    labels : ndarray of int, shape (n,)
        The cluster of each.
    """
    names, code, count = np.unique(labels, return_inverse=True, return_counts=True)
    if not len(names):
        return np.empty(0), np.empty(0), count
    x = _unit(features)
    cohesion = np.full(len(names), np.inf)
    np.minimum.at(cohesion, code, _to_rest(x, code, count))
    rows = _some_of_each(code, count)
    few, of_few = x[rows].astype(np.float32), code[rows]
    others = np.bincount(of_few, _to_others(few, of_few, few, of_few)) / np.bincount(of_few)
    return cohesion, others, count


def track_certainty(
    features: NDArray[np.floating], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability that each track is in the character of its person.

    It is the logistic function of :func:`track_margins`; 1 for a track that is a character by
    itself.
    """
    margin = track_margins(features, labels)
    return np.where(np.isnan(margin), 1.0, _logistic(TRACK_SLOPE * margin + TRACK_OFFSET))


def track_margins(features: NDArray[np.floating], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much more similar each track is to its own cluster than to others.

    It is the mean cosine to the rest of its cluster, less the mean of its three largest cosines to
    tracks of other clusters (large clusters are sampled); NaN for a cluster of one track.

    Parameters
    ----------
    features : ndarray of shape (n, dim)
        Mean features of tracks.
    labels : ndarray of int, shape (n,)
        The cluster of each.
    """
    names, code, count = np.unique(labels, return_inverse=True, return_counts=True)
    if not len(names):
        return np.empty(0)
    x = _unit(features)
    own = np.where(count[code] > 1, _to_rest(x, code, count), np.nan)
    rows = _some_of_each(code, count)
    few = x[rows].astype(np.float32)
    return np.asarray(own - _to_others(x.astype(np.float32), code, few, code[rows]))


def _unit(features: NDArray[np.floating]) -> NDArray[np.float64]:
    x = np.asarray(features, np.float64)
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def _to_rest(
    x: NDArray[np.float64], code: NDArray[np.int64], count: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean cosine of each track to the rest of its cluster."""
    total = np.zeros((len(count), x.shape[1]))
    np.add.at(total, code, x)
    return np.asarray(((x * total[code]).sum(axis=1) - 1) / np.maximum(count - 1, 1)[code])


def _to_others(
    x: NDArray[np.float32],
    code: NDArray[np.int64],
    few: NDArray[np.float32],
    code_of_few: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the mean of each track's largest cosines to some tracks of other clusters; or 0."""
    similar = np.empty(len(x))
    most = min(_NEAREST, len(few))
    for start in range(0, len(x), _ROWS):
        part = slice(start, start + _ROWS)
        cosine = np.where(code[part, None] == code_of_few, -np.inf, x[part] @ few.T)
        top = np.partition(cosine, len(few) - most, axis=1)[:, -most:].astype(np.float64)
        there = np.isfinite(top)
        similar[part] = np.where(there, top, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return similar


def _some_of_each(code: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows of every cluster in order, sampled evenly from large clusters."""
    most = int(np.clip(_MOST // len(count), 2, _MOST_OF_ONE))
    order = np.argsort(code, kind="stable")
    place = np.arange(len(code)) - (np.cumsum(count) - count)[code[order]]
    step = np.maximum(count / most, 1.0)[code[order]]
    # The first row of each of ``most`` equal stretches.
    return np.sort(order[np.floor(place / step) != np.floor((place - 1) / step)])


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-x)))
