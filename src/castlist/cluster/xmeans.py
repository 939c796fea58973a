"""X-means (Pelleg and Moore, ICML 2000): K-means that splits clusters while BIC prefers it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.cluster.kmeans import lloyd, means_of, split_in_rounds


def x_means(points: ArrayLike, *, k_max: int, seed: int = 0) -> NDArray[np.int64]:
    """Cluster rows by X-means.

    All rows start in one cluster. In every round each cluster is split by 2-means where the BIC
    of its points is higher with two centres than with one; then K-means improves all centres.

    In few dimensions, clusters spread evenly may stay one: no two centres are better than one
    there, although more would be.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points, usually embeddings.
    k_max : int
        Stop after the round that made more clusters than this (paper, supplement: "when a
        maximum number of clusters has been crossed"), so there may be up to twice as many.
    seed : int
        The same seed gives the same labels.

    Returns
    -------
    ndarray of int64, shape (n,)
        The cluster of each row, numbered in order of first appearance.
    """

    def split(cluster: NDArray[np.float64]) -> NDArray[np.float64]:
        one = np.zeros(len(cluster), np.int64)
        two = lloyd(cluster, 2, n_init=10, random_state=seed)
        return means_of(cluster, two if bic(cluster, two) > bic(cluster, one) else one)

    return split_in_rounds(points, split, k_max)


def bic(points: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Bayesian information criterion of a clustering, more is better.

    The model is a spherical Gaussian a cluster, of one variance σ² for all, its weight the share
    of the points in it, and every point is of its own cluster only:

        BIC = Σ_i log( R_k(i)/R · N(x_i; μ_k(i), σ² I) ) − p/2 · log R
        σ²  = Σ_i ‖x_i − μ_k(i)‖² / (M (R − K))
        p   = (K − 1) + M K + 1

    for R points of M dimensions in K clusters. As printed, the paper's σ² lacks the M and its
    density has (2π)^½ for (2π)^(M/2); that is a Gaussian for M = 1 only, so this is put right.

    Parameters
    ----------
    points : ndarray of shape (n, dim)
        Points.
    labels : ndarray of int, shape (n,)
        Their clusters, 0 to K − 1, none of them empty.

    Returns
    -------
    float
        −∞ if there are too few points to estimate σ², ∞ if every point is its cluster's mean.
    """
    sizes = np.bincount(labels)
    n, dim, k = *points.shape, len(sizes)
    if n <= k:
        return -np.inf
    spread = float(np.square(points - means_of(points, labels)[labels]).sum())
    if spread == 0:
        return np.inf
    variance = spread / (dim * (n - k))
    likelihood = (
        float(sizes @ np.log(sizes / n))
        - n * dim / 2 * np.log(2 * np.pi * variance)
        - spread / (2 * variance)
    )
    n_parameters = (k - 1) + dim * k + 1
    return float(likelihood - n_parameters / 2 * np.log(n))
