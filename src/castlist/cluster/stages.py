"""Complete linkage stopped at τ, in steps that fit into memory.

Complete linkage merges in order of height, so stopping at t and going on to τ later is the same as
going to τ at once. Two clusters can only be within t if their first points are, so a step looks at
one point a cluster. What it finds is a graph whose connected components are independent:

- if its edges fit into the budget, they are kept, measured and merged;
- if not, only the components are kept. A small one is merged over a block of all its distances;
  for a large one a smaller t comes first, and what that merges has fewer pairs later.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from castlist.cluster.blocks import merge_blocks
from castlist.cluster.chain import NO_MERGES, Merges, concatenate, merge_graph
from castlist.cluster.clusters import Clusters, distances_within
from castlist.cluster.graph import Cloud, Edges, Job, Pairs, spanning, unite
from castlist.cluster.pivots import find_pivots, prunable_pairs
from castlist.cluster.threads import in_threads, interruptible
from castlist.errors import CastlistError
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
    if len(clusters) < 2:
        return NO_MERGES
    stages = _Stages(points, clusters, threshold, apart, progress)
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
        apart: NDArray[np.int64], progress: Progress,
    ) -> None:  # fmt: skip
        self.points = points
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
            found = in_threads(parts, lambda s: self._measure(pairs[0][s], pairs[1][s], threshold))
            edges = Edges.concatenate([measured for _, measured in found])
            self._apply(interruptible(merge_graph, edges, len(self.clusters)))
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
        cloud = self.cloud.subset(self.clusters.first)
        parent = np.arange(n)
        pairs: list[Pairs] | None = [(np.empty(0, np.int32), np.empty(0, np.int32))]
        count = looked = 0
        own = threading.local()

        def look(job: Job) -> tuple[int, list[Pairs]]:
            found, n_found = [], 0
            for i, j in job.look():
                n_found += len(i)
                if pairs is None or n_found > self.budget:  # only what connects matters then
                    if not hasattr(own, "scratch"):
                        own.scratch = np.full(n, -1, np.int32)
                    i, j = spanning(i, j, own.scratch)
                found.append((i, j))
            return n_found, found

        jobs = prunable_pairs(cloud, threshold, self.pivots)
        for job, (n_found, found) in in_threads(jobs, look):
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

        def look(job: Job) -> list[Edges]:
            measured, n_found = [], 0
            for i, j in job.look():
                edges = self._measure(chosen[i], chosen[j], threshold)
                measured.append(edges.renumbered(chosen))
                n_found += len(edges)
                if n_found > self.budget:
                    break
            return measured

        cloud = self.cloud.subset(self.clusters.first[chosen])
        parts: list[Edges] = []
        count = looked = 0
        for job, found in in_threads(prunable_pairs(cloud, threshold, self.pivots), look):
            parts += found
            count += sum(map(len, found))
            if count > self.budget:
                return None
            looked += job.cost
            self._tell(looked, len(chosen))
        return Edges.concatenate(parts)

    def _measure(self, i: NDArray[Any], j: NDArray[Any], threshold: float) -> Edges:
        """Keep the pairs of clusters within the threshold and under no cannot-link."""
        clusters, forbidden = self.clusters, self._forbidden()
        length = distances_within(self.points, clusters.order, clusters.starts, i, j, threshold)
        good = length <= threshold
        if len(forbidden):
            good &= ~np.isin(i.astype(np.int64) * len(clusters) + j, forbidden)
        return Edges(i[good], j[good], length[good])

    def _tell(self, looked: int, n: int) -> None:
        self.progress("looking at pairs", min(looked, n * n // 2), n * n // 2)

    def _merged_blocks(
        self, members: NDArray[np.int64], cuts: NDArray[np.int64], threshold: float
    ) -> Merges:
        """Merge the small components, each over a block of its distances."""
        clusters, forbidden = self.clusters, self._forbidden()

        def merge(part: tuple[int, int]) -> Merges:
            own = cuts[part[0] : part[1] + 1]
            merged: Merges = merge_blocks(
                self.points, clusters.order, clusters.starts, members[own[0] : own[-1]],
                own - own[0], threshold, forbidden,
            )  # fmt: skip
            return merged

        merged = []
        for (_, end), merges in in_threads(_runs(np.diff(cuts)), merge):
            merged.append(merges)
            self.progress("merging", int(cuts[end]), len(members))
        return concatenate(merged)

    def _forbidden(self) -> NDArray[np.int64]:
        return np.sort(self.apart[:, 0] * len(self.clusters) + self.apart[:, 1])

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
