"""The graph of pairs within τ: all that complete linkage stopped at τ needs to know.

A pair farther apart than τ can never end in one cluster, so only the pairs within it matter.
Blocks of a float32 matrix product find candidates, with room for its rounding; the distance of
every candidate is then computed in float64, so rounding never decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from castlist.progress import Progress, silent

#: Values in one block of the distance matrix: 64 MiB of float32.
BLOCK_VALUES = 2**24


@dataclass(frozen=True)
class Edges:
    """Pairs of nodes and their squared distances; ``left < right`` in every pair."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    length: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.left)

    def keep(self, chosen: NDArray[np.bool_]) -> Edges:
        """Choose some of the edges."""
        return Edges(self.left[chosen], self.right[chosen], self.length[chosen])


def pairs_within(
    points: NDArray[np.float64], threshold: float, progress: Progress = silent
) -> Edges:
    """Find every pair of points whose squared distance is at most the threshold, exactly."""
    n, dim = points.shape
    centred = points - points.mean(axis=0) if n else points
    radius = np.sqrt(np.square(centred).sum(axis=1).max(initial=0.0))
    unit = 1 / radius if radius > 0 else 1.0
    small = (centred * unit).astype(np.float32)  # in the unit ball: float32 cannot overflow
    norms = np.square(small).sum(axis=1)
    # Error of |x|² + |y|² − 2xy in float32, for points of the unit ball, in units of 2⁻²⁴: rounding
    # the points 8, two norms 2D, twice a product 2D, adding up 12, rounding the limit 5.
    slack = (4 * dim + 32) * 2.0**-24
    limit = np.float32(min(threshold * unit * unit, 4.0) + slack)
    left, right, length = [], [], []
    height = max(1, min(n, BLOCK_VALUES // max(n, 1)))
    for start in range(0, n, height):
        stop = min(start + height, n)
        block = small[start:stop] @ small[start:].T
        block *= -2
        block += norms[start:stop, None]
        block += norms[start:]
        i, j = np.nonzero(block <= limit)
        above = j > i
        i, j = i[above] + start, j[above] + start
        exact = squared_distances(points, i, j)
        near = exact <= threshold
        left.append(i[near].astype(np.int32))
        right.append(j[near].astype(np.int32))
        length.append(exact[near])
        progress("finding pairs", stop, n)
    if not left:
        return Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
    return Edges(np.concatenate(left), np.concatenate(right), np.concatenate(length))


@njit(cache=True, parallel=True, nogil=True)
def squared_distances(points, left, right):  # type: ignore[no-untyped-def]
    """Squared Euclidean distances of chosen pairs, summed over differences in float64."""
    out = np.empty(len(left))
    for k in prange(len(left)):
        total = 0.0
        for d in range(points.shape[1]):
            difference = points[left[k], d] - points[right[k], d]
            total += difference * difference
        out[k] = total
    return out


def contract(edges: Edges, group: NDArray[np.int64], sizes: NDArray[np.int64]) -> Edges:
    """Turn edges of points into edges of groups of points.

    Two groups are joined only if every pair between them is; the edge is as long as the longest.
    """
    a, b = group[edges.left], group[edges.right]
    between = a != b
    a, b, length = a[between], b[between], edges.length[between]
    a, b = np.minimum(a, b), np.maximum(a, b)
    key = a * len(sizes) + b
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    if not len(first):
        return edges.keep(np.zeros(len(edges), bool))
    counts = np.diff(np.append(first, len(key)))
    longest = np.maximum.reduceat(length[order], first)
    a, b = a[order][first], b[order][first]
    whole = counts == sizes[a] * sizes[b]
    return Edges(a[whole].astype(np.int32), b[whole].astype(np.int32), longest[whole])
