"""Complete linkage stopped at τ, in steps that fit into memory.

Complete linkage merges in order of height, so stopping at t and going on to τ later is the same as
going to τ at once. Two clusters can only be within t if their first points are, so a step searches
one point per cluster. The pairs that it finds are a graph with independent connected components:

- If the edges fit into the budget, they are kept, measured and merged.
- If not, only the components are kept. A small component is merged over a block of all its
  distances. A large one is first merged up to a smaller t, which leaves fewer pairs.

The functions at the end are the jobs of these steps, which an
:class:`~castlist.cluster.executor.Executor` runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from castlist.cluster.executor import Executor, ThreadExecutor
from castlist.cluster.linkage import NO_MERGES, Merges, concatenate
from castlist.cluster.merging import (
    Clusters,
    distances_within,
    merge_blocks,
    merge_components,
    merge_graph,
    spanning,
    unite,
)
from castlist.cluster.pair_search import (
    Cloud,
    Edges,
    Job,
    Pairs,
    Search,
    find_pivots,
    pair_search,
)
from castlist.errors import CastlistError
from castlist.parallel import interruptible
from castlist.progress import Progress, silent

#: The budget of edges: this number per point, within bounds. An edge takes about 60 bytes.
EDGES_PER_POINT = 64
MIN_EDGES, MAX_EDGES = 2**20, 24 * 2**20
#: Most clusters of a component that is merged over a block of distances: 128 MiB per thread.
BLOCK_SIDE = 4096
_PAIRS_PER_JOB = 2**17


def merge_in_stages(
    points: NDArray[np.floating],
    clusters: Clusters,
    threshold: float,
    apart: NDArray[np.int64],
    progress: Progress = silent,
    executor: Executor | None = None,
) -> Merges:
    """Merge clusters of points while their complete-linkage distance is within the threshold.

    Parameters
    ----------
    points : ndarray of shape (n, dim), float32 or float64
        The points.
    clusters : Clusters
        The clusters to begin with.
    threshold : float
        τ.
    apart : ndarray of int, shape (m, 2)
        Pairs of clusters that must not merge.
    progress : callable
        Called with the stage, the number of items done and the total.
    executor : Executor, optional
        Runs the jobs; the default uses the threads of this process.

    Returns
    -------
    kept, gone, height : ndarrays
        One entry per merge, in order of height. A cluster is identified by its first point.
    """
    if len(clusters) < 2:
        return NO_MERGES
    stages = _Stages(points, clusters, threshold, apart, progress, executor or ThreadExecutor())
    if stages.affordable(np.arange(len(clusters)), threshold) < threshold:
        # At τ/2 most balls are components of their own, small enough for most merges.
        stages.merge_up_to(threshold / 2)
    stages.merge_up_to(threshold)
    kept, gone, height = concatenate(stages.done)
    order = np.argsort(height, kind="stable")  # stable: a merge stays after those it builds on
    return kept[order], gone[order], height[order]


class _Stages:
    """The clusters so far, and the steps that merge them further."""

    def __init__(
        self, points: NDArray[np.floating], clusters: Clusters, threshold: float,
        apart: NDArray[np.int64], progress: Progress, executor: Executor,
    ) -> None:  # fmt: skip
        self.executor = executor
        self.points, self.shared_points = points, executor.put(points)
        self.clusters = clusters
        self.apart = apart
        self.progress = progress
        self.budget = min(max(MIN_EDGES, EDGES_PER_POINT * len(points)), MAX_EDGES)
        self.cloud = Cloud(points)
        self.pivots = find_pivots(self.cloud, threshold)
        self.done: list[Merges] = []

    def merge_up_to(self, threshold: float) -> None:
        """Make every merge within the threshold."""
        pairs, component = self._search(threshold)
        if pairs is not None:
            starts = range(0, len(pairs[0]), _PAIRS_PER_JOB)
            parts = (slice(start, start + _PAIRS_PER_JOB) for start in starts)
            shared = (self.executor.put(pairs), *self._shared(), threshold)
            found = self.executor.run(measure_pairs, parts, *shared)
            edges = Edges.concatenate([measured for _, measured in found])
            self._apply(merge_components(edges, component, self.executor))
            return
        members = np.argsort(component, kind="stable")
        cuts = np.flatnonzero(np.diff(component[members], prepend=-1, append=len(members)))
        large = [
            np.concatenate([self.clusters.points_of(k) for k in members[cuts[c] : cuts[c + 1]]])
            for c in np.flatnonzero(np.diff(cuts) > BLOCK_SIDE)
        ]
        self._apply(self._merged_blocks(members, cuts, threshold))
        for points in large:
            self._merge_large(points, threshold)

    def _merge_large(self, points: NDArray[np.int64], threshold: float) -> None:
        """Merge one large component, given by its points, at increasing thresholds."""
        reached = 0.0
        while reached < threshold:
            chosen = np.unique(self.clusters.label[points])
            stop = self.affordable(chosen, threshold)
            if stop <= reached:  # the estimate counts pairs that are near but cannot merge
                stop = min(1.1 * reached, threshold) if reached else threshold
            while (edges := self._edges_that_fit(chosen, stop)) is None:
                if not reached < (reached + stop) / 2 < stop:
                    raise CastlistError(
                        f"more than {self.budget:,} pairs of clusters have the same distance "
                        f"{stop:g}, too many for memory; add a little noise, or use fewer points"
                    )
                stop = (reached + stop) / 2
            kept, gone, height = interruptible(merge_graph, edges, len(chosen))
            self._apply((chosen[kept], chosen[gone], height))
            reached = stop

    def _apply(self, merges: Merges) -> None:
        """Record merges of clusters, and merge them."""
        kept, gone, height = merges
        first = self.clusters.first
        self.done.append((first[kept], first[gone], height))
        self.clusters = self.clusters.merged(kept, gone)
        apart = np.sort(self.clusters.label[first][self.apart], axis=1)
        self.apart = np.unique(apart, axis=0)

    def _search(self, threshold: float) -> tuple[Pairs | None, NDArray[np.int64]]:
        """Return the pairs of clusters that may be within the threshold, and their components.

        The pairs are None if there are more than the budget.
        """
        n = len(self.clusters)
        parent = np.arange(n)
        pairs: list[Pairs] | None = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        count = searched = 0
        search = pair_search(self.cloud.subset(self.clusters.first), threshold, self.pivots)
        jobs = ((job, count > self.budget) for job in search.jobs())
        shared = (self.executor.put(search), n, self.budget)
        for (job, _), (n_found, found) in self.executor.run(find_pairs, jobs, *shared):
            for i, j in found:
                unite(parent, i, j)
            count += n_found
            if pairs is not None:
                pairs = None if count > self.budget else pairs + found
            searched += job.cost
            self._report(searched, n)
        root = parent[parent]
        while not np.array_equal(root, parent):
            parent, root = root, root[root]
        if pairs is None:
            return None, root
        left, right = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
        return (left, right), root

    def _edges_that_fit(self, chosen: NDArray[np.int64], threshold: float) -> Edges | None:
        """Return the edges between chosen clusters, as places in ``chosen``; None if too many."""
        cloud = self.cloud.subset(self.clusters.first[chosen])
        search = pair_search(cloud, threshold, self.pivots)
        put = self.executor.put
        shared = (put(search), put(chosen), *self._shared(), threshold, self.budget)
        parts: list[Edges] = []
        count = searched = 0
        for job, found in self.executor.run(find_edges, search.jobs(), *shared):
            parts += found
            count += sum(map(len, found))
            if count > self.budget:
                return None
            searched += job.cost
            self._report(searched, len(chosen))
        return Edges.concatenate(parts)

    def _shared(self) -> tuple[Any, Any, Any]:
        """Share what distances between clusters are computed from."""
        forbidden = np.sort(self.apart[:, 0] * len(self.clusters) + self.apart[:, 1])
        return self.shared_points, self.executor.put(self.clusters), self.executor.put(forbidden)

    def _report(self, searched: int, n: int) -> None:
        self.progress("searching pairs", min(searched, n * n // 2), n * n // 2)

    def _merged_blocks(
        self, members: NDArray[np.int64], cuts: NDArray[np.int64], threshold: float
    ) -> Merges:
        """Merge the small components, each over a block of its distances."""
        put = self.executor.put
        shared = (put(members), put(cuts), *self._shared(), threshold)
        merged = []
        for (_, end), merges in self.executor.run(merge_small, _runs(np.diff(cuts)), *shared):
            merged.append(merges)
            self.progress("merging", int(cuts[end]), len(members))
        return concatenate(merged)

    def affordable(self, chosen: NDArray[np.int64], threshold: float) -> float:
        """Return the largest threshold that is estimated to stay within the budget of edges."""
        n = len(chosen)
        if n * (n - 1) // 2 <= self.budget:
            return threshold
        rng = np.random.default_rng(0)
        some = np.sort(rng.choice(n, min(n, 256), replace=False))
        others = np.sort(rng.choice(n, min(n, 4096), replace=False))
        first = self.clusters.first[chosen]
        distances = cdist(self.points[first[some]], self.points[first[others]], "sqeuclidean")
        distances = distances[some[:, None] != others]
        allowed = self.budget / (n * (n - 1) / 2) / 2  # half, because it is an estimate
        return min(float(np.quantile(distances, allowed)), threshold)


def _runs(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Group small components into jobs of about equal work; leave out the large ones."""
    start, work = 0, 0
    for c, size in enumerate(sizes.tolist()):
        if size > BLOCK_SIDE:
            if c > start:
                yield start, c
            start, work = c + 1, 0
            continue
        work += size * size
        if work > 2**20:
            yield start, c + 1
            start, work = c + 1, 0
    if start < len(sizes):
        yield start, len(sizes)


