"""Complete linkage over a graph, by the nearest-neighbour chain.

Only pairs joined by an edge may merge. When clusters A and B merge, their common neighbours stay
neighbours, at the larger of the two distances; all others are gone for good, because some pair
between them is not joined. So the graph only shrinks, and its connected components never meet.
A component is merged over its lists of neighbours, or over a dense block where that is smaller.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from castlist.cluster.graph import Edges

Merges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
_BYTES_AN_EDGE = 2 * (4 + 8)  # in neighbour lists: a node and a length, at both ends


def merge_graph(edges: Edges, n: int) -> Merges:
    """Merge the nodes of a graph as far as its edges allow, by complete linkage.

    Returns
    -------
    kept, gone, height : ndarrays
        A merge each, in order of height: cluster ``gone`` joins cluster ``kept``; a cluster is
        called by its smallest node.
    """
    graph = sparse.csr_array((edges.length, (edges.left, edges.right)), shape=(n, n))
    _, component = csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(component, minlength=1)
    n_edges = np.bincount(component[edges.left], minlength=len(sizes))
    dense = 8 * sizes.astype(np.float64) ** 2 <= _BYTES_AN_EDGE * n_edges
    by_component = np.argsort(component[edges.left], kind="stable")
    ends = np.cumsum(n_edges)
    merged = [_merge_sparse(edges.keep(~dense[component[edges.left]]), n)]
    nodes = np.argsort(component, kind="stable")
    place = np.empty(n, np.int64)
    node_ends = np.cumsum(sizes)
    for c in np.flatnonzero(dense & (sizes > 1)):
        chosen = by_component[ends[c] - n_edges[c] : ends[c]]
        members = nodes[node_ends[c] - sizes[c] : node_ends[c]]
        block = np.full((sizes[c], sizes[c]), np.inf)
        place[members] = np.arange(sizes[c])
        i, j = place[edges.left[chosen]], place[edges.right[chosen]]
        block[i, j] = block[j, i] = edges.length[chosen]
        kept, gone, height = _chain_dense(block)
        merged.append((members[kept], members[gone], height))
    kept, gone, height = (np.concatenate(column) for column in zip(*merged, strict=True))
    order = np.argsort(height, kind="stable")  # stable: a merge stays behind those it is made of
    return kept[order], gone[order], height[order]


def _merge_sparse(edges: Edges, n: int) -> Merges:
    ends = np.concatenate([edges.left, edges.right]), np.concatenate([edges.right, edges.left])
    graph = sparse.csr_array((np.concatenate([edges.length] * 2), ends), shape=(n, n))
    graph.sort_indices()
    merges: Merges = _chain_sparse(
        graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data
    )
    return merges


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


@njit(cache=True, nogil=True)
def _find(nodes, start, end, node):  # type: ignore[no-untyped-def]
    """Place of a node in its neighbour's sorted list, or -1."""
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
    """Compact a list of neighbours; return its new end and the nearest.

    Ties go to ``before``, the cluster the chain came from, which is what lets the chain end;
    then to the smallest number.
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
    """Let cluster ``a`` stand for both: common neighbours stay, at the larger distance."""
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
