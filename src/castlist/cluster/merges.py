"""Merges of clusters: put behind one another, numbered as SciPy does, and made into labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.links import by_first_appearance

#: Clusters kept, clusters that join them, heights; a cluster is called by its smallest row.
Merges = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
NO_MERGES: Merges = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def concatenate(merges: list[Merges]) -> Merges:
    """Put merges behind one another."""
    if not merges:
        return NO_MERGES
    kept, gone, height = (np.concatenate(column) for column in zip(*merges, strict=True))
    return kept, gone, height


def number_merges(merges: Merges, n: int) -> NDArray[np.float64]:
    """Turn merges of ``n`` rows into a SciPy linkage matrix."""
    kept, gone, height = merges
    name, size = list(range(n)), [1] * n
    made = []
    for i, (a, b) in enumerate(zip(kept.tolist(), gone.tolist(), strict=True)):
        size[a] += size[b]
        made.append((min(name[a], name[b]), max(name[a], name[b]), size[a]))
        name[a] = n + i
    matrix = np.empty((len(made), 4))
    matrix[:, [0, 1, 3]] = np.array(made, np.float64).reshape(-1, 3)
    matrix[:, 2] = height
    return matrix


def labels_after(merges: NDArray[np.float64], n: int, count: int) -> NDArray[np.int64]:
    """Return the labels once the first ``count`` merges of a SciPy linkage matrix are made."""
    parent = np.arange(n + count)
    children = merges[:count, :2].astype(np.int64)
    parent[children] = n + np.arange(count)[:, None]
    last = parent.tolist()
    for i in range(len(last) - 1, -1, -1):  # parents come after their children
        last[i] = last[last[i]]
    return by_first_appearance(last[:n])
