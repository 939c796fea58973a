"""Complete linkage with links, slow and obviously right: the paper's greedy loop (sec. 3.3)."""

from __future__ import annotations

import numpy as np


def greedy_complete_linkage(points, threshold, must_link=(), cannot_link=()):
    n = len(points)
    clusters = {i: {i} for i in range(n)}
    for i, j in must_link:
        a = next(k for k, members in clusters.items() if i in members)
        b = next(k for k, members in clusters.items() if j in members)
        if a != b:
            clusters[a] |= clusters.pop(b)
    distance = np.square(points[:, None] - points[None]).sum(-1)
    for i, j in cannot_link:
        distance[i, j] = distance[j, i] = np.inf

    def between(a, b):
        return max(distance[i, j] for i in clusters[a] for j in clusters[b])

    while len(clusters) > 1:
        pairs = [(between(a, b), a, b) for a in clusters for b in clusters if a < b]
        height, a, b = min(pairs)
        if not height <= threshold:
            break
        clusters[a] |= clusters.pop(b)
    labels = np.empty(n, int)
    for label, members in enumerate(sorted(clusters.values(), key=min)):
        labels[list(members)] = label
    return labels


def greedy_to_number(points, n_clusters, must_link=(), cannot_link=(), avoid_link=()):
    """Return the clusters, sets of rows, once there are so many or nothing more can be merged.

    The nearest two are merged: of those with no avoid-link between them while there are some.
    """
    groups = greedy_complete_linkage(points, -1.0, must_link)
    clusters = [set(np.flatnonzero(groups == k).tolist()) for k in range(max(groups) + 1)]
    distance = np.square(points[:, None] - points[None]).sum(-1)

    def between(a, b, pairs):
        return any((i in a and j in b) or (i in b and j in a) for i, j in pairs)

    while len(clusters) > n_clusters:
        possible = [
            (between(a, b, avoid_link), max(distance[i, j] for i in a for j in b), x, y)
            for x, a in enumerate(clusters)
            for y, b in enumerate(clusters)
            if x < y and not between(a, b, cannot_link)
        ]
        if not possible:
            break
        *_, x, y = min(possible)
        clusters[x] |= clusters.pop(y)
    return sorted(clusters, key=min)
