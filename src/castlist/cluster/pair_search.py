"""Search the pairs of points within τ, which are all that complete linkage stopped at τ needs.

Tiles of a float32 matrix product give candidates, with a margin for rounding. Candidates are then
decided by distances in float64, so rounding never changes a partition.

Most pairs are excluded by the triangle inequality. BCL's embeddings are balls with gaps. A pivot is
the centre of a ball, found in a sample; a point within ρ of its pivot is *covered*. A point within
√τ of a covered point is within ρ + √τ of its pivot, so all others are skipped. Points that no pivot
covers are compared with each other. The search is exact: bad pivots cost time, and lose no pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from castlist.parallel import in_threads

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]

#: Sides of a tile of the distance matrix: 8 MiB, small enough for the processor's cache.
TILE_ROWS, TILE_COLUMNS = 512, 4096
_COLUMNS_PER_JOB = 2**17  # so that a job takes a fraction of a second
#: Below this many points, comparing all pairs takes less time than finding pivots.
FEW_POINTS = 16_384
_SAMPLE = 65_536  # points in which balls are searched, at most …
_POINTS_PER_SAMPLED = 10  # … and at most one in this many, so that sampling costs little
_PROBES = 16_384  # points of the sample from which the cost of a search is estimated
_MOST_PAIRS = 2**25  # near pairs of the sample
_WORTHWHILE = 0.7  # pivots are used if they leave at most this share of all pairs
_PIVOTS_PER_JOB = 16
_REACHED_AT_ONCE = 65_536


@dataclass(frozen=True)
class Job:
    """A part of a search, for one thread or worker. The search interprets ``where``."""

    where: tuple[int, ...]
    cost: int  # about the number of pairs compared


class Search(Protocol):
    """A search for candidate pairs, in parts.

    The search holds all arrays, and a job only a few numbers: the arrays are sent to a machine
    once.
    """

    def jobs(self) -> Iterator[Job]:
        """Yield the parts, which together cover every pair that may be near."""

    def run(self, job: Job) -> Iterator[Pairs]:
        """Yield the candidate pairs (i, j) of a part, with i < j."""


@dataclass(frozen=True)
class Edges:
    """Pairs of nodes and their squared distances; ``left < right`` in every pair."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    length: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)

    def renumbered(self, nodes: NDArray[np.int64]) -> Edges:
        """Return the edges with each node replaced by its place among these, in ascending order."""
        left, right = (np.searchsorted(nodes, ends) for ends in (self.left, self.right))
        return Edges(left.astype(np.int32), right.astype(np.int32), self.length)

    @classmethod
    def concatenate(cls, parts: list[Edges]) -> Edges:
        """Concatenate edges."""
        return cls(
            np.concatenate([np.empty(0, np.int32), *(part.left for part in parts)]),
            np.concatenate([np.empty(0, np.int32), *(part.right for part in parts)]),
            np.concatenate([np.empty(0), *(part.length for part in parts)]),
        )


