"""Complete linkage of small components, each over a block of all its distances."""

from __future__ import annotations

import numpy as np
from numba import njit

from castlist.cluster.clusters import distance_within


@njit(cache=True, nogil=True)
def merge_blocks(points, order, starts, members, cuts, threshold, forbidden):  # type: ignore[no-untyped-def]
    """Merge the clusters of each component while they are within the threshold.

    Component ``c`` is the clusters ``members[cuts[c]:cuts[c + 1]]``, in ascending order; clusters
    are given by points, order and starts. Forbidden pairs are sorted keys ``i * n + j``, i < j.
    """
    n = len(starts) - 1
    kept = np.empty(len(members), np.int64)
    gone = np.empty(len(members), np.int64)
    height = np.empty(len(members))
    made = 0
    for c in range(len(cuts) - 1):
        own = members[cuts[c] : cuts[c + 1]]
        distance = np.full((len(own), len(own)), np.inf)
        for a in range(len(own)):
            for b in range(a + 1, len(own)):
                if len(forbidden):
                    key = own[a] * n + own[b]
                    at = np.searchsorted(forbidden, key)
                    if at < len(forbidden) and forbidden[at] == key:
                        continue
                far = distance_within(points, order, starts, own[a], own[b], threshold)
                distance[a, b] = far
                distance[b, a] = far
        first, second, at_height = _chain_dense(distance)
        for k in range(len(first)):
            kept[made] = own[first[k]]
            gone[made] = own[second[k]]
            height[made] = at_height[k]
            made += 1
    return kept[:made], gone[:made], height[:made]


@njit(cache=True, nogil=True)
def _chain_dense(distance):  # type: ignore[no-untyped-def]
    """Merge over a full matrix, which is used up; no edge is an infinite distance."""
    n = len(distance)
    kept, gone, height = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    merges = 0
    active = np.arange(n)  # clusters not merged away, in order
    n_active = n
    chain = np.empty(n, np.int64)
    length = 0
    while n_active > 1:
        if length == 0:
            chain[0] = active[0]
            length = 1
        top = chain[length - 1]
        before = chain[length - 2] if length > 1 else -1
        row = distance[top]
        nearest, shortest = before, (row[before] if before >= 0 else np.inf)
        for k in range(n_active):
            other = active[k]
            if row[other] < shortest and other != top:
                nearest, shortest = other, row[other]
        if shortest == np.inf or nearest == before:
            # Complete, or two that are each other's nearest: one leaves the game.
            leaving = top
            length -= 1
            if shortest < np.inf:
                length -= 1
                a, leaving = min(top, before), max(top, before)
                kept[merges], gone[merges], height[merges] = a, leaving, shortest
                merges += 1
                for k in range(n_active):
                    other = active[k]
                    longer = max(distance[a, other], distance[leaving, other])
                    distance[a, other] = longer
                    distance[other, a] = longer
            place = np.searchsorted(active[:n_active], leaving)
            active[place : n_active - 1] = active[place + 1 : n_active].copy()
            n_active -= 1
        else:
            chain[length] = nearest
            length += 1
    return kept[:merges], gone[:merges], height[:merges]
