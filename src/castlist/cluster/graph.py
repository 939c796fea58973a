"""The graph of pairs within τ: all that complete linkage stopped at τ needs to know.

Tiles of a float32 matrix product find candidates, with room for its rounding; what becomes of a
candidate is decided by distances in float64, so rounding never changes a partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True)
class Job:
    """A part of a search, for one thread or machine; only the search knows what it is."""

    where: tuple[int, ...]
    cost: int  # pairs looked at, about


class Search(Protocol):
    """A way to find candidate pairs, in parts: all of the arrays in it, and next to none in a job.

    So the arrays go to a machine once, and jobs go anywhere.
    """

    def jobs(self) -> Iterator[Job]:
        """List the parts, all of which together look at every pair that may be near."""

    def look(self, job: Job) -> Iterator[Pairs]:
        """Do a part: give pairs (i, j) with i < j."""


#: Sides of a tile of the distance matrix: 8 MiB, small enough to stay near the processor.
TILE_ROWS, TILE_COLUMNS = 512, 4096
_COLUMNS_A_JOB = 2**17  # so that a job takes a fraction of a second


@dataclass(frozen=True)
class Edges:
    """Pairs of nodes and their squared distances; ``left < right`` in every pair."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    length: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)

    def renumbered(self, nodes: NDArray[np.int64]) -> Edges:
        """Call nodes by their place among these, which are in ascending order."""
        left, right = (np.searchsorted(nodes, ends) for ends in (self.left, self.right))
        return Edges(left.astype(np.int32), right.astype(np.int32), self.length)

    @classmethod
    def concatenate(cls, parts: list[Edges]) -> Edges:
        """Put edges behind one another."""
        return cls(
            np.concatenate([np.empty(0, np.int32), *(part.left for part in parts)]),
            np.concatenate([np.empty(0, np.int32), *(part.right for part in parts)]),
            np.concatenate([np.empty(0), *(part.length for part in parts)]),
        )


class Cloud:
    """Points made ready for products whose entries are squared distances.

    Points are centred and shrunk into the unit ball, so that float32 cannot overflow. ``rows @
    columns.T`` is then |x|² + |y|² − 2xy at once: ``rows`` are (−2x, |x|², 1), ``columns`` are
    (y, 1, |y|²).
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
        # Largest error of an entry, in units of 2⁻²⁴: rounding the points 8, the norms 2, summing
        # D + 2 products of together at most 4 is 4 D + 8, rounding the limit 5.
        self.slack = (4 * dim + 32) * 2.0**-24

    def __len__(self) -> int:
        return len(self.columns)

    def subset(self, chosen: NDArray[np.int64]) -> Cloud:
        """Return some of the points, in the same coordinates."""
        part = object.__new__(Cloud)
        part.unit, part.slack = self.unit, self.slack
        part.columns = self.columns[chosen]
        return part

    def rows(self, chosen: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the left side of the product for chosen points."""
        return as_rows(self.columns[chosen])

    def limit(self, threshold: float) -> np.float32:
        """Return the entry below which a pair may be within the threshold."""
        return np.float32(min(threshold * self.unit**2, 4.0) + self.slack)


def as_rows(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn (y, 1, |y|²) into (−2y, |y|², 1)."""
    rows = columns * np.float32(-2)
    rows[:, -2] = columns[:, -1]
    rows[:, -1] = 1
    return rows


def pairs_within(
    cloud: Cloud, threshold: float, chosen: NDArray[np.int64] | None = None
) -> AllPairs:
    """Make ready to look at every pair of points for those that may be within the threshold.

    Parameters
    ----------
    cloud : Cloud
        All points.
    threshold : float
        Squared distance.
    chosen : ndarray of int, optional
        Look only at these points, given in ascending order.
    """
    if chosen is None:
        return AllPairs(cloud.columns, cloud.limit(threshold), None)
    return AllPairs(cloud.columns[chosen], cloud.limit(threshold), chosen.astype(np.int32))


@dataclass(frozen=True)
class AllPairs:
    """A search that looks at every pair; a job is some rows of tiles."""

    columns: NDArray[np.float32]
    limit: np.float32
    names: NDArray[np.int32] | None

    def jobs(self) -> Iterator[Job]:
        """List the parts."""
        n = len(self.columns)
        for top in range(0, n, TILE_ROWS):
            for begin in range(top, n, _COLUMNS_A_JOB):
                end = min(begin + _COLUMNS_A_JOB, n)
                yield Job((top, begin, end), cost=TILE_ROWS * (end - begin))

    def look(self, job: Job) -> Iterator[Pairs]:
        """Do a part."""
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
    """Find the entries of ``rows @ columns.T`` that are at most the limit."""
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
