"""G-means (Hamerly and Elkan, NIPS 2003): K-means that splits clusters until they are Gaussian."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from castlist.cluster.kmeans import lloyd_from, means_of, split_in_rounds
from castlist.errors import InputError
from castlist.extras import require

require("sklearn", "G-means")
from sklearn.decomposition import PCA  # noqa: E402

#: A²* beyond which points are not Gaussian, at significance 0.0001 (Hamerly and Elkan, sec. 3.1).
CRITICAL = 1.8692
#: Stephens' correction of A² for few points is not meant for fewer than this.
FEWEST = 8


def g_means(
    points: ArrayLike, *, critical: float = CRITICAL, k_max: int | None = None, seed: int = 0
) -> NDArray[np.int64]:
    """Cluster rows by G-means.

    All rows start in one cluster. In every round each cluster is split by 2-means, and the split
    is kept where the points, projected onto the line through the two centres, do not look like
    a Gaussian; then K-means improves all centres.

    The line is chosen to set the two halves apart. With few points a dimension that alone makes
    a Gaussian look like two, so in many dimensions there are far too many clusters.

    Parameters
    ----------
    points : array-like of shape (n, dim)
        Points, usually embeddings.
    critical : float
        Clusters with an Anderson–Darling statistic A²* above this are split; the default is that
        of significance 0.0001. A higher value gives fewer clusters.
    k_max : int, optional
        Stop after the round that made more clusters than this.
    seed : int
        The same seed gives the same labels. Principal components of big clusters are found with
        random numbers; nothing else is.

    Returns
    -------
    ndarray of int64, shape (n,)
        The cluster of each row, numbered in order of first appearance. A cluster of fewer than
        eight rows is never split.
    """
    if not critical > 0:
        raise InputError(f"the critical value must be positive, as 1.8692, not {critical}")

    def split(cluster: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = means_of(cluster, np.zeros(len(cluster), np.int64))
        if len(cluster) < FEWEST:
            return whole
        centred = cluster - whole  # which PCA itself does too late for points far from 0
        main = PCA(1, random_state=seed).fit(centred)
        step = main.components_ * np.sqrt(2 * main.explained_variance_ / np.pi)
        halves = lloyd_from(cluster, np.concatenate([whole - step, whole + step]))
        if not halves.any():  # by rounding, K-means may leave a centre with no points
            return whole
        centres = means_of(cluster, halves)
        along = centred @ (centres[0] - centres[1])
        return centres if anderson_darling(along) > critical else whole

    return split_in_rounds(points, split, k_max)


def anderson_darling(values: NDArray[np.float64]) -> float:
    """Return A²* of values against a Gaussian of their own mean and variance.

    ``scipy.stats.anderson`` gives the same A², but from SciPy 1.17 on it warns unless told how to
    find a p-value, and before that it cannot be told.
    """
    n = len(values)
    z = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = np.arange(1, 2 * n, 2)
    # 1 − Φ(z) is Φ(−z); logarithms of it stay finite far out, where Φ itself is 0 or 1.
    statistic = -n - odd @ (log_ndtr(z) + log_ndtr(-z[::-1])) / n
    return float(statistic * (1 + 4 / n - 25 / n**2))
