"""Merge clusters by complete linkage, in compiled code, by the nearest-neighbour chain.

Only clusters joined by an edge may merge. When clusters A and B merge, their common neighbours stay
neighbours, at the larger of the two distances. All other edges of A and B are removed, because some
pair of points between them is not joined. So the graph only shrinks, and no merge crosses its
connected components. The merges inside a component do not depend on the others, so components are
distributed to several workers, and the small ones are merged over blocks of all their distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from castlist.cluster.executor import Executor
from castlist.cluster.linkage import Merges, concatenate
from castlist.cluster.pair_search import Edges
from castlist.parallel import interruptible

#: Allows the compiler to sum in any order; otherwise it adds one number at a time.
SUMS = {"reassoc", "nsz", "contract"}
_TILE = 32  # clusters per side: a tile of distances and its mirror image fit into the cache
#: A graph with fewer edges is merged in less time than it is distributed.
FEW_EDGES = 2**16


@dataclass(frozen=True)
class Clusters:
    """A partition of points into clusters, numbered in the order of their first points.

    Attributes
    ----------
    label : ndarray of int, shape (n_points,)
        The cluster of each point.
    order, starts : ndarray of int
        The points of cluster ``c`` are ``order[starts[c]:starts[c + 1]]``, in ascending order.
    """

    label: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, label: NDArray[np.int64]) -> Clusters:
        """Return the clusters of labels that are numbered by first appearance."""
        order = np.argsort(label, kind="stable")
        n_clusters = int(label.max()) + 1 if len(label) else 0
        return cls(label, order, np.searchsorted(label[order], np.arange(n_clusters + 1)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first(self) -> NDArray[np.int64]:
        """The first point of each cluster."""
        return self.order[self.starts[:-1]]

    def points_of(self, cluster: int) -> NDArray[np.int64]:
        """Return the points of a cluster."""
        return self.order[self.starts[cluster] : self.starts[cluster + 1]]

    def merged(self, kept: NDArray[np.int64], gone: NDArray[np.int64]) -> Clusters:
        """Return the clusters after merges, each of a cluster into one with a smaller number."""
        into = np.arange(len(self))
        for a, b in zip(kept[::-1].tolist(), gone[::-1].tolist(), strict=True):
            into[b] = into[a]  # last merges first: where a ends is known when b needs it
        numbers = np.cumsum(into == np.arange(len(self))) - 1
        return Clusters.of(numbers[into][self.label])


@njit(cache=True, nogil=True, fastmath=SUMS)
def distance_within(points, order, starts, left, right, threshold):  # type: ignore[no-untyped-def]
    """Return the largest squared distance of two clusters; infinite if above the threshold."""
    longest = 0.0
    for i in range(starts[left], starts[left + 1]):
        a = order[i]
        for j in range(starts[right], starts[right + 1]):
            c = order[j]
            total = 0.0
            for d in range(points.shape[1]):  # no slices: reference counting would take longer
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
    """Return groups in which identical points among the free ones, without links, are one group.

    They would merge at height 0, and have a number of pairs that grows with its square.
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


def merge_graph(edges: Edges, n: int) -> Merges:
    """Merge the nodes of a graph as far as its edges allow, by complete linkage.

    Returns
    -------
    kept, gone, height : ndarrays
        One entry per merge: cluster ``gone`` is merged into cluster ``kept``. A cluster is
        identified by its smallest node. A merge comes after those that it builds on.
    """
    merges: Merges = _chain_sparse(*_neighbours(edges.left, edges.right, edges.length, n))
    return merges


@njit(cache=True, nogil=True)
def _neighbours(left, right, length, n):  # type: ignore[no-untyped-def]
    """Return sorted lists of neighbours, by two counting sorts: by neighbour, then by node."""
    degree = np.zeros(n + 1, np.int64)
    for k in range(len(left)):
        degree[left[k] + 1] += 1
        degree[right[k] + 1] += 1
    indptr = np.cumsum(degree)
    place = indptr[:-1].copy()
    by_neighbour = np.empty(indptr[-1], np.int64)  # edge number, negative if seen from the right
    for k in range(len(left)):
        by_neighbour[place[right[k]]] = k
        place[right[k]] += 1
        by_neighbour[place[left[k]]] = -k - 1
        place[left[k]] += 1
    place = indptr[:-1].copy()
    nodes = np.empty(indptr[-1], np.int32)
    lengths = np.empty(indptr[-1])
    for k in by_neighbour:
        edge = k if k >= 0 else -k - 1
        node, other = (left[edge], right[edge]) if k >= 0 else (right[edge], left[edge])
        nodes[place[node]] = other
        lengths[place[node]] = length[edge]
        place[node] += 1
    return indptr, nodes, lengths


