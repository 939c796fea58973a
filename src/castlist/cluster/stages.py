"""Complete linkage stopped at τ, in stages that fit into memory.

Complete linkage merges in order of height, so stopping at t and going on to τ later is the same as
going to τ at once. A stage at t needs only the graph of clusters within t. If that promises more
edges than the budget, a smaller t comes first; what it merges has fewer pairs later. Two clusters
can only be within t if their first points are, so a stage looks at one point a cluster, and then
measures the clusters that these speak for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.chain import Merges, merge_graph
from castlist.cluster.clusters import Clusters, cluster_distances
from castlist.cluster.graph import Cloud, Edges
from castlist.cluster.pivots import prunable_pairs
from castlist.errors import CastlistError
from castlist.progress import Progress, silent

#: Edges held at once: this many a point, and at least so many. An edge costs about 50 bytes.
EDGES_A_POINT = 16
EDGES_AT_LEAST = 2**21
_MEASURED_AT_ONCE = 2**20


class _TooManyEdges(Exception):
    pass


def merge_in_stages(
    points: NDArray[np.floating],
    clusters: Clusters,
    threshold: float,
    apart: NDArray[np.int64],
    progress: Progress = silent,
) -> Merges:
    """Merge clusters of points while their complete-linkage distance is within the threshold.

    Parameters
    ----------
    points : ndarray of shape (n, dim), float32 or float64
    clusters : Clusters
        What is merged already.
    threshold : float
        τ.
    apart : ndarray of int, shape (m, 2)
        Pairs of clusters that must not merge.
    progress : callable
        Told how far it is.

    Returns
    -------
    kept, gone, height : ndarrays
        A merge each, in order of height, of clusters called by their first points.
    """
    budget = max(EDGES_AT_LEAST, EDGES_A_POINT * len(points))
    done: list[Merges] = []
    reached = -1.0  # everything within this is merged
    while reached < threshold and len(clusters) > 1:
        first = clusters.first
        cloud = Cloud(points[first])
        stop = _affordable(cloud, threshold, reached, budget)
        while True:
            try:
                edges = _edges(points, clusters, cloud, stop, apart, budget, progress)
                break
            except _TooManyEdges:
                lower = (max(reached, 0.0) + stop) / 2
                if not max(reached, 0.0) < lower < stop:
                    raise CastlistError(
                        f"more than {budget:,} pairs of clusters are {stop:g} apart to the last "
                        "digit: too many for memory; add a little noise, or thin the points"
                    ) from None
                stop = lower
        kept, gone, height = merge_graph(edges, len(clusters))
        del edges, cloud
        done.append((first[kept], first[gone], height))
        after = clusters.merged(kept, gone)
        apart = np.unique(np.sort(after.label[first][apart], axis=1), axis=0)
        clusters, reached = after, stop
    if not done:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    kept, gone, height = (np.concatenate(part) for part in zip(*done, strict=True))
    return kept, gone, height


def _affordable(cloud: Cloud, threshold: float, reached: float, budget: int) -> float:
    """Return the largest threshold that promises to stay within the budget of edges."""
    n = len(cloud)
    if n * (n - 1) // 2 <= budget:
        return threshold
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(n, min(n, 512), replace=False))
    others = np.sort(rng.choice(n, min(n, 32_768), replace=False))
    entries = cloud.rows(some) @ cloud.columns[others].T
    entries = entries[some[:, None] != others]
    allowed = budget / (n * (n - 1) / 2) / 2  # as a share of pairs; half, because it is a guess
    if (entries <= cloud.limit(threshold)).mean() <= allowed:
        return threshold
    stop = float(np.quantile(entries, allowed)) / cloud.unit**2
    # Pairs nearer than `reached` are counted although they cannot merge: go on all the same.
    return float(np.clip(stop, max(1.1 * reached, np.finfo(np.float64).tiny), threshold))


def _edges(
    points: NDArray[np.floating], clusters: Clusters, cloud: Cloud, threshold: float,
    apart: NDArray[np.int64], budget: int, progress: Progress,
) -> Edges:  # fmt: skip
    """Find the pairs of clusters within the threshold, cannot-links taken out."""
    n = len(clusters)
    forbidden = apart[:, 0] * n + apart[:, 1]
    found: list[Edges] = []
    n_found = 0
    for left, right in prunable_pairs(cloud, threshold, progress):
        for start in range(0, len(left), _MEASURED_AT_ONCE):
            i, j = left[start : start + _MEASURED_AT_ONCE], right[start : start + _MEASURED_AT_ONCE]
            length = cluster_distances(points, clusters.order, clusters.starts, i, j, threshold)
            good = length <= threshold
            if len(forbidden):
                good &= ~np.isin(i * n + j, forbidden)
            n_found += int(good.sum())
            if n_found > budget:
                raise _TooManyEdges
            found.append(Edges(i[good].astype(np.int32), j[good].astype(np.int32), length[good]))
    if not found:
        return Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
    return Edges(
        np.concatenate([part.left for part in found]),
        np.concatenate([part.right for part in found]),
        np.concatenate([part.length for part in found]),
    )
