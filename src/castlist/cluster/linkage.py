"""Complete linkage on squared Euclidean distances, stopped at τ (paper, sec. 3.3).

Few rows are clustered by SciPy, from all of their distances. Many rows are clustered by compiled
code (:mod:`castlist.cluster.stages`), which only holds the pairs within τ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist, pdist, squareform

from castlist.cluster.executor import Executor
from castlist.cluster.links import Links, by_first_appearance, resolve_links
from castlist.errors import InputError, NumberError, counted
from castlist.extras import installed, require
from castlist.progress import Progress, silent

#: Clusters kept, clusters merged into them, heights. A cluster is identified by its smallest row.
Merges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
NO_MERGES: Merges = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


#: A dendrogram without a threshold needs all distances; more than this many bytes are refused.
DENSE_BYTES = 4 * 2**30
#: Up to this many rows, all distances are computed even if there is a threshold: that takes less
#: time than loading the compiled code. Without Numba the limit is higher.
FEW_ROWS, FEW_WITHOUT_NUMBA = 3000, 16_000
_BLOCK = 2**24  # distances computed at once: 128 MiB


@dataclass(frozen=True)
class Linkage:
    """The result of complete linkage.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        The cluster of each row, numbered 0 to #Cl − 1 in order of first appearance.
    merges : ndarray of float64, shape (n_merges, 4)
        The merges, as rows of a SciPy linkage matrix: the two clusters (rows are 0 to n − 1, the
        i-th merge makes cluster n + i), the height, the number of rows. Must-links come first,
        at height 0; after them, heights never decrease. Merges that break avoid-links come last,
        with heights of their own.
    threshold : float
        The largest height allowed; infinite if there was no threshold.
    given_up : ndarray of int, shape (m, 2)
        The pairs of rows under an avoid-link that share a cluster, smaller row first.
    """

    labels: NDArray[np.int64]
    merges: NDArray[np.float64]
    threshold: float
    given_up: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.labels) - len(self.merges)

    def cut(self, threshold: float) -> NDArray[np.int64]:
        """Return the labels at a lower or equal threshold, without breaking avoid-links."""
        if not threshold <= self.threshold:
            raise InputError(
                f"cannot cut at {threshold:g}: merging stopped at threshold {self.threshold:g}"
            )
        heights = self.merges[: len(self.merges) - self._n_giving_up, 2]
        count = int(np.searchsorted(heights, threshold, side="right"))
        return labels_after(self.merges, len(self.labels), max(count, self._n_must_link))

    def cut_to(self, n_clusters: int) -> NDArray[np.int64]:
        """Return the labels at the point where this number of clusters was left."""
        n = len(self.labels)
        most = n - self._n_must_link
        if n_clusters > most:
            raise InputError(
                f"cannot cut to {counted(n_clusters, 'cluster')}: there were at most {most}"
            )
        if n_clusters < self.n_clusters:
            raise InputError(
                f"cannot cut to {counted(n_clusters, 'cluster')}: merging stopped at "
                f"{self.n_clusters}"
            )
        return labels_after(self.merges, n, n - n_clusters)

    def of_rows(self, rows: NDArray[np.int64]) -> Linkage:
        """Return this result for ``X``, if it was computed for ``X[rows]``."""
        merges = self.merges.copy()
        single = merges[:, :2] < len(rows)
        merges[:, :2][single] = rows[merges[:, :2][single].astype(np.int64)]
        merges[:, :2] = np.sort(merges[:, :2], axis=1)
        labels = by_first_appearance(self.labels[np.argsort(rows)])
        given_up = np.sort(rows[self.given_up], axis=1)
        given_up = given_up[np.lexsort(given_up.T[::-1])]
        return replace(self, labels=labels, merges=merges, given_up=given_up)

    _n_must_link: int = 0
    _n_giving_up: int = 0


def complete_linkage(
    X: ArrayLike,
    threshold: float | None = None,
    *,
    n_clusters: int | None = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    avoid_link: ArrayLike | None = None,
    progress: Progress = silent,
    executor: Executor | None = None,
) -> Linkage:
    """Cluster rows by complete linkage, merging while ℓ ≤ τ.

    The partition is that of ``scipy.cluster.hierarchy.linkage(X, "complete", "sqeuclidean")``
    cut at τ. If distances are equal to the last digit, it is one of the partitions that the
    greedy rule allows, and the same one in every run. With a finite threshold, only pairs within
    it are held in memory.

    Parameters
    ----------
    X : array-like of shape (n, dim)
        Points, usually embeddings.
    threshold : float, optional
        τ: the largest squared distance inside a cluster. Without it, rows are merged until
        ``n_clusters`` are left or the links allow no more; this needs all n² distances.
    n_clusters : int, optional
        Stop at this number of clusters instead of at a threshold.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of row numbers. Must-linked rows are merged first, at any distance. Cannot-linked
        rows never share a cluster.
    avoid_link : array-like of shape (m, 2), optional
        Pairs of row numbers that share a cluster only if there would be more than ``n_clusters``
        otherwise. When nothing else can be merged, the nearest clusters without a cannot-link
        between them are merged, and ``given_up`` lists the pairs that this joins.
    progress : callable
        Called with the stage, the number of items done and the total.
    executor : Executor, optional
        Runs the work if there is a threshold. The default uses the threads of this process; see
        :func:`ray_linkage` for a Ray cluster. The partition is the same.

    Returns
    -------
    Linkage
        ``labels``, ``merges``, ``given_up``, and methods to cut the dendrogram elsewhere.

    Raises
    ------
    NumberError
        If the links do not allow ``n_clusters``.

    Examples
    --------
    >>> complete_linkage([[0.0], [1.0], [5.0]], threshold=4).labels
    array([0, 0, 1])
    >>> complete_linkage([[0.0], [1.0], [5.0]], threshold=4, cannot_link=[(0, 1)]).labels
    array([0, 1, 2])
    >>> complete_linkage([[0.0], [1.0]], n_clusters=1, avoid_link=[(0, 1)]).given_up
    array([[0, 1]])
    """
    points = check_points(X)
    if threshold is not None and n_clusters is not None:
        raise InputError("give a threshold or n_clusters, not both")
    if threshold is not None and not threshold >= 0:
        raise InputError(f"the threshold must be a squared distance, 0 or more, not {threshold}")
    n = len(points)
    links = resolve_links(n, must_link, cannot_link, avoid_link)
    tau = np.inf if threshold is None else float(threshold)
    forced = _merges_of(links.group)
    if np.isinf(tau):
        made = _merge_all(points, links.group, links.kept_apart)
    else:
        made = _merge_within(points, tau, links, progress, executor)
    merges = number_merges(concatenate([forced, made]), n)
    result = Linkage(labels_after(merges, n, len(merges)), merges, tau, _n_must_link=len(forced[0]))
    if n_clusters is None:
        return result
    if not min(n, 1) <= n_clusters <= n:
        raise InputError(
            f"cannot make {counted(n_clusters, 'cluster')} of {counted(n, 'row')}; give 1 to {n}"
        )
    if n_clusters > links.n_groups:
        raise NumberError(n_clusters, links.n_groups)
    if n_clusters >= result.n_clusters:
        return replace(result, labels=result.cut_to(n_clusters), merges=merges[: n - n_clusters])
    # A link keeps any two of the clusters that are left apart, and would keep their unions apart
    # too: from here on, avoid-links are ignored.
    apart = result.labels[_first_rows(links.group)[links.apart]]
    past = _merge_all(points, result.labels, np.sort(apart, axis=1))
    if n_clusters < (least := result.n_clusters - len(past[0])):
        raise NumberError(n_clusters, least)
    merges = number_merges(concatenate([forced, made, past]), n)[: n - n_clusters]
    labels = labels_after(merges, n, len(merges))
    given_up = links.avoid[labels[links.avoid[:, 0]] == labels[links.avoid[:, 1]]]
    return replace(
        result, labels=labels, merges=merges, given_up=given_up,
        _n_giving_up=result.n_clusters - n_clusters,
    )  # fmt: skip


def ray_linkage(
    X: ArrayLike,
    threshold: float,
    *,
    address: str | None = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    progress: Progress = silent,
) -> Linkage:
    """Cluster rows by complete linkage on a Ray cluster.

    The labels are those of :func:`complete_linkage`. Pairs are searched, measured and merged by
    tasks of the cluster; this process chooses the steps and holds the graph of pairs. Needs
    the extras ``ray`` and ``large``.

    Parameters
    ----------
    X : array-like of shape (n, dim)
        Points, usually embeddings.
    threshold : float
        τ: the largest squared distance inside a cluster.
    address : str, optional
        The cluster's head, such as ``10.0.0.1:6379`` or ``ray://10.0.0.1:10001``. Without it, the
        connection of this process is used if there is one; otherwise Ray is started on this
        machine, and stopped afterwards.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of row numbers that share a cluster, or never do.
    progress : callable
        Called with the stage, the number of items done and the total.

    Returns
    -------
    Linkage
        As of :func:`complete_linkage`.

    Examples
    --------
    >>> ray_linkage(embeddings, 0.4, address="10.0.0.1:6379").labels  # doctest: +SKIP
    """
    from castlist.cluster.executor import RayExecutor
    from castlist.ray_cluster import cluster

    with cluster(address) as ray:
        return complete_linkage(
            X, threshold, must_link=must_link, cannot_link=cannot_link, progress=progress,
            executor=RayExecutor(ray),
        )  # fmt: skip


def _merge_within(
    points: NDArray[np.floating],
    tau: float,
    links: Links,
    progress: Progress,
    executor: Executor | None,
) -> Merges:
    """Merge up to τ: few rows by their whole dendrogram, many by the pairs within τ."""
    few = FEW_ROWS if installed("numba") else FEW_WITHOUT_NUMBA
    if len(points) <= few and executor is None:
        kept, gone, height = _merge_all(points, links.group, links.kept_apart)
        count = int(np.searchsorted(height, tau, side="right"))
        return kept[:count], gone[:count], height[:count]
    require("numba", f"clustering {len(points):,} rows")
    from castlist.cluster.merging import Clusters, group_duplicates
    from castlist.cluster.stages import merge_in_stages

    # Identical points are merged first, so that their pairs are never held.
    group = by_first_appearance(group_duplicates(points, links.group, links.unlinked))
    clusters = Clusters.of(group)
    apart = np.sort(group[_first_rows(links.group)][links.kept_apart], axis=1)
    more = merge_in_stages(points, clusters, tau, apart, progress, executor)
    identical = _merges_of(group, links.unlinked)
    return concatenate([identical, more])


def _merge_all(
    points: NDArray[np.floating], group: NDArray[np.int64], apart: NDArray[np.int64]
) -> Merges:
    """Return the whole dendrogram of groups, by SciPy: without τ, no pair can be left out."""
    n = len(points)
    size = n * (n - 1) // 2 * 8
    if size > DENSE_BYTES:
        raise InputError(
            f"{n:,} rows without a threshold need {size / 2**30:.0f} GiB of distances; "
            "give a threshold, which needs only the pairs within it"
        )
    first = _first_rows(group)
    groups = len(first)
    if groups < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    if groups < n:
        distances = squareform(_farthest(points, group), checks=False)
    else:
        distances = pdist(points, "sqeuclidean")
    # SciPy needs finite distances; merges at the largest float are dropped again below.
    one, other = apart.T
    distances[groups * one - one * (one + 1) // 2 + other - one - 1] = np.finfo(np.float64).max
    made = scipy_linkage(distances, "complete")
    made = made[made[:, 2] < np.finfo(np.float64).max]
    smallest = np.arange(groups + len(made))
    for i, (a, b) in enumerate(made[:, :2].astype(np.int64)):
        smallest[groups + i] = min(smallest[a], smallest[b])
    ends = np.sort(smallest[made[:, :2].astype(np.int64)], axis=1)
    return first[ends[:, 0]], first[ends[:, 1]], made[:, 2]


def _farthest(points: NDArray[np.floating], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest squared distance of every pair of groups; 0 on the diagonal."""
    order = np.argsort(group, kind="stable")
    points, group = points[order], group[order]
    starts = np.searchsorted(group, np.arange(group[-1] + 1))
    square = np.zeros((len(starts), len(starts)))
    height = max(1, _BLOCK // len(points))
    for at in range(0, len(points), height):
        rows = slice(at, at + height)
        block = np.maximum.reduceat(cdist(points[rows], points, "sqeuclidean"), starts, axis=1)
        own, begins = np.unique(group[rows], return_index=True)
        square[own] = np.maximum(square[own], np.maximum.reduceat(block, begins, axis=0))
    np.fill_diagonal(square, 0)
    return square


def _first_rows(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row of each group."""
    return np.unique(group, return_index=True)[1]


def _merges_of(group: NDArray[np.int64], rows: NDArray[np.int64] | None = None) -> Merges:
    """Merge all rows, or the given ones, into the first row of their group, at height 0."""
    first = _first_rows(group)[group]
    rows = np.arange(len(group)) if rows is None else rows
    others = rows[first[rows] != rows]
    return first[others], others, np.zeros(len(others))


def check_points(X: ArrayLike) -> NDArray[np.floating]:
    """Return points as a float32 or float64 matrix; raise InputError if they are not one."""
    points = np.asarray(X)
    if points.ndim != 2:
        raise InputError(f"points must be rows × dims, not of shape {points.shape}")
    if points.dtype.kind not in "fiub":
        raise InputError(f"points must be numbers, not {points.dtype}")
    # float32 is kept: distances are computed in float64 from either.
    kind = np.float32 if points.dtype in (np.float16, np.float32) else np.float64
    points = np.ascontiguousarray(points, kind)
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise InputError(f"row {bad[0]} has a value that is not finite")
    return points


def concatenate(merges: list[Merges]) -> Merges:
    """Concatenate merges."""
    if not merges:
        return NO_MERGES
    kept, gone, height = (np.concatenate(column) for column in zip(*merges, strict=True))
    return kept, gone, height


def number_merges(merges: Merges, n: int) -> NDArray[np.float64]:
    """Turn merges of ``n`` rows into a SciPy linkage matrix."""
    kept, gone, height = merges
    name, size = list(range(n)), [1] * n
    made = []
    for i, (a, b) in enumerate(zip(kept.tolist(), gone.tolist(), strict=True)):
        size[a] += size[b]
        made.append((min(name[a], name[b]), max(name[a], name[b]), size[a]))
        name[a] = n + i
    matrix = np.empty((len(made), 4))
    matrix[:, [0, 1, 3]] = np.array(made, np.float64).reshape(-1, 3)
    matrix[:, 2] = height
    return matrix


def labels_after(merges: NDArray[np.float64], n: int, count: int) -> NDArray[np.int64]:
    """Return the labels once the first ``count`` merges of a SciPy linkage matrix are made."""
    parent = np.arange(n + count)
    children = merges[:count, :2].astype(np.int64)
    parent[children] = n + np.arange(count)[:, None]
    last = parent.tolist()
    for i in range(len(last) - 1, -1, -1):  # parents come after their children
        last[i] = last[last[i]]
    return by_first_appearance(last[:n])
