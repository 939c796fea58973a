"""Complete linkage and its rivals, each as points and τ to labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]
Labels = NDArray[np.int64]


def ours(points: Points, tau: float) -> Labels:
    from castlist import complete_linkage

    return complete_linkage(points, tau).labels


def without_pivots(points: Points, tau: float) -> Labels:
    from castlist.cluster import pair_search

    pair_search.FEW_POINTS = len(points) + 1
    return ours(points, tau)


def scipy(points: Points, tau: float) -> Labels:
    from scipy.cluster.hierarchy import fcluster, linkage

    merges = linkage(points.astype(np.float64), "complete", "sqeuclidean")
    return np.asarray(fcluster(merges, tau, "distance"))


def fastcluster(points: Points, tau: float) -> Labels:
    from fastcluster import linkage
    from scipy.cluster.hierarchy import fcluster

    merges = linkage(points.astype(np.float64), "complete", "sqeuclidean")
    return np.asarray(fcluster(merges, tau, "distance"))


def sklearn(points: Points, tau: float) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=tau, linkage="complete", metric="sqeuclidean"
    )
    return np.asarray(model.fit_predict(points.astype(np.float64)))


def floor(points: Points, tau: float) -> Labels:
    """Only the float32 products over all pairs, with all of BLAS's threads."""
    for top in range(0, len(points), 2048):
        for left in range(top, len(points), 8192):
            points[top : top + 2048] @ points[left : left + 8192].T
    return np.zeros(len(points), np.int64)


def hdbscan_sklearn(points: Points, tau: float) -> Labels:
    from sklearn.cluster import HDBSCAN

    return np.asarray(HDBSCAN(min_cluster_size=2, copy=True).fit_predict(points))


def fast_hdbscan(points: Points, tau: float) -> Labels:
    from fast_hdbscan import HDBSCAN

    return np.asarray(HDBSCAN(min_cluster_size=2).fit_predict(points))


def dbscan(points: Points, tau: float) -> Labels:
    from sklearn.cluster import DBSCAN

    # Half of τ: at τ itself outliers chain balls together.
    return np.asarray(DBSCAN(eps=np.sqrt(tau / 2), min_samples=2, n_jobs=-1).fit_predict(points))


def finch(points: Points, tau: float) -> Labels:
    from finch import FINCH

    partitions, _, _ = FINCH(points, verbose=False)
    return np.asarray(partitions[:, 0])  # the finest; the others have fewer clusters


def _near_graph(points: Points, tau: float) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    from castlist.cluster.pair_search import Cloud, pairs_within

    cloud = Cloud(points)
    search = pairs_within(cloud, tau / 2)
    pairs = [pair for job in search.jobs() for pair in search.run(job)]
    return np.concatenate([i for i, _ in pairs]), np.concatenate([j for _, j in pairs])


def leiden(points: Points, tau: float) -> Labels:
    import igraph
    import leidenalg

    left, right = _near_graph(points, tau)
    graph = igraph.Graph(len(points), np.column_stack([left, right]))
    found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0)
    return np.asarray(found.membership)


def chinese_whispers(points: Points, tau: float) -> Labels:
    import dlib

    left, right = _near_graph(points, tau)
    edges = [(int(i), int(j)) for i, j in zip(left, right, strict=True)]
    edges += [(i, i) for i in range(len(points))]
    return np.asarray(dlib.chinese_whispers(edges))


def racplusplus(points: Points, tau: float) -> Labels:
    from racplusplus import rac

    # Average linkage; τ as a cosine distance of unit vectors, d² / 2. No connectivity, batches of
    # 1,000, two processors; arguments have no names.
    return np.asarray(rac(points.astype(np.float64), tau / 2, None, 1000, 2, "cosine"))


METHODS: dict[str, Callable[[Points, float], Labels]] = {
    "castlist": ours, "castlist without pivots": without_pivots,
    "SciPy": scipy, "fastcluster": fastcluster, "scikit-learn": sklearn,
    "products alone": floor, "HDBSCAN (scikit-learn)": hdbscan_sklearn,
    "HDBSCAN (fast_hdbscan)": fast_hdbscan, "DBSCAN": dbscan, "FINCH": finch, "Leiden": leiden,
    "Chinese whispers (dlib)": chinese_whispers, "RAC++": racplusplus,
}  # fmt: skip
