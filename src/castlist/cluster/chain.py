"""Complete linkage over a graph, by the nearest-neighbour chain.

Only pairs joined by an edge may merge. When clusters A and B merge, their common neighbours stay
neighbours, at the larger of the two distances; all others are gone for good, because some pair
between them is not joined. So the graph only shrinks, and its connected components never meet.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from castlist.cluster.graph import Edges
from castlist.cluster.merges import Merges


def merge_graph(edges: Edges, n: int) -> Merges:
    """Merge the nodes of a graph as far as its edges allow, by complete linkage.

    Returns
    -------
    kept, gone, height : ndarrays
        A merge each: cluster ``gone`` joins cluster ``kept``; a cluster is called by its smallest
        node. A merge comes after those that it is made of.
    """
    merges: Merges = _chain_sparse(*_neighbours(edges.left, edges.right, edges.length, n))
    return merges


@njit(cache=True, nogil=True)
def _neighbours(left, right, length, n):  # type: ignore[no-untyped-def]
    """Make lists of neighbours, each sorted: two counting sorts, by neighbour, then by node."""
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
