"""Finding the pairs within τ without looking at most pairs, by the triangle inequality.

BCL's embeddings are balls with gaps. A pivot is the middle of a ball, found in a sample; a point
within ρ of its pivot is *covered*. Whoever is within √τ of a covered point is within ρ + √τ of its
pivot, so the others need not be looked at. Points that no pivot covers are looked at among
themselves. Nothing is approximate: a bad choice of pivots costs time, never a pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.graph import (
    TILE_COLUMNS,
    TILE_ROWS,
    AllPairs,
    Cloud,
    Job,
    Pairs,
    Search,
    as_rows,
    near,
    pairs_within,
)
from castlist.parallel import in_threads

#: Below this many points looking at all pairs takes less time than thinking about it.
FEW_POINTS = 16_384
_SAMPLE = 65_536  # points in which balls are looked for, at most
_JUDGES = 16_384  # of these, how many say what the pivots promise
_SAMPLE_SHARE = 10  # … and at most one in so many, so that looking costs little
_MOST_PAIRS = 2**25  # near pairs of the sample
_GAIN = 0.7  # pivots are used if they promise less than this part of all pairs
_PIVOTS_AT_ONCE = 16
_REACHED_AT_ONCE = 65_536


@dataclass(frozen=True)
class Pivots:
    """Middles of balls, as columns of a :class:`Cloud`, and how far they reach.

    Attributes
    ----------
    columns : ndarray of shape (n_pivots, dim + 2)
        The pivots.
    cover : float32
        The entry (squared distance in the cloud) up to which a pivot covers a point.
    """

    columns: NDArray[np.float32]
    cover: np.float32

    def __len__(self) -> int:
        return len(self.columns)

    def reach(self, cloud: Cloud, threshold: float) -> np.float32:
        """Return the entry beyond which a point is near no point that the pivot covers."""
        away = np.sqrt(float(self.cover) + cloud.slack)  # a covered point, at the most
        near = np.sqrt(float(cloud.limit(threshold)))
        return np.float32((away + near) ** 2 + 2 * cloud.slack)


def prunable_pairs(cloud: Cloud, threshold: float, pivots: Pivots | None) -> Search:
    """Make ready to look for the pairs that may be near, by pivots if there are any."""
    if pivots is None:
        return pairs_within(cloud, threshold)
    return pairs_by_pivots(cloud, threshold, pivots)


def find_pivots(cloud: Cloud, threshold: float) -> Pivots | None:
    """Look for balls in a sample; None if looking at all pairs promises to be faster."""
    n = len(cloud)
    if n < FEW_POINTS:
        return None
    size = min(n // _SAMPLE_SHARE, _SAMPLE)
    sample = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    columns = cloud.columns[sample]
    candidates = _middles(columns, cloud.limit(threshold))
    if not len(candidates):
        return None
    pivots = Pivots(candidates, np.float32(float(cloud.limit(threshold)) / 4))  # b = τ / 4
    judges = columns[:: max(1, size // _JUDGES)]
    share, best = _promise(pivots, pivots.reach(cloud, threshold), judges, n)
    return Pivots(candidates[:best], pivots.cover) if share <= _GAIN else None


def _middles(columns: NDArray[np.float32], limit: np.float32) -> NDArray[np.float32]:
    """Group a sample around its most crowded points; the means of the groups, largest first."""
    n, dim = len(columns), columns.shape[1] - 2
    lists: list[Pairs] = []
    count = 0

    def look(start: int) -> Pairs:
        return near(as_rows(columns[start : start + TILE_ROWS]), columns, limit)

    for start, (i, j) in in_threads(range(0, n, TILE_ROWS), look):
        lists.append((i + start, j))
        count += len(i)
        if count > _MOST_PAIRS:  # one crowd, no gaps to make use of
            return np.empty((0, dim + 2), np.float32)
    i, j = (np.concatenate(part) for part in zip(*lists, strict=True))
    starts = np.searchsorted(i, np.arange(n + 1))
    free = np.ones(n, bool)
    means, sizes = [], []
    for point in np.argsort(-np.diff(starts), kind="stable").tolist():
        if not free[point]:
            continue
        members = j[starts[point] : starts[point + 1]]
        members = members[free[members]]
        free[members] = False
        if len(members) < 2:
            continue
        means.append(columns[members, :dim].mean(axis=0))
        sizes.append(len(members))
    if not means:
        return np.empty((0, dim + 2), np.float32)
    middle = np.array(means, np.float32)[np.argsort(-np.array(sizes), kind="stable")]
    norms = np.square(middle.astype(np.float64)).sum(axis=1).astype(np.float32)
    return np.column_stack([middle, np.ones(len(middle), np.float32), norms])


def _promise(
    pivots: Pivots, reach: np.float32, sample: NDArray[np.float32], n: int
) -> tuple[float, int]:
    """Estimate, for the first 1, 2, … pivots, the pairs to look at as a part of all; the best."""
    count = len(pivots)
    covered_by = np.full(len(sample), count)
    reached = np.zeros(count)
    for start in range(0, len(sample), TILE_COLUMNS):
        tile = as_rows(sample[start : start + TILE_COLUMNS]) @ pivots.columns.T
        inside = tile <= pivots.cover
        first = np.where(inside.any(axis=1), inside.argmax(axis=1), count)
        covered_by[start : start + TILE_COLUMNS] = first
        reached += (tile <= reach).sum(axis=0)
    own = np.bincount(covered_by, minlength=count + 1)[:count] / len(sample)
    uncovered = 1 - np.cumsum(own)
    among_covered = np.cumsum(own * reached / len(sample))
    used = np.arange(1, count + 1)
    # In units of n²/2: two passes over n × pivots, members × reached, the uncovered's own pairs.
    cost = 4 * used / n + 2 * among_covered + uncovered**2
    best = int(np.argmin(cost))
    return float(cost[best]), best + 1


def pairs_by_pivots(cloud: Cloud, threshold: float, pivots: Pivots) -> ByPivots:
    """Make ready to look for the pairs that may be within the threshold, by pivots."""
    pivot_of = _cover(cloud, pivots)
    order = np.argsort(pivot_of, kind="stable").astype(np.int32)
    starts = np.searchsorted(pivot_of[order], np.arange(len(pivots) + 1))
    return ByPivots(
        pivots.columns, cloud.columns[order], order, starts, cloud.limit(threshold),
        pivots.reach(cloud, threshold),
        pairs_within(cloud, threshold, np.flatnonzero(pivot_of == len(pivots))),
    )  # fmt: skip


@dataclass(frozen=True)
class ByPivots:
    """A search by pivots; a job is some pivots, or one of ``rest``, among the uncovered.

    Points are in the order of their pivots: a pair of covered points is looked at by the earlier.
    """

    pivots: NDArray[np.float32]
    columns: NDArray[np.float32]
    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    limit: np.float32
    reach: np.float32
    rest: AllPairs

    def jobs(self) -> Iterator[Job]:
        """List the parts."""
        for first in range(0, len(self.pivots), _PIVOTS_AT_ONCE):
            yield Job(
                (first,), cost=_PIVOTS_AT_ONCE * (len(self.columns) - int(self.starts[first]))
            )
        yield from self.rest.jobs()

    def look(self, job: Job) -> Iterator[Pairs]:
        """Do a part."""
        return self._look(job.where[0]) if len(job.where) == 1 else self.rest.look(job)

    def _look(self, first: int) -> Iterator[Pairs]:
        columns, starts = self.columns, self.starts
        some = as_rows(self.pivots[first : first + _PIVOTS_AT_ONCE])
        reached: list[list[NDArray[np.int32]]] = [[] for _ in range(len(some))]
        for left in range(starts[first], len(columns), _REACHED_AT_ONCE):
            q, y = near(some, columns[left : left + _REACHED_AT_ONCE], self.reach)
            cuts = np.searchsorted(q, np.arange(len(some) + 1))
            for k in range(len(some)):
                reached[k].append(y[cuts[k] : cuts[k + 1]] + left)
        for k, parts in enumerate(reached):
            own = slice(starts[first + k], starts[first + k + 1])
            if own.stop > own.start:
                there = np.concatenate(parts)
                there = there[there >= own.start]
                yield from _members_and_reached(columns, self.order, own, there, self.limit)


def _members_and_reached(
    columns: NDArray[np.float32], order: NDArray[np.int32], own: slice,
    reached: NDArray[np.int32], limit: np.float32,
) -> Iterator[Pairs]:  # fmt: skip
    for top in range(own.start, own.stop, TILE_ROWS):
        members = as_rows(columns[top : min(top + TILE_ROWS, own.stop)])
        for left in range(0, len(reached), TILE_COLUMNS):
            part = reached[left : left + TILE_COLUMNS]
            i, j = near(members, columns[part], limit)
            i += top
            j = part[j]
            once = (j >= own.stop) | (j > i)
            if once.any():
                a, b = order[i[once]], order[j[once]]
                yield np.minimum(a, b), np.maximum(a, b)


def _cover(cloud: Cloud, pivots: Pivots) -> NDArray[np.int64]:
    """Return the first pivot that covers each point; the number of pivots if none does."""
    pivot_of = np.full(len(cloud), len(pivots))

    def look(start: int) -> Pairs:
        return near(cloud.rows(slice(start, start + TILE_ROWS)), pivots.columns, pivots.cover)

    for start, (i, q) in in_threads(range(0, len(cloud), TILE_ROWS), look):
        first = np.concatenate([[True], i[1:] != i[:-1]]) if len(i) else np.empty(0, bool)
        pivot_of[start + i[first]] = q[first]
    return pivot_of
