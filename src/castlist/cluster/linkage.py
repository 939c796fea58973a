"""Complete linkage on squared Euclidean distances, stopped at τ (paper, sec. 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist, squareform

from castlist.cluster.chain import merge_graph
from castlist.cluster.graph import contract, pairs_within
from castlist.cluster.links import Links, by_first_appearance, resolve_links
from castlist.errors import InputError
from castlist.progress import Progress, silent

#: A dendrogram with no threshold needs every distance; beyond this many bytes it is refused.
DENSE_BYTES = 4 * 2**30


@dataclass(frozen=True)
class Linkage:
    """What complete linkage did.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        The cluster of each row, numbered 0 to #Cl − 1 in order of first appearance.
    merges : ndarray of float64, shape (n_merges, 4)
        The merges made, as rows of a SciPy linkage matrix: the two clusters (rows are 0 to
        n − 1, the i-th merge makes n + i), the height, the number of rows. Must-links come
        first, at height 0; then heights never fall.
    threshold : float
        No merge higher than this was made; infinite if there was no threshold.
    """

    labels: NDArray[np.int64]
    merges: NDArray[np.float64]
    threshold: float

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.labels) - len(self.merges)

    def cut(self, threshold: float) -> NDArray[np.int64]:
        """Return the labels at a threshold not above the one clustered at."""
        if not threshold <= self.threshold:
            raise InputError(
                f"clustered at threshold {self.threshold:g}; cannot cut above it, at {threshold:g}"
            )
        count = int(np.searchsorted(self.merges[:, 2], threshold, side="right"))
        return labels_after(self.merges, len(self.labels), max(count, self._n_must_link))

    def cut_to(self, n_clusters: int) -> NDArray[np.int64]:
        """Return the labels when so many clusters were left."""
        n = len(self.labels)
        most = n - self._n_must_link
        if not self.n_clusters <= n_clusters <= most:
            raise InputError(
                f"{n_clusters} clusters were never left; ask for {self.n_clusters} to {most}"
            )
        return labels_after(self.merges, n, n - n_clusters)

    _n_must_link: int = 0


def complete_linkage(
    X: ArrayLike,
    threshold: float | None = None,
    *,
    n_clusters: int | None = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    progress: Progress = silent,
) -> Linkage:
    """Cluster rows by complete linkage, merging while ℓ ≤ τ.

    The partition is that of ``scipy.cluster.hierarchy.linkage(X, "complete", "sqeuclidean")``
    cut at τ. With a finite threshold, only pairs within it are ever held.

    Parameters
    ----------
    X : array-like of shape (n, dim)
        Points, usually embeddings.
    threshold : float, optional
        τ: the largest squared distance inside a cluster. Without it, everything is merged, or
        as far as ``n_clusters`` or the links say; that needs all n² distances.
    n_clusters : int, optional
        Stop at this number of clusters instead of a threshold.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of row numbers. Must-linked rows are merged first, however far apart; rows under
        a cannot-link never share a cluster.
    progress : callable
        Told how far it is.

    Returns
    -------
    Linkage
        ``labels``, ``merges`` and ways to cut elsewhere.

    Examples
    --------
    >>> complete_linkage([[0.0], [1.0], [5.0]], threshold=4).labels
    array([0, 0, 1])
    >>> complete_linkage([[0.0], [1.0], [5.0]], threshold=4, cannot_link=[(0, 1)]).labels
    array([0, 1, 2])
    """
    points = check_points(X)
    if threshold is not None and n_clusters is not None:
        raise InputError("give a threshold or a number of clusters, not both")
    if threshold is not None and not threshold >= 0:
        raise InputError(f"the threshold is a squared distance, 0 or more, not {threshold}")
    n = len(points)
    links = resolve_links(n, must_link, cannot_link)
    tau = np.inf if threshold is None else float(threshold)
    if np.isinf(tau):
        pairs = _merge_all(points, links)
    else:
        pairs = _merge_within(points, tau, links, progress)
    representatives = np.unique(links.group, return_index=True)[1]
    forced = _must_link_merges(links, representatives)
    kept, gone, height = pairs
    merges = number_merges(
        np.concatenate([forced[0], representatives[kept]]),
        np.concatenate([forced[1], representatives[gone]]),
        np.concatenate([np.zeros(len(forced[0])), height]),
        n,
    )
    result = Linkage(labels_after(merges, n, len(merges)), merges, tau, len(forced[0]))
    if n_clusters is None:
        return result
    if n and not 1 <= n_clusters <= n:
        raise InputError(f"cannot make {n_clusters} clusters of {n} rows")
    labels = result.cut_to(n_clusters)
    return Linkage(labels, merges[: n - n_clusters], tau, len(forced[0]))


def _merge_within(
    points: NDArray[np.float64], tau: float, links: Links, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    edges = pairs_within(points, tau, progress)
    sizes = np.bincount(links.group)
    if links.n_groups < len(points):
        edges = contract(edges, links.group, sizes)
    if len(links.apart):
        key = edges.left.astype(np.int64) * links.n_groups + edges.right
        edges = edges.keep(~np.isin(key, links.apart[:, 0] * links.n_groups + links.apart[:, 1]))
    return merge_graph(edges, links.n_groups)


def _merge_all(
    points: NDArray[np.float64], links: Links
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Make the whole dendrogram with SciPy: with no τ, no pair can be left out."""
    n = len(points)
    size = n * (n - 1) // 2 * 8
    if size > DENSE_BYTES:
        raise InputError(
            f"{n:,} rows with no threshold need {size / 2**30:.0f} GiB of distances; "
            "give a threshold, which needs only the pairs within it"
        )
    groups = links.n_groups
    if groups < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    distances = pdist(points, "sqeuclidean")
    if groups < n or len(links.apart):
        square = squareform(distances)
        if groups < n:
            order = np.argsort(links.group, kind="stable")
            starts = np.searchsorted(links.group[order], np.arange(groups))
            square = np.maximum.reduceat(square[order], starts, axis=0)
            square = np.maximum.reduceat(square[:, order], starts, axis=1)
            np.fill_diagonal(square, 0)
        # SciPy wants finite distances; merges at the largest float are dropped again below.
        never = np.finfo(np.float64).max
        square[links.apart[:, 0], links.apart[:, 1]] = never
        square[links.apart[:, 1], links.apart[:, 0]] = never
        distances = squareform(square, checks=False)
    made = scipy_linkage(distances, "complete")
    made = made[made[:, 2] < np.finfo(np.float64).max]
    smallest = np.arange(groups + len(made))
    for i, (a, b) in enumerate(made[:, :2].astype(np.int64)):
        smallest[groups + i] = min(smallest[a], smallest[b])
    ends = np.sort(smallest[made[:, :2].astype(np.int64)], axis=1)
    return ends[:, 0], ends[:, 1], made[:, 2]