class Cloud:
    """Points in a form whose matrix products are squared distances.

    Points are centred and scaled into the unit ball, so that float32 cannot overflow. ``rows @
    columns.T`` is |x|² + |y|² − 2xy: ``rows`` are (−2x, |x|², 1), ``columns`` are (y, 1, |y|²).
    """

    def __init__(self, points: NDArray[np.floating]) -> None:
        n, dim = points.shape
        centre = points.mean(axis=0) if n else np.zeros(dim)
        widest = 0.0
        for block in _blocks(n):
            square = np.square(points[block] - centre).sum(axis=1)
            widest = max(widest, float(square.max(initial=0.0)))
        self.unit = 1 / np.sqrt(widest) if widest > 0 and np.isfinite(widest) else 1.0
        self.columns = np.empty((n, dim + 2), np.float32)
        for block in _blocks(n):
            small = (points[block] - centre) * self.unit
            self.columns[block, :dim] = small
            self.columns[block, dim] = 1
            self.columns[block, dim + 1] = np.square(small).sum(axis=1)
        # The largest error of an entry, in units of 2⁻²⁴: 8 from rounding the points, 2 from the
        # norms, 4 D + 8 from a sum of D + 2 products of at most 4 together, 5 from the limit.
        self.slack = (4 * dim + 32) * 2.0**-24

    def __len__(self) -> int:
        return len(self.columns)

    def subset(self, chosen: NDArray[np.int64]) -> Cloud:
        """Return chosen points, in the same coordinates."""
        part = object.__new__(Cloud)
        part.unit, part.slack = self.unit, self.slack
        part.columns = self.columns[chosen]
        return part

    def rows(self, chosen: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the left factor of the product for chosen points."""
        return as_rows(self.columns[chosen])

    def limit(self, threshold: float) -> np.float32:
        """Return the largest entry of the product that may be a pair within the threshold."""
        return np.float32(min(threshold * self.unit**2, 4.0) + self.slack)


def as_rows(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows (−2y, |y|², 1) for columns (y, 1, |y|²)."""
    rows = columns * np.float32(-2)
    rows[:, -2] = columns[:, -1]
    rows[:, -1] = 1
    return rows


def pairs_within(
    cloud: Cloud, threshold: float, chosen: NDArray[np.int64] | None = None
) -> AllPairs:
    """Return a search that compares every pair of points.

    Parameters
    ----------
    cloud : Cloud
        All points.
    threshold : float
        Squared distance.
    chosen : ndarray of int, optional
        Compare only these points, given in ascending order.
    """
    if chosen is None:
        return AllPairs(cloud.columns, cloud.limit(threshold), None)
    return AllPairs(cloud.columns[chosen], cloud.limit(threshold), chosen.astype(np.int32))


@dataclass(frozen=True)
class AllPairs:
    """A search that compares every pair; a job is a row of tiles."""

    columns: NDArray[np.float32]
    limit: np.float32
    names: NDArray[np.int32] | None

    def jobs(self) -> Iterator[Job]:
        """Yield the parts."""
        n = len(self.columns)
        for top in range(0, n, TILE_ROWS):
            for begin in range(top, n, _COLUMNS_PER_JOB):
                end = min(begin + _COLUMNS_PER_JOB, n)
                yield Job((top, begin, end), cost=TILE_ROWS * (end - begin))

    def run(self, job: Job) -> Iterator[Pairs]:
        """Yield the candidate pairs of a part."""
        top, begin, end = job.where
        columns, names = self.columns, self.names
        rows = as_rows(columns[top : top + TILE_ROWS])
        for left in range(begin, end, TILE_COLUMNS):
            i, j = near(rows, columns[left : min(left + TILE_COLUMNS, end)], self.limit)
            i += top
            j += left
            if left < top + TILE_ROWS:
                above = j > i
                i, j = i[above], j[above]
            if len(i):
                yield (i, j) if names is None else (names[i], names[j])


def near(rows: NDArray[np.float32], columns: NDArray[np.float32], limit: np.float32) -> Pairs:
    """Return the entries of ``rows @ columns.T`` that are at most the limit."""
    tile = rows @ columns.T
    counts = _count(tile, limit)
    ends = np.cumsum(counts)
    if not ends[-1]:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    i, j = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.int32)
    _fill(tile, limit, ends - counts, counts, i, j)
    return i, j


@njit(cache=True, nogil=True)
def _count(tile, limit):  # type: ignore[no-untyped-def]
    counts = np.zeros(tile.shape[0], np.int64)
    for i in range(tile.shape[0]):
        found = 0
        for j in range(tile.shape[1]):
            found += tile[i, j] <= limit
        counts[i] = found
    return counts


@njit(cache=True, nogil=True)
def _fill(tile, limit, starts, counts, rows, columns):  # type: ignore[no-untyped-def]
    for i in range(tile.shape[0]):
        if counts[i]:
            place = starts[i]
            for j in range(tile.shape[1]):
                if tile[i, j] <= limit:
                    rows[place] = i
                    columns[place] = j
                    place += 1


def _blocks(n: int, size: int = 65_536) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@dataclass(frozen=True)
class Pivots:
    """Centres of balls, as columns of a :class:`Cloud`, and their radius.

    Attributes
    ----------
    columns : ndarray of shape (n_pivots, dim + 2)
        The pivots.
    cover : float32
        The largest entry (squared distance in the cloud) at which a pivot covers a point.
    """

    columns: NDArray[np.float32]
    cover: np.float32

    def __len__(self) -> int:
        return len(self.columns)

    def reach(self, cloud: Cloud, threshold: float) -> np.float32:
        """Return the largest entry at which a point may be near a point that the pivot covers."""
        radius = np.sqrt(float(self.cover) + cloud.slack)
        distance = np.sqrt(float(cloud.limit(threshold)))
        return np.float32((radius + distance) ** 2 + 2 * cloud.slack)


def pair_search(cloud: Cloud, threshold: float, pivots: Pivots | None) -> Search:
    """Return a search for the pairs that may be near, by pivots if there are any."""
    if pivots is None:
        return pairs_within(cloud, threshold)
    return pairs_by_pivots(cloud, threshold, pivots)


