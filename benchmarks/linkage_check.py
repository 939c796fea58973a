"""Checks of a partition of many points that share no code with what made it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from benchmarks.linkage_methods import Labels, scipy

_SLACK = 1e-4  # of float32 products of unit vectors, amply


def check(points: NDArray[np.float32], partition: Labels, tau: float) -> None:
    """Print whether clusters are within τ, none can merge, and SciPy agrees on whole components."""
    exact = points.astype(np.float64)
    order = np.argsort(partition, kind="stable")
    _, starts = np.unique(partition[order], return_index=True)
    clusters = np.split(order, starts[1:])
    widest = max(
        (float(pdist(exact[c], "sqeuclidean").max()) for c in clusters if len(c) > 1), default=0.0
    )
    print(f"\n   diameters: the largest is {widest:.6f}, τ is {tau:.6f}: {widest <= tau}")
    mergeable, looked = _mergeable(points, exact, clusters, tau)
    print(f"   pairs of clusters that could still merge: {mergeable} of {looked:,} near ones")
    rows = whole_components(points, tau, about=20_000)
    ours, theirs = partition[rows], scipy(points[rows], tau)
    _, a = np.unique(ours, return_inverse=True)
    _, b = np.unique(theirs, return_inverse=True)
    both = len(np.unique(a.astype(np.int64) * len(rows) + b))
    same = both == a.max() + 1 == b.max() + 1
    print(
        f"   {len(rows):,} points, a union of whole components, in {a.max() + 1:,} clusters: "
        f"{'the same partition as SciPy' if same else 'DIFFERENT from SciPy'}",
        flush=True,
    )


def _mergeable(
    points: NDArray[np.float32], exact: NDArray[np.float64], clusters: list[NDArray[np.int64]],
    tau: float,
) -> tuple[int, int]:  # fmt: skip
    """Count pairs of clusters within τ: their first points are, so look at no others."""
    first = points[np.array([c[0] for c in clusters])]
    mergeable = looked = 0
    for top in range(0, len(first), 1024):
        near = 2 - 2 * first[top : top + 1024] @ first[top:].T <= tau + _SLACK
        for i, j in np.argwhere(near):
            if j > i:
                looked += 1
                across = cdist(exact[clusters[top + i]], exact[clusters[top + j]], "sqeuclidean")
                mergeable += bool(across.max() <= tau)
    return mergeable, looked


def whole_components(points: NDArray[np.float32], tau: float, about: int) -> NDArray[np.int64]:
    """Return the points of random connected components of the graph within τ.

    A component of more than a quarter of what is asked for is left out: SciPy could not follow.
    """
    rng = np.random.default_rng(0)
    state = np.zeros(len(points), np.int8)  # 1: chosen, -1: in a component that is too large
    for seed in rng.permutation(len(points)):
        if (state == 1).sum() >= 0.9 * about:
            break
        if state[seed]:
            continue
        own = np.zeros(len(points), bool)
        own[seed] = True
        frontier = np.array([seed])
        while len(frontier) and own.sum() <= about // 4 and not (state[own] == -1).any():
            reached = np.zeros(len(points), bool)
            for part in np.array_split(frontier, len(frontier) // 256 + 1):
                reached |= (points @ points[part].T >= 1 - (tau + _SLACK) / 2).any(axis=1)
            frontier = np.flatnonzero(reached & ~own)
            own |= reached
        state[own] = -1 if len(frontier) or (state[own] == -1).any() else 1
    return np.flatnonzero(state == 1)
