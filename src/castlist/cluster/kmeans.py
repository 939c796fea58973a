"""K-means, and the rounds of splitting that X-means and G-means have in common."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from castlist.cluster.linkage import check_points
from castlist.cluster.links import by_first_appearance
from castlist.errors import InputError
from castlist.extras import require

require("sklearn", "K-means")
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

#: The points of a cluster, and the one centre or the two that describe them better.
Split = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def k_means(points: ArrayLike, n_clusters: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Cluster rows by K-means: the best of ten runs of scikit-learn's.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points, usually embeddings.
    n_clusters : int
        K.
    seed : int
        The same seed gives the same labels, on any number of cores.

    Returns
    -------
    ndarray of int64, shape (n,)
        The cluster of each row, numbered in order of first appearance. There are fewer clusters
        than asked for only if there are fewer distinct points.
    """
    cloud = check_cloud(points)
    if not 1 <= n_clusters <= len(cloud):
        raise InputError(
            f"cannot make {n_clusters} clusters of {len(cloud)} points; ask for 1 to {len(cloud)}"
        )
    with threadpool_limits(1):
        return lloyd(cloud, n_clusters, n_init=10, random_state=seed)


def split_in_rounds(points: ArrayLike, split: Split, k_max: int | None = None) -> NDArray[np.int64]:
    """Start from one cluster; split clusters and improve all centres, in turn.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points.
    split : callable
        Gets the points of a cluster, not all alike; returns its centres, one or two.
    k_max : int, optional
        Stop after the round that made more clusters than this; without it, and before it, when
        no cluster was split.

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
                [c[:1] if _alike(c) else split(c) for c in np.split(cloud[order], ends)]
            )
            if len(centres) == count:
                break
            labels = lloyd_from(cloud, centres)
            # Rounding may empty a cluster again; without growth there would be no end.
            if labels.max() < count:
                break
            count = int(labels.max()) + 1
    return labels


def _alike(points: NDArray[np.float64]) -> bool:
    """Say whether all points are one, or too close for the squares of their distances."""
    # Not by distances from the mean: rounding puts that beside points that are all the same.
    return bool(np.square(points - points[0]).max() < np.finfo(np.float64).tiny)


def lloyd_from(points: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.int64]:
    """Run K-means once, from given centres."""
    return lloyd(points, len(centres), init=centres, n_init=1)


def lloyd(points: NDArray[np.float64], n_clusters: int, **options: Any) -> NDArray[np.int64]:
    """Run scikit-learn's K-means.

    To be called under ``threadpool_limits(1)``: with several threads scikit-learn adds up centres
    in the order in which threads finish, and their last digits differ from run to run.
    """
    with warnings.catch_warnings():
        # It warns of fewer distinct points than clusters, which is no fault here.
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