def find_pivots(cloud: Cloud, threshold: float) -> Pivots | None:
    """Return pivots found in a sample; None if comparing all pairs is estimated to be faster."""
    n = len(cloud)
    if n < FEW_POINTS:
        return None
    size = min(n // _POINTS_PER_SAMPLED, _SAMPLE)
    sample = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    columns = cloud.columns[sample]
    candidates = _centres(columns, cloud.limit(threshold))
    if not len(candidates):
        return None
    pivots = Pivots(candidates, np.float32(float(cloud.limit(threshold)) / 4))  # b = τ / 4
    probes = columns[:: max(1, size // _PROBES)]
    share, best = _estimate_cost(pivots, pivots.reach(cloud, threshold), probes, n)
    return Pivots(candidates[:best], pivots.cover) if share <= _WORTHWHILE else None


def _centres(columns: NDArray[np.float32], limit: np.float32) -> NDArray[np.float32]:
    """Group a sample around its points with most neighbours; return the means, largest first."""
    n, dim = len(columns), columns.shape[1] - 2
    lists: list[Pairs] = []
    count = 0

    def near_rows(start: int) -> Pairs:
        return near(as_rows(columns[start : start + TILE_ROWS]), columns, limit)

    for start, (i, j) in in_threads(range(0, n, TILE_ROWS), near_rows):
        lists.append((i + start, j))
        count += len(i)
        if count > _MOST_PAIRS:  # one dense cluster: there are no gaps to use
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
    centres = np.array(means, np.float32)[np.argsort(-np.array(sizes), kind="stable")]
    norms = np.square(centres.astype(np.float64)).sum(axis=1).astype(np.float32)
    return np.column_stack([centres, np.ones(len(centres), np.float32), norms])


def _estimate_cost(
    pivots: Pivots, reach: np.float32, sample: NDArray[np.float32], n: int
) -> tuple[float, int]:
    """Return the least estimated share of pairs to compare, and the number of pivots for it."""
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
    # In units of n²/2: two passes over n × pivots, covered × reached, pairs of uncovered points.
    cost = 4 * used / n + 2 * among_covered + uncovered**2
    best = int(np.argmin(cost))
    return float(cost[best]), best + 1


def pairs_by_pivots(cloud: Cloud, threshold: float, pivots: Pivots) -> ByPivots:
    """Return a search that uses pivots."""
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
    """A search by pivots; a job is some pivots, or a job of ``rest``, among the uncovered points.

    Points are in the order of their pivots. A pair is found by the pivot of its earlier point.
    """

    pivots: NDArray[np.float32]
    columns: NDArray[np.float32]
    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    limit: np.float32
    reach: np.float32
    rest: AllPairs

    def jobs(self) -> Iterator[Job]:
        """Yield the parts."""
        for first in range(0, len(self.pivots), _PIVOTS_PER_JOB):
            yield Job(
                (first,), cost=_PIVOTS_PER_JOB * (len(self.columns) - int(self.starts[first]))
            )
        yield from self.rest.jobs()

    def run(self, job: Job) -> Iterator[Pairs]:
        """Yield the candidate pairs of a part."""
        return self._run(job.where[0]) if len(job.where) == 1 else self.rest.run(job)

    def _run(self, first: int) -> Iterator[Pairs]:
        columns, starts = self.columns, self.starts
        some = as_rows(self.pivots[first : first + _PIVOTS_PER_JOB])
        reached: list[list[NDArray[np.int32]]] = [[] for _ in range(len(some))]
        for left in range(starts[first], len(columns), _REACHED_AT_ONCE):
            q, y = near(some, columns[left : left + _REACHED_AT_ONCE], self.reach)
            cuts = np.searchsorted(q, np.arange(len(some) + 1))
            for k in range(len(some)):
                reached[k].append(y[cuts[k] : cuts[k + 1]] + left)
        for k, parts in enumerate(reached):
            own = slice(starts[first + k], starts[first + k + 1])
            if own.stop > own.start:
                candidates = np.concatenate(parts)
                candidates = candidates[candidates >= own.start]
                yield from _covered_and_reached(columns, self.order, own, candidates, self.limit)


def _covered_and_reached(
    columns: NDArray[np.float32], order: NDArray[np.int32], own: slice,
    reached: NDArray[np.int32], limit: np.float32,
) -> Iterator[Pairs]:  # fmt: skip
    """Yield the pairs of a point that a pivot covers and a point within its reach."""
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

    def covering(start: int) -> Pairs:
        return near(cloud.rows(slice(start, start + TILE_ROWS)), pivots.columns, pivots.cover)

    for start, (i, q) in in_threads(range(0, len(cloud), TILE_ROWS), covering):
        first = np.concatenate([[True], i[1:] != i[:-1]]) if len(i) else np.empty(0, bool)
        pivot_of[start + i[first]] = q[first]
    return pivot_of
