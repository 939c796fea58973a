"""Complete linkage stopped at τ, in steps that fit into memory.

Complete linkage merges in order of height, so stopping at t and going on to τ later is the same as
going to τ at once. Two clusters can only be within t if their first points are, so a step looks at
one point a cluster. What it finds is a graph whose connected components are independent:

- if its edges fit into the budget, they are kept, measured and merged;
- if not, only the components are kept. A small one is merged over a block of all its distances;
  for a large one a smaller t comes first, and what that merges has fewer pairs later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from castlist.cluster.chain import merge_graph
from castlist.cluster.clusters import Clusters
from castlist.cluster.components import merge_components, unite
from castlist.cluster.executor import Crew, Threads
from castlist.cluster.graph import Cloud, Edges, Pairs
from castlist.cluster.jobs import find_edges, find_pairs, measure_pairs, merge_small
from castlist.cluster.merges import NO_MERGES, Merges, concatenate
from castlist.cluster.pivots import find_pivots, prunable_pairs
from castlist.errors import CastlistError
from castlist.parallel import interruptible
from castlist.progress import Progress, silent

#: Edges held at once: so many a point, but within bounds. An edge costs about 60 bytes.
EDGES_A_POINT = 64
EDGES_AT_LEAST, EDGES_AT_MOST = 2**20, 24 * 2**20
#: Clusters of a component merged over a block of its distances: at most 128 MiB a thread.
BLOCK_SIDE = 4096
_PAIRS_A_JOB = 2**17


def merge_in_stages(
    points: NDArray[np.floating],
    clusters: Clusters,
    threshold: float,
    apart: NDArray[np.int64],
    progress: Progress = silent,
    crew: Crew | None = None,
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
    crew : Crew, optional
        Who does the work: the threads of this machine if not given.

    Returns
    -------
    kept, gone, height : ndarrays
        A merge each, in order of height, of clusters called by their first points.
    """
    if len(clusters) < 2:
        return NO_MERGES
    stages = _Stages(points, clusters, threshold, apart, progress, crew or Threads())
    everybody = np.arange(len(clusters))
    if stages.affordable(everybody, threshold) < threshold:
        # Half of τ keeps balls whole but apart: most merges are made in small components there.
        stages.merge_up_to(threshold / 2)
    stages.merge_up_to(threshold)
    kept, gone, height = concatenate(stages.done)
    order = np.argsort(height, kind="stable")  # stable: a merge stays behind those it is made of
    return kept[order], gone[order], height[order]


