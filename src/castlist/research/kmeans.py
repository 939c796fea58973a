"""K-means, and X-means and G-means, which find the number of clusters by splitting them.

X-means (Pelleg and Moore, ICML 2000) splits a cluster if the BIC is higher with two centres than
with one. G-means (Hamerly and Elkan, NIPS 2003) splits a cluster if its points are not Gaussian.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr
from threadpoolctl import threadpool_limits

from castlist.cluster.linkage import check_points
from castlist.cluster.links import by_first_appearance
from castlist.errors import InputError, counted
from castlist.extras import require

require("sklearn", "k-means clustering")
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

#: Takes the points of a cluster; returns one centre, or two if the cluster is split.
Split = Callable[[NDArray[np.float64]], NDArray[np.float64]]
#: A²* above which points are not Gaussian, at significance 0.0001 (Hamerly and Elkan, sec. 3.1).
CRITICAL = 1.8692
_FEWEST = 8  # points for which Stephens' correction of A² is meant


def k_means(points: ArrayLike, n_clusters: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Cluster rows by k-means, with the best of ten runs of scikit-learn's ``KMeans``.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points, usually embeddings.
    n_clusters : int
        Number of clusters.
    seed : int
        The same seed gives the same labels on any number of cores.

    Returns
    -------
    ndarray of int64, shape (n,)
        The cluster of each row, numbered in order of first appearance. There are fewer than
        ``n_clusters`` only if there are fewer distinct points.
    """
    cloud = check_cloud(points)
    if not 1 <= n_clusters <= len(cloud):
        raise InputError(
            f"cannot make {counted(n_clusters, 'cluster')} of {counted(len(cloud), 'row')}; "
            f"give 1 to {len(cloud)}"
        )
    with threadpool_limits(1):
        return lloyd(cloud, n_clusters, n_init=10, random_state=seed)


def split_in_rounds(points: ArrayLike, split: Split, k_max: int | None = None) -> NDArray[np.int64]:
    """Start from one cluster; alternate between splitting clusters and running k-means.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points.
    split : callable
        Takes the points of a cluster, not all identical; returns its centres, one or two.
    k_max : int, optional
        Stop after the round that made more clusters than this. Rounds also end when no cluster
        was split.

    Returns
    -------
    ndarray of int64, shape (n,)
        As of :func:`k_means`.
    """
    cloud = check_cloud(points)
    if k_max is not None and k_max < 1:
        raise InputError(f"k_max must be a number of clusters, 1 or more, not {k_max}")
    labels, count = np.zeros(len(cloud), np.int64), 1
    with threadpool_limits(1):
        while k_max is None or count <= k_max:
            order = np.argsort(labels, kind="stable")
            ends = np.cumsum(np.bincount(labels))[:-1]
            centres = np.concatenate(
                [c[:1] if _identical(c) else split(c) for c in np.split(cloud[order], ends)]
            )
            if len(centres) == count:
                break
            labels = lloyd_from(cloud, centres)
            # Rounding may empty a cluster again; without this, the loop might not end.
            if labels.max() < count:
                break
            count = int(labels.max()) + 1
    return labels


def _identical(points: NDArray[np.float64]) -> bool:
    """Return whether all points are equal, or so close that squared distances underflow."""
    # Not by distances from the mean: rounding moves the mean of equal points away from them.
    return bool(np.square(points - points[0]).max() < np.finfo(np.float64).tiny)


def lloyd_from(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.int64]:
    """Run k-means once, from given centres."""
    return lloyd(points, len(centres), init=centres, n_init=1)


def lloyd(points: NDArray[np.float64], n_clusters: int, **options: Any) -> NDArray[np.int64]:
    """Run scikit-learn's k-means.

    Call it under ``threadpool_limits(1)``: with several threads, scikit-learn sums centres in the
    order in which threads finish, and their last digits differ from run to run.
    """
    with warnings.catch_warnings():
        # It warns of fewer distinct points than clusters, which is allowed here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(n_clusters, **options).fit(points)
    return by_first_appearance(found.labels_)


