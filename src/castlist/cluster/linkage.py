"""Complete linkage on squared Euclidean distances, stopped at τ (paper, sec. 3.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist, pdist, squareform

from castlist.cluster.executor import Crew
from castlist.cluster.links import Links, by_first_appearance, resolve_links
from castlist.cluster.merges import Merges, concatenate, labels_after, number_merges
from castlist.errors import InputError, NumberError
from castlist.extras import installed, require
from castlist.progress import Progress, silent

#: A dendrogram with no threshold needs every distance; beyond this many bytes it is refused.
DENSE_BYTES = 4 * 2**30
#: Rows up to which all distances are computed also if there is a threshold: compiled code that
#: computes fewer takes longer to load than that. Without that code, there may be more.
FEW_ROWS, FEW_WITHOUT_NUMBA = 3000, 16_000
_BLOCK = 2**24  # distances computed at once: 128 MiB


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
        first, at height 0; then heights never fall. Merges that give avoid-links up come last,
        and their heights begin anew.
    threshold : float
        No merge higher than this was made; infinite if there was no threshold.
    given_up : ndarray of int, shape (m, 2)
        Pairs of rows under an avoid-link that share a cluster all the same, smaller number first.
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
        """Return the labels at a threshold not above the one clustered at; no link is given up."""
        if not threshold <= self.threshold:
            raise InputError(
                f"clustered at threshold {self.threshold:g}; cannot cut above it, at {threshold:g}"
            )
        heights = self.merges[: len(self.merges) - self._n_giving_up, 2]
        count = int(np.searchsorted(heights, threshold, side="right"))
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

    def of_rows(self, rows: NDArray[np.int64]) -> Linkage:
        """Return the same for rows in the order that they had before they were reordered so."""
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
    crew: Crew | None = None,
) -> Linkage:
    """Cluster rows by complete linkage, merging while ℓ ≤ τ.

    The partition is that of ``scipy.cluster.hierarchy.linkage(X, "complete", "sqeuclidean")``
    cut at τ; where distances are equal to the last digit, one of the partitions that the greedy
    rule allows, always the same. With a finite threshold, only pairs within it are ever held.

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
    avoid_link : array-like of shape (m, 2), optional
        Pairs of row numbers that share no cluster either, unless there would be more than
        ``n_clusters``. Once nothing else can be merged, the nearest clusters that no
        cannot-link keeps apart are; ``given_up`` says which pairs that puts together. There
        the largest distances of the clusters left are computed anew, in blocks.
    progress : callable
        Told how far it is.
    crew : Crew, optional
        Who does the work where there is a threshold: :class:`castlist.cluster.ray.RayCrew`, or
        the threads of this machine. The partition is the same.

    Returns
    -------
    Linkage
        ``labels``, ``merges``, ``given_up`` and ways to cut elsewhere.

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
        raise InputError("give a threshold or a number of clusters, not both")
    if threshold is not None and not threshold >= 0:
        raise InputError(f"the threshold is a squared distance, 0 or more, not {threshold}")
    n = len(points)
    links = resolve_links(n, must_link, cannot_link, avoid_link)
    tau = np.inf if threshold is None else float(threshold)
    forced = _merges_of(links.group)
    if np.isinf(tau):
        made = _merge_all(points, links.group, links.kept_apart)
    else:
        made = _merge_within(points, tau, links, progress, crew)
    merges = number_merges(concatenate([forced, made]), n)
    result = Linkage(labels_after(merges, n, len(merges)), merges, tau, _n_must_link=len(forced[0]))
    if n_clusters is None:
        return result
    if not min(n, 1) <= n_clusters <= n:
        raise InputError(f"cannot make {n_clusters} clusters of {n} rows")
    if n_clusters > links.n_groups:
        raise NumberError(n_clusters, links.n_groups)
    if n_clusters >= result.n_clusters:
        return replace(result, labels=result.cut_to(n_clusters), merges=merges[: n - n_clusters])
    # Every two clusters that are left are kept apart, and so would be what they are merged into:
    # from here on, avoid-links are given up.
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


def _merge_within(
    points: NDArray[np.floating], tau: float, links: Links, progress: Progress, crew: Crew | None
) -> Merges:
    """Merge as far as τ goes: by the whole dendrogram of few rows, by pairs within τ of many."""
    few = FEW_ROWS if installed("numba") else FEW_WITHOUT_NUMBA
    if len(points) <= few and crew is None:
        kept, gone, height = _merge_all(points, links.group, links.kept_apart)
        count = int(np.searchsorted(height, tau, side="right"))
        return kept[:count], gone[:count], height[:count]
    require("numba", f"clustering {len(points):,} rows")
    from castlist.cluster.clusters import Clusters, group_duplicates
    from castlist.cluster.stages import merge_in_stages

    # Identical points come first: no pair needs to be held for them.
    group = by_first_appearance(group_duplicates(points, links.group, links.unlinked))
    clusters = Clusters.of(group)
    apart = np.sort(group[_first_rows(links.group)][links.kept_apart], axis=1)
    more = merge_in_stages(points, clusters, tau, apart, progress, crew)
    alike = _merges_of(group, links.unlinked)
    return concatenate([alike, more])


def _merge_all(
    points: NDArray[np.floating], group: NDArray[np.int64], apart: NDArray[np.int64]
) -> Merges:
    """Make the whole dendrogram of groups with SciPy: with no τ, no pair can be left out."""
    n = len(points)
    size = n * (n - 1) // 2 * 8
    if size > DENSE_BYTES:
        raise InputError(
            f"{n:,} rows with no threshold need {size / 2**30:.0f} GiB of distances; "
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
    # SciPy wants finite distances; merges at the largest float are dropped again below.
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
    """Return the largest squared distance of every two groups, and 0 of a group and itself."""
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
    """Merge every row, or every one of some, into the first row of its group, at height 0."""
    first = _first_rows(group)[group]
    rows = np.arange(len(group)) if rows is None else rows
    others = rows[first[rows] != rows]
    return first[others], others, np.zeros(len(others))


def check_points(X: ArrayLike) -> NDArray[np.floating]:
    """Return points as a float32 or float64 matrix, or say what is wrong with them."""
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
