"""Complete linkage of small components, each over a block of all its distances."""

from __future__ import annotations

import numpy as np
from numba import njit

from castlist.cluster.clusters import SUMS, distance_within

_TILE = 32  # clusters a side: a tile of distances and its mirror image stay near the processor


@njit(cache=True, nogil=True)
def merge_blocks(points, order, starts, members, cuts, threshold, forbidden):  # type: ignore[no-untyped-def]
    """Merge the clusters of each component while they are within the threshold.

    Component ``c`` is the clusters ``members[cuts[c]:cuts[c + 1]]``, in ascending order; clusters
    are given by points, order and starts. Forbidden pairs are sorted keys ``i * n + j``, i < j.
    """
    kept = np.empty(len(members), np.int64)
    gone = np.empty(len(members), np.int64)
    height = np.empty(len(members))
    made = 0
    for c in range(len(cuts) - 1):
        own = members[cuts[c] : cuts[c + 1]]
        distance = _block(points, order, starts, own, threshold, forbidden)
        first, second, at_height = chain_dense(distance)
        for k in range(len(first)):
            kept[made] = own[first[k]]
            gone[made] = own[second[k]]
            height[made] = at_height[k]
            made += 1
    return kept[:made], gone[:made], height[:made]


@njit(cache=True, nogil=True, fastmath=SUMS)
def _block(points, order, starts, own, threshold, forbidden):  # type: ignore[no-untyped-def]
    """Measure all pairs of some clusters; infinite if above the threshold, forbidden or itself."""
    n, size, linked = len(starts) - 1, len(own), len(forbidden) > 0
    distance = np.empty((size, size))
    for top in range(0, size, _TILE):
        for left in range(top, size, _TILE):
            for a in range(top, min(top + _TILE, size)):
                for b in range(max(left, a), min(left + _TILE, size)):
                    far = np.inf
                    if a != b and not (linked and _has(forbidden, own[a] * n + own[b])):
                        far = distance_within(points, order, starts, own[a], own[b], threshold)
                    distance[a, b] = far
                    distance[b, a] = far
    return distance


@njit(cache=True, nogil=True)
def _has(keys, key):  # type: ignore[no-untyped-def]
    at = np.searchsorted(keys, key)
    return at < len(keys) and keys[at] == key


@njit(cache=True, nogil=True)
def chain_dense(distance):  # type: ignore[no-untyped-def]
    """Merge over a full symmetric matrix, which is used up; no edge is an infinite distance.

    A merge changes a row and, by symmetry, a column. The column is left as it is: a row catches up
    with the merges made since it was last looked at, which are numbers next to each other, where a
    column is one number a page of memory.
    """
    n = len(distance)
    kept, gone, height = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    merges = 0
    seen = np.zeros(n, np.int64)  # merges that a row knows of
    left = np.zeros(n, np.bool_)  # merged away, or with nobody in reach any more
    chain = np.empty(n, np.int64)
    length, start = 0, 0
    while True:
        if length == 0:
            while start < n and left[start]:
                start += 1
            if start == n:
                return kept[:merges], gone[:merges], height[:merges]
            chain[0] = start
            length = 1
        top = chain[length - 1]
        before = chain[length - 2] if length > 1 else -1
        row = distance[top]
        _catch_up(row, kept, gone, seen[top], merges)
        seen[top] = merges
        shortest = _least(row)
        if shortest == np.inf:
            left[top] = True
            length -= 1
        elif before >= 0 and row[before] == shortest:
            a, b = min(top, before), max(top, before)
            length -= 2
            _catch_up(distance[before], kept, gone, seen[before], merges)
            for k in range(n):
                distance[a, k] = max(distance[a, k], distance[b, k])
            kept[merges], gone[merges], height[merges] = a, b, shortest
            merges += 1
            distance[a, a] = np.inf
            distance[a, b] = np.inf
            seen[a] = merges
            left[b] = True
        else:
            nearest = 0
            while row[nearest] != shortest:
                nearest += 1
            chain[length] = nearest
            length += 1


@njit(cache=True, nogil=True)
def _catch_up(row, kept, gone, since, until):  # type: ignore[no-untyped-def]
    for k in range(since, until):
        row[kept[k]] = max(row[kept[k]], row[gone[k]])
        row[gone[k]] = np.inf


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # so that it is vectorised
def _least(row):  # type: ignore[no-untyped-def]
    least = np.inf
    for k in range(len(row)):
        least = min(least, row[k])
    return least
