"""The jobs that complete linkage gives to its crew: functions of a job and of what was kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.blocks import merge_blocks
from castlist.cluster.clusters import Clusters, distances_within
from castlist.cluster.components import spanning
from castlist.cluster.graph import Edges, Job, Pairs, Search
from castlist.cluster.merges import Merges


def find_pairs(
    part: tuple[Job, bool], search: Search, n: int, budget: int
) -> tuple[int, list[Pairs]]:
    """Look for pairs among ``n`` clusters; count them, and give all or those that connect.

    The flag of a part says that there are too many already: only what connects matters then.
    """
    job, too_many = part
    scratch: NDArray[np.int32] | None = None
    found, n_found = [], 0
    for i, j in search.look(job):
        n_found += len(i)
        if too_many or n_found > budget:
            if scratch is None:
                scratch = np.full(n, -1, np.int32)
            i, j = spanning(i, j, scratch)
        found.append((i, j))
    return n_found, found


def measure_pairs(
    part: slice, pairs: Pairs, points: NDArray[np.floating], clusters: Clusters,
    forbidden: NDArray[np.int64], threshold: float,
) -> Edges:  # fmt: skip
    """Measure some of the pairs that were found."""
    return measure(pairs[0][part], pairs[1][part], points, clusters, forbidden, threshold)


def measure(
    i: NDArray[Any], j: NDArray[Any], points: NDArray[np.floating], clusters: Clusters,
    forbidden: NDArray[np.int64], threshold: float,
) -> Edges:  # fmt: skip
    """Keep the pairs of clusters within the threshold and under no cannot-link."""
    length = distances_within(points, clusters.order, clusters.starts, i, j, threshold)
    good = length <= threshold
    if len(forbidden):
        good &= ~np.isin(i.astype(np.int64) * len(clusters) + j, forbidden)
    return Edges(i[good], j[good], length[good])


def find_edges(
    job: Job, search: Search, chosen: NDArray[np.int64], points: NDArray[np.floating],
    clusters: Clusters, forbidden: NDArray[np.int64], threshold: float, budget: int,
) -> list[Edges]:  # fmt: skip
    """Look for edges between chosen clusters, as numbers in ``chosen``; stop if too many."""
    measured, n_found = [], 0
    for i, j in search.look(job):
        edges = measure(chosen[i], chosen[j], points, clusters, forbidden, threshold)
        measured.append(edges.renumbered(chosen))
        n_found += len(edges)
        if n_found > budget:
            break
    return measured


def merge_small(
    part: tuple[int, int], members: NDArray[np.int64], cuts: NDArray[np.int64],
    points: NDArray[np.floating], clusters: Clusters, forbidden: NDArray[np.int64],
    threshold: float,
) -> Merges:  # fmt: skip
    """Merge some small components, each over a block of its distances."""
    own = cuts[part[0] : part[1] + 1]
    merged: Merges = merge_blocks(
        points, clusters.order, clusters.starts, members[own[0] : own[-1]], own - own[0],
        threshold, forbidden,
    )  # fmt: skip
    return merged