def find_pairs(
    part: tuple[Job, bool], search: Search, n: int, budget: int
) -> tuple[int, list[Pairs]]:
    """Search pairs among ``n`` clusters; return their number, and all or those that connect.

    The flag of a part is set if there are too many pairs already: only their components matter
    then.
    """
    job, too_many = part
    scratch: NDArray[np.int32] | None = None
    found, n_found = [], 0
    for i, j in search.run(job):
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
    """Return the edges among some of the pairs that were found."""
    return measure(pairs[0][part], pairs[1][part], points, clusters, forbidden, threshold)


def measure(
    i: NDArray[Any], j: NDArray[Any], points: NDArray[np.floating], clusters: Clusters,
    forbidden: NDArray[np.int64], threshold: float,
) -> Edges:  # fmt: skip
    """Return the pairs of clusters within the threshold and without a link that forbids them."""
    length = distances_within(points, clusters.order, clusters.starts, i, j, threshold)
    good = length <= threshold
    if len(forbidden):
        good &= ~np.isin(i.astype(np.int64) * len(clusters) + j, forbidden)
    return Edges(i[good], j[good], length[good])


def find_edges(
    job: Job, search: Search, chosen: NDArray[np.int64], points: NDArray[np.floating],
    clusters: Clusters, forbidden: NDArray[np.int64], threshold: float, budget: int,
) -> list[Edges]:  # fmt: skip
    """Return edges between chosen clusters, as places in ``chosen``; stop if there are too many."""
    measured, n_found = [], 0
    for i, j in search.run(job):
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
