"""Connected components: finding them, and merging their graphs apart from each other.

No merge crosses a component, and who is merged first inside one does not depend on the others. So a
graph whose components are dealt out to several workers gives the merges it would give as one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from castlist.cluster.chain import merge_graph
from castlist.cluster.executor import Crew
from castlist.cluster.graph import Edges
from castlist.cluster.merges import Merges, concatenate
from castlist.parallel import interruptible

#: Fewer edges than this are merged sooner than dealt out.
FEW_EDGES = 2**16


def merge_components(edges: Edges, root: NDArray[np.int64], crew: Crew) -> Merges:
    """Merge the nodes of a graph as far as its edges allow, by components.

    Parameters
    ----------
    edges : Edges
        The graph.
    root : ndarray of int, shape (n_nodes,)
        The smallest node of the component of each node.
    crew : Crew
        Who merges.
    """
    parts = min(crew.parts, len(edges) // FEW_EDGES + 1)
    if parts == 1:
        return interruptible(merge_graph, edges, len(root))
    return concatenate([merged for _, merged in crew.do(_merge_part, _deal(edges, root, parts))])


def _merge_part(part: tuple[Edges, NDArray[np.int64]]) -> Merges:
    edges, nodes = part
    kept, gone, height = merge_graph(edges, len(nodes))
    return nodes[kept], nodes[gone], height


def _deal(
    edges: Edges, root: NDArray[np.int64], parts: int
) -> Iterator[tuple[Edges, NDArray[np.int64]]]:
    """Deal components out, about as many edges to each part, with nodes numbered anew in each."""
    weight = np.bincount(root[edges.left], minlength=len(root))
    part_of_root = (parts * (np.cumsum(weight) - weight) // max(1, len(edges))).astype(np.uint16)
    part_of_node = part_of_root[root]
    part_of_edge = part_of_node[edges.left]
    order = np.argsort(part_of_edge, kind="stable")  # of short integers: a radix sort
    cuts = np.searchsorted(part_of_edge[order], np.arange(parts + 1))
    for k in range(parts):
        own = order[cuts[k] : cuts[k + 1]]
        if len(own):
            nodes = np.flatnonzero(part_of_node == k)
            part = Edges(edges.left[own], edges.right[own], edges.length[own])
            yield part.renumbered(nodes), nodes


@njit(cache=True, nogil=True)
def _root(parent, node):  # type: ignore[no-untyped-def]
    """Climb to the root of a node's tree, and halve the way for who comes next."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=True, nogil=True)
def unite(parent, left, right):  # type: ignore[no-untyped-def]
    """Note in a union-find forest that pairs of nodes are connected; roots are smallest nodes."""
    for k in range(len(left)):
        a, b = left[k], right[k]
        a, b = _root(parent, a), _root(parent, b)
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


@njit(cache=True, nogil=True)
def spanning(left, right, scratch):  # type: ignore[no-untyped-def]
    """Choose pairs, at most as many as nodes, that connect what all these pairs connect.

    ``scratch`` has a place a node, all -1, and is left so.
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
