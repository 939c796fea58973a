"""How sure a character is: whether its tracks are closer to each other than to anybody else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROWS = 512  # of all pairs of clusters at once: of 20,000 clusters 80 MB a matrix


def certainty(
    embeddings: NDArray[np.floating], labels: NDArray[np.int64], typical: float = 0.0
) -> NDArray[np.float64]:
    """Return one value a cluster, in order of label, 0 (a guess) to 1.

    It is 1 − own / nearest: how far members are from each other, over how far they are from the
    nearest other cluster, both mean squared distances, which means and norms of clusters are enough
    for. A single track is taken to be spread as the others are, on average; where all are single,
    as ``typical`` says.
    """
    x = np.asarray(embeddings, np.float64)
    names, code, count = np.unique(labels, return_inverse=True, return_counts=True)
    if not len(names):
        return np.empty(0)
    mean = np.zeros((len(names), x.shape[1]))
    np.add.at(mean, code, x)
    mean /= count[:, None]
    square = np.square(x).sum(axis=1)
    spread = np.bincount(code, square) / count - np.square(mean).sum(axis=1)
    spread = np.maximum(spread, 0)  # mean squared distance to the middle of the cluster
    own = 2 * spread * count / np.maximum(count - 1, 1)  # … to the other members
    nearest = np.full(len(names), np.inf)
    for start in range(0, len(names), _ROWS):
        part = slice(start, start + _ROWS)
        between = np.square(mean[part]).sum(axis=1)[:, None] + np.square(mean).sum(axis=1)
        between = between - 2 * mean[part] @ mean.T + spread[part, None] + spread
        between[np.arange(between.shape[0]), start + np.arange(between.shape[0])] = np.inf
        nearest[part] = between.min(axis=1)
    many = count > 1
    usual = float(np.average(own[many], weights=count[many])) if many.any() else typical
    own = np.where(many, own, usual)
    sure = np.where(np.isinf(nearest), 1.0, 1 - own / np.maximum(nearest, 1e-12))
    return np.clip(sure, 0.0, 1.0)