class _Stages:
    """The clusters so far, and how they are merged further."""

    def __init__(
        self, points: NDArray[np.floating], clusters: Clusters, threshold: float,
        apart: NDArray[np.int64], progress: Progress, crew: Crew,
    ) -> None:  # fmt: skip
        self.crew = crew
        self.points, self.kept_points = points, crew.keep(points)
        self.clusters = clusters
        self.apart = apart
        self.progress = progress
        self.budget = min(max(EDGES_AT_LEAST, EDGES_A_POINT * len(points)), EDGES_AT_MOST)
        self.cloud = Cloud(points)
        self.pivots = find_pivots(self.cloud, threshold)
        self.done: list[Merges] = []

    def merge_up_to(self, threshold: float) -> None:
        """Make every merge within the threshold."""
        pairs, component = self._look(threshold)
        if pairs is not None:
            parts = (slice(at, at + _PAIRS_A_JOB) for at in range(0, len(pairs[0]), _PAIRS_A_JOB))
            kept = (self.crew.keep(pairs), *self._kept(), threshold)
            found = self.crew.do(measure_pairs, parts, *kept)
            edges = Edges.concatenate([measured for _, measured in found])
            self._apply(merge_components(edges, component, self.crew))
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
        """Merge one large component, given by its points, by way of smaller thresholds."""
        reached = 0.0
        while reached < threshold:
            chosen = np.unique(self.clusters.label[points])
            stop = self.affordable(chosen, threshold)
            if stop <= reached:  # the estimate counts pairs that are near but cannot merge
                stop = min(1.1 * reached, threshold) if reached else threshold
            while (edges := self._edges_that_fit(chosen, stop)) is None:
                if not reached < (reached + stop) / 2 < stop:
                    raise CastlistError(
                        f"more than {self.budget:,} pairs of clusters are {stop:g} apart to the "
                        "last digit, too many for memory; add a little noise, or thin the points"
                    )
                stop = (reached + stop) / 2
            kept, gone, height = interruptible(merge_graph, edges, len(chosen))
            self._apply((chosen[kept], chosen[gone], height))
            reached = stop

    def _apply(self, merges: Merges) -> None:
        """Make merges of clusters."""
        kept, gone, height = merges
        first = self.clusters.first
        self.done.append((first[kept], first[gone], height))
        self.clusters = self.clusters.merged(kept, gone)
        apart = np.sort(self.clusters.label[first][self.apart], axis=1)
        self.apart = np.unique(apart, axis=0)

    def _look(self, threshold: float) -> tuple[Pairs | None, NDArray[np.int64]]:
        """Find the pairs of clusters that may be within the threshold, and their components.

        Pairs are None if there are more than the budget.
        """
        n = len(self.clusters)
        parent = np.arange(n)
        pairs: list[Pairs] | None = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        count = looked = 0
        search = prunable_pairs(self.cloud.subset(self.clusters.first), threshold, self.pivots)
        jobs = ((job, count > self.budget) for job in search.jobs())
        kept = (self.crew.keep(search), n, self.budget)
        for (job, _), (n_found, found) in self.crew.do(find_pairs, jobs, *kept):
            for i, j in found:
                unite(parent, i, j)
            count += n_found
            if pairs is not None:
                pairs = None if count > self.budget else pairs + found
            looked += job.cost
            self._tell(looked, n)
        root = parent[parent]
        while not np.array_equal(root, parent):
            parent, root = root, root[root]
        if pairs is None:
            return None, root
        left, right = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
        return (left, right), root

    def _edges_that_fit(self, chosen: NDArray[np.int64], threshold: float) -> Edges | None:
        """Find the edges between chosen clusters, as numbers in ``chosen``; None if too many."""
        cloud = self.cloud.subset(self.clusters.first[chosen])
        search = prunable_pairs(cloud, threshold, self.pivots)
        keep = self.crew.keep
        kept = (keep(search), keep(chosen), *self._kept(), threshold, self.budget)
        parts: list[Edges] = []
        count = looked = 0
        for job, found in self.crew.do(find_edges, search.jobs(), *kept):
            parts += found
            count += sum(map(len, found))
            if count > self.budget:
                return None
            looked += job.cost
            self._tell(looked, len(chosen))
        return Edges.concatenate(parts)

    def _kept(self) -> tuple[Any, Any, Any]:
        """Keep what distances between clusters are measured with."""
        forbidden = np.sort(self.apart[:, 0] * len(self.clusters) + self.apart[:, 1])
        return self.kept_points, self.crew.keep(self.clusters), self.crew.keep(forbidden)

    def _tell(self, looked: int, n: int) -> None:
        self.progress("looking at pairs", min(looked, n * n // 2), n * n // 2)

    def _merged_blocks(
        self, members: NDArray[np.int64], cuts: NDArray[np.int64], threshold: float
    ) -> Merges:
        """Merge the small components, each over a block of its distances."""
        kept = (self.crew.keep(members), self.crew.keep(cuts), *self._kept(), threshold)
        merged = []
        for (_, end), merges in self.crew.do(merge_small, _runs(np.diff(cuts)), *kept):
            merged.append(merges)
            self.progress("merging", int(cuts[end]), len(members))
        return concatenate(merged)

    def affordable(self, chosen: NDArray[np.int64], threshold: float) -> float:
        """Return the largest threshold that promises to stay within the budget of edges."""
        n = len(chosen)
        if n * (n - 1) // 2 <= self.budget:
            return threshold
        rng = np.random.default_rng(0)
        some = np.sort(rng.choice(n, min(n, 256), replace=False))
        others = np.sort(rng.choice(n, min(n, 4096), replace=False))
        first = self.clusters.first[chosen]
        distances = cdist(self.points[first[some]], self.points[first[others]], "sqeuclidean")
        distances = distances[some[:, None] != others]
        allowed = self.budget / (n * (n - 1) / 2) / 2  # half, because it is a guess
        return min(float(np.quantile(distances, allowed)), threshold)


def _runs(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Put small components together into jobs of about equal work; leave out the large."""
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