@njit(cache=True, nogil=True)
def _find(nodes, start, end, node):  # type: ignore[no-untyped-def]
    """Return the place of a node in its neighbour's sorted list, or -1."""
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low if low < end and nodes[low] == node else -1


@njit(cache=True, nogil=True)
def _nearest(nodes, lengths, start, end, before):  # type: ignore[no-untyped-def]
    """Compact a list of neighbours; return its new end and the nearest neighbour.

    Ties go to ``before``, the previous cluster of the chain, so that the chain ends; then to the
    smallest number.
    """
    write = start
    best, best_length = -1, np.inf
    for read in range(start, end):
        length = lengths[read]
        if length == np.inf:
            continue
        nodes[write] = nodes[read]
        lengths[write] = length
        write += 1
        if length < best_length or (length == best_length and nodes[read] == before):
            best, best_length = nodes[read], length
    return write, best, best_length


@njit(cache=True, nogil=True)
def _chain_sparse(indptr, nodes, lengths):  # type: ignore[no-untyped-def]
    n = len(indptr) - 1
    end = indptr[1:].copy()
    kept = np.empty(n, np.int64)
    gone = np.empty(n, np.int64)
    height = np.empty(n)
    merges = 0
    done = np.zeros(n, np.bool_)
    chain = np.empty(n, np.int64)
    length_of_chain = 0
    seed = 0
    while True:
        if length_of_chain == 0:
            while seed < n and done[seed]:
                seed += 1
            if seed == n:
                break
            chain[0] = seed
            length_of_chain = 1
        top = chain[length_of_chain - 1]
        before = chain[length_of_chain - 2] if length_of_chain > 1 else -1
        end[top], nearest, distance = _nearest(nodes, lengths, indptr[top], end[top], before)
        if nearest < 0:  # no neighbour left: this cluster is complete
            done[top] = True
            length_of_chain -= 1
            continue
        if nearest != before:
            chain[length_of_chain] = nearest
            length_of_chain += 1
            continue
        length_of_chain -= 2
        a, b = min(top, before), max(top, before)
        kept[merges], gone[merges], height[merges] = a, b, distance
        merges += 1
        done[b] = True
        _join(indptr, end, nodes, lengths, a, b)
    return kept[:merges], gone[:merges], height[:merges]


@njit(cache=True, nogil=True)
def _join(indptr, end, nodes, lengths, a, b):  # type: ignore[no-untyped-def]
    """Merge cluster ``b`` into ``a``: common neighbours stay, at the larger distance."""
    i, j = indptr[a], indptr[b]
    while i < end[a] or j < end[b]:
        if j == end[b] or (i < end[a] and nodes[i] < nodes[j]):
            if lengths[i] != np.inf:  # a neighbour of a alone
                c = nodes[i]
                lengths[i] = np.inf
                place = _find(nodes, indptr[c], end[c], a)
                if place >= 0:
                    lengths[place] = np.inf
            i += 1
        elif i == end[a] or nodes[j] < nodes[i]:
            if lengths[j] != np.inf:  # a neighbour of b alone
                c = nodes[j]
                place = _find(nodes, indptr[c], end[c], b)
                if place >= 0:
                    lengths[place] = np.inf
            j += 1
        else:
            c = nodes[i]
            longer = max(lengths[i], lengths[j])
            lengths[i] = longer
            place = _find(nodes, indptr[c], end[c], a)
            if place >= 0:
                lengths[place] = longer
            place = _find(nodes, indptr[c], end[c], b)
            if place >= 0:
                lengths[place] = np.inf
            i += 1
            j += 1
    end[b] = indptr[b]