def means_of(points: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each cluster."""
    return np.array([points[labels == k].mean(axis=0) for k in range(labels.max() + 1)])


def check_cloud(points: ArrayLike) -> NDArray[np.float64]:
    """Return points as a float64 matrix that has at least one entry."""
    cloud = check_points(points).astype(np.float64)
    if not cloud.size:
        raise InputError(f"nothing to cluster: points of shape {cloud.shape}; give at least one")
    return cloud


def x_means(points: ArrayLike, *, k_max: int, seed: int = 0) -> NDArray[np.int64]:
    """Cluster rows by X-means.

    All rows start in one cluster. In every round, each cluster is split by 2-means if the BIC of
    its points is higher with two centres than with one; then k-means improves all centres.

    In few dimensions, evenly spread clusters may stay one cluster: two centres are no better than
    one, although more would be.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points, usually embeddings.
    k_max : int
        Stop after the round that made more clusters than this (paper, supplement: "when a
        maximum number of clusters has been crossed"). The result may have up to twice as many.
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
    """Return the Bayesian information criterion of a clustering; higher is better.

    The model is one spherical Gaussian per cluster, with one variance σ² for all, weighted by the
    cluster's share of the points. Every point belongs to its own cluster only:

        BIC = Σ_i log( R_k(i)/R · N(x_i; μ_k(i), σ² I) ) − p/2 · log R
        σ²  = Σ_i ‖x_i − μ_k(i)‖² / (M (R − K))
        p   = (K − 1) + M K + 1

    for R points of M dimensions in K clusters. In print, the paper's σ² lacks the M, and its
    density has (2π)^½ instead of (2π)^(M/2). That is a Gaussian only for M = 1; it is corrected
    here.

    Parameters
    ----------
    points : ndarray of shape (n, dim)
        Points.
    labels : ndarray of int, shape (n,)
        Their clusters, 0 to K − 1, none empty.

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


def g_means(
    points: ArrayLike, *, critical: float = CRITICAL, k_max: int | None = None, seed: int = 0
) -> NDArray[np.int64]:
    """Cluster rows by G-means.

    All rows start in one cluster. In every round, each cluster is split by 2-means. The split is
    kept if the points, projected onto the line through the two centres, are not Gaussian by an
    Anderson–Darling test; then k-means improves all centres.

    The line is the one that separates the two halves best. With few points per dimension, this
    alone makes a Gaussian look like two, so G-means finds far too many clusters in many
    dimensions.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points, usually embeddings.
    critical : float
        Clusters with an Anderson–Darling statistic A²* above this are split. The default is the
        critical value at significance 0.0001. A higher value gives fewer clusters.
    k_max : int, optional
        Stop after the round that made more clusters than this.
    seed : int
        The same seed gives the same labels. Only the principal components of large clusters are
        computed with random numbers.

    Returns
    -------
    ndarray of int64, shape (n,)
        The cluster of each row, numbered in order of first appearance. A cluster of fewer than
        eight rows is never split.
    """
    if not critical > 0:
        raise InputError(f"the critical value must be positive, such as 1.8692, not {critical}")

    def split(cluster: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = means_of(cluster, np.zeros(len(cluster), np.int64))
        if len(cluster) < _FEWEST:
            return whole
        centred = cluster - whole  # PCA centres too late for points far from 0
        main = PCA(1, random_state=seed).fit(centred)
        step = main.components_ * np.sqrt(2 * main.explained_variance_ / np.pi)
        halves = lloyd_from(cluster, np.concatenate([whole - step, whole + step]))
        if not halves.any():  # rounding may leave a centre without points
            return whole
        centres = means_of(cluster, halves)
        along = centred @ (centres[0] - centres[1])
        return centres if anderson_darling(along) > critical else whole

    return split_in_rounds(points, split, k_max)


def anderson_darling(values: NDArray[np.float64]) -> float:
    """Return A²* of values against a Gaussian of their own mean and variance.

    ``scipy.stats.anderson`` computes the same A². From SciPy 1.17 on it warns unless it gets a
    method for the p-value, a parameter that earlier versions do not have.
    """
    n = len(values)
    z = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = np.arange(1, 2 * n, 2)
    # 1 − Φ(z) is Φ(−z); the logarithms stay finite far out, where Φ itself is 0 or 1.
    statistic = -n - odd @ (log_ndtr(z) + log_ndtr(-z[::-1])) / n
    return float(statistic * (1 + 4 / n - 25 / n**2))