def _must_link_merges(
    links: Links, representatives: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair every row with the first row of its group."""
    first = representatives[links.group] if len(links.group) else links.group
    others = np.flatnonzero(first != np.arange(len(first)))
    return first[others], others


def number_merges(
    kept: NDArray[np.int64], gone: NDArray[np.int64], height: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Turn merges of clusters, each called by its smallest row, into a SciPy linkage matrix."""
    name = np.arange(n)
    size = np.ones(n, np.int64)
    merges = np.empty((len(kept), 4))
    for i, (a, b) in enumerate(zip(kept.tolist(), gone.tolist(), strict=True)):
        size[a] += size[b]
        merges[i] = min(name[a], name[b]), max(name[a], name[b]), height[i], size[a]
        name[a] = n + i
    return merges


def labels_after(merges: NDArray[np.float64], n: int, count: int) -> NDArray[np.int64]:
    """Return the labels once the first ``count`` merges are made."""
    parent = np.arange(n + count)
    children = merges[:count, :2].astype(np.int64)
    parent[children] = n + np.arange(count)[:, None]
    for i in range(n + count - 1, -1, -1):  # parents come after children
        parent[i] = parent[parent[i]]
    return by_first_appearance(parent[:n])


def check_points(X: ArrayLike) -> NDArray[np.float64]:
    """Return points as a float64 matrix, or say what is wrong with them."""
    points = np.asarray(X)
    if points.ndim != 2:
        raise InputError(f"points must be rows × dims, not of shape {points.shape}")
    if points.dtype.kind not in "fiub":
        raise InputError(f"points must be numbers, not {points.dtype}")
    points = np.ascontiguousarray(points, np.float64)
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise InputError(f"row {bad[0]} has a value that is not finite")
    return points