@njit(cache=True, nogil=True)
def merge_blocks(points, order, starts, members, cuts, threshold, forbidden):  # type: ignore[no-untyped-def]
    """Merge the clusters of each component over a block of all their distances.

    Component ``c`` consists of the clusters ``members[cuts[c]:cuts[c + 1]]``, in ascending order.
    Clusters are given by ``points``, ``order`` and ``starts``. Forbidden pairs are sorted keys
    ``i * n + j`` with i < j.
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
    """Return the distances of some clusters; infinite if above the threshold or forbidden."""
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
    """Merge over a full symmetric matrix, which is overwritten; infinite where there is no edge.

    A merge changes a row and, by symmetry, a column. Only the row is written: another row applies
    the merges made since its last use when it is used next. Its numbers are adjacent in memory,
    while those of a column are on one page each.
    """
    n = len(distance)
    kept, gone, height = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    merges = 0
    applied = np.zeros(n, np.int64)  # number of merges applied to each row
    done = np.zeros(n, np.bool_)  # merged into another cluster, or without a neighbour
    chain = np.empty(n, np.int64)
    length, start = 0, 0
    while True:
        if length == 0:
            while start < n and done[start]:
                start += 1
            if start == n:
                return kept[:merges], gone[:merges], height[:merges]
            chain[0] = start
            length = 1
        top = chain[length - 1]
        before = chain[length - 2] if length > 1 else -1
        row = distance[top]
        _apply_merges(row, kept, gone, applied[top], merges)
        applied[top] = merges
        shortest = _least(row)
        if shortest == np.inf:
            done[top] = True
            length -= 1
        elif before >= 0 and row[before] == shortest:
            a, b = min(top, before), max(top, before)
            length -= 2
            _apply_merges(distance[before], kept, gone, applied[before], merges)
            for k in range(n):
                distance[a, k] = max(distance[a, k], distance[b, k])
            kept[merges], gone[merges], height[merges] = a, b, shortest
            merges += 1
            distance[a, a] = np.inf
            distance[a, b] = np.inf
            applied[a] = merges
            done[b] = True
        else:
            nearest = 0
            while row[nearest] != shortest:
                nearest += 1
            chain[length] = nearest
            length += 1


@njit(cache=True, nogil=True)
def _apply_merges(row, kept, gone, since, until):  # type: ignore[no-untyped-def]
    for k in range(since, until):
        row[kept[k]] = max(row[kept[k]], row[gone[k]])
        row[gone[k]] = np.inf


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})  # so that it is vectorised
def _least(row):  # type: ignore[no-untyped-def]
    least = np.inf
    for k in range(len(row)):
        least = min(least, row[k])
    return least


def merge_components(edges: Edges, root: NDArray[np.int64], executor: Executor) -> Merges:
    """Merge the nodes of a graph as far as its edges allow, with components in parallel.

    Parameters
    ----------
    edges : Edges
        The graph.
    root : ndarray of int, shape (n_nodes,)
        The smallest node of the component of each node.
    executor : Executor
        Runs the parts.
    """
    n_parts = min(executor.n_parts, len(edges) // FEW_EDGES + 1)
    if n_parts == 1:
        return interruptible(merge_graph, edges, len(root))
    parts = executor.run(_merge_part, _split(edges, root, n_parts))
    return concatenate([merged for _, merged in parts])


def _merge_part(part: tuple[Edges, NDArray[np.int64]]) -> Merges:
    edges, nodes = part
    kept, gone, height = merge_graph(edges, len(nodes))
    return nodes[kept], nodes[gone], height


def _split(
    edges: Edges, root: NDArray[np.int64], n_parts: int
) -> Iterator[tuple[Edges, NDArray[np.int64]]]:
    """Split components into parts of about equally many edges, with nodes renumbered in each."""
    weight = np.bincount(root[edges.left], minlength=len(root))
    part_of_root = (n_parts * (np.cumsum(weight) - weight) // max(1, len(edges))).astype(np.uint16)
    part_of_node = part_of_root[root]
    part_of_edge = part_of_node[edges.left]
    order = np.argsort(part_of_edge, kind="stable")  # of short integers: a radix sort
    cuts = np.searchsorted(part_of_edge[order], np.arange(n_parts + 1))
    for k in range(n_parts):
        own = order[cuts[k] : cuts[k + 1]]
        if len(own):
            nodes = np.flatnonzero(part_of_node == k)
            part = Edges(edges.left[own], edges.right[own], edges.length[own])
            yield part.renumbered(nodes), nodes


@njit(cache=True, nogil=True)
def _root(parent, node):  # type: ignore[no-untyped-def]
    """Return the root of a node's tree, and halve the path to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=True, nogil=True)
def unite(parent, left, right):  # type: ignore[no-untyped-def]
    """Connect pairs of nodes in a union-find forest; the root of a tree is its smallest node."""
    for k in range(len(left)):
        a, b = left[k], right[k]
        a, b = _root(parent, a), _root(parent, b)
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


@njit(cache=True, nogil=True)
def spanning(left, right, scratch):  # type: ignore[no-untyped-def]
    """Return a spanning forest of these pairs: fewer pairs than nodes, with the same components.

    ``scratch`` has one entry per node, all -1, and is restored.
    """
    chosen = np.empty(len(left), np.bool_)
    for k in range(len(left)):
        a, b = left[k], right[k]
        if scratch[a] < 0:
            scratch[a] = a
        if scratch[b] < 0:
            scratch[b] = b
        a, b = _root(scratch, a), _root(scratch, b)
        chosen[k] = a != b
        scratch[b] = a
    for k in range(len(left)):
        scratch[left[k]] = -1
        scratch[right[k]] = -1
    return left[chosen], right[chosen]
