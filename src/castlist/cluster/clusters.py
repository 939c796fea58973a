"""The clusters made so far, and exact complete-linkage distances between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray


@dataclass(frozen=True)
class Clusters:
    """Points in clusters, numbered in the order of their first points.

    Attributes
    ----------
    label : ndarray of int, shape (n_points,)
        The cluster of each point.
    order, starts : ndarray of int
        Points of cluster ``c`` are ``order[starts[c]:starts[c + 1]]``, in ascending order.
    """

    label: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, label: NDArray[np.int64]) -> Clusters:
        """Make clusters of labels numbered by first appearance."""
        order = np.argsort(label, kind="stable")
        n_clusters = int(label.max()) + 1 if len(label) else 0
        return cls(label, order, np.searchsorted(label[order], np.arange(n_clusters + 1)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first(self) -> NDArray[np.int64]:
        """The first point of each cluster, which stands for it."""
        return self.order[self.starts[:-1]]

    def points_of(self, cluster: int) -> NDArray[np.int64]:
        """Return the points of a cluster."""
        return self.order[self.starts[cluster] : self.starts[cluster + 1]]

    def merged(self, kept: NDArray[np.int64], gone: NDArray[np.int64]) -> Clusters:
        """Return the clusters after merges, each of a cluster into one of a smaller number."""
        into = np.arange(len(self))
        for a, b in zip(kept[::-1].tolist(), gone[::-1].tolist(), strict=True):
            into[b] = into[a]  # last merges first: a's own end is known when b needs it
        numbers = np.cumsum(into == np.arange(len(self))) - 1
        return Clusters.of(numbers[into][self.label])


#: Let the compiler sum in any order, or it adds one number at a time.
SUMS = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True, fastmath=SUMS)
def distance_within(points, order, starts, left, right, threshold):  # type: ignore[no-untyped-def]
    """Largest squared distance of two clusters, in float64; infinite if above the threshold."""
    longest = 0.0
    for i in range(starts[left], starts[left + 1]):
        a = order[i]
        for j in range(starts[right], starts[right + 1]):
            c = order[j]
            total = 0.0
            for d in range(points.shape[1]):  # no slices: counting references would take longer
                difference = np.float64(points[a, d]) - np.float64(points[c, d])
                total += difference * difference
            if total > threshold:
                return np.inf
            longest = max(longest, total)
    return longest


@njit(cache=True, nogil=True)
def distances_within(points, order, starts, left, right, threshold):  # type: ignore[no-untyped-def]
    """Return :func:`distance_within` for pairs of clusters."""
    out = np.empty(len(left))
    for k in range(len(left)):
        out[k] = distance_within(points, order, starts, left[k], right[k], threshold)
    return out


def group_duplicates(
    points: NDArray[np.floating], group: NDArray[np.int64], free: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put identical points among the free ones, of which no link speaks, into one group.

    They merge at height 0 anyway, and together have as many pairs as their number squared.
    """
    hashes = _hash_rows(points, points.view(f"u{points.itemsize}"), free)
    order = np.argsort(hashes, kind="stable")
    rows = free[order]
    alike = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    alike = alike[(points[rows[alike]] == points[rows[alike + 1]]).all(axis=1)]
    begins = np.ones(len(rows), bool)
    begins[alike + 1] = False
    merged = group.copy()
    merged[rows] = group[rows[begins]][np.cumsum(begins) - 1]
    return merged


@njit(cache=True, nogil=True)
def _hash_rows(points, bits, rows):  # type: ignore[no-untyped-def]
    out = np.empty(len(rows), np.uint64)
    for k in range(len(rows)):
        value = np.uint64(14695981039346656037)
        for d in range(points.shape[1]):
            word = np.uint64(bits[rows[k], d])
            if points[rows[k], d] == 0:  # 0.0 and -0.0 are one value
                word = np.uint64(0)
            value = (value ^ word) * np.uint64(1099511628211)
            value ^= value >> np.uint64(29)
        out[k] = value
    return out
