"""NMI and WCP at every number of clusters, from one dendrogram (the paper's figure of curves)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import InputError


@dataclass(frozen=True)
class Curve:
    """NMI and WCP at every number of clusters, from one per row to where merging stopped."""

    n_clusters: NDArray[np.int64]
    nmi: NDArray[np.float64]
    wcp: NDArray[np.float64]


def curve(truth: ArrayLike, merges: ArrayLike) -> Curve:
    """Return the scores of the clustering after every merge.

    Each merge changes two terms of each entropy, so the whole curve takes one pass over the
    merges.

    Parameters
    ----------
    truth : array-like of shape (n,)
        The identity of each row.
    merges : array-like of shape (m, 4)
        The merges of ``complete_linkage``, or a SciPy linkage matrix.
    """
    truth, merges = np.asarray(truth), np.asarray(merges, np.float64)
    n = len(truth)
    if n == 0 or len(merges) >= n:
        raise InputError(f"{len(merges)} merges do not fit {n} rows; there must be fewer merges")
    identity, counts = np.unique(truth, return_inverse=True, return_counts=True)[1:]
    log = np.log(np.arange(1, n + 1))

    def n_log_n(count: int) -> float:
        return float(count * log[count - 1])

    of_truth = sum(n_log_n(c) for c in counts.tolist())
    of_clusters = of_cells = 0.0  # Σ n log n over clusters, and over (cluster, identity) cells
    pure = n  # rows of their cluster's main identity
    members: dict[int, dict[int, int]] = {i: {k: 1} for i, k in enumerate(identity.tolist())}
    main = dict.fromkeys(range(n), 1)
    size = dict.fromkeys(range(n), 1)
    nmi, wcp = np.empty(len(merges) + 1), np.empty(len(merges) + 1)

    def score(step: int) -> None:
        truth_entropy = np.log(n) - of_truth / n
        cluster_entropy = np.log(n) - of_clusters / n
        mutual = np.log(n) + (of_cells - of_truth - of_clusters) / n
        total = truth_entropy + cluster_entropy
        nmi[step] = 2 * mutual / total if total > 1e-12 else 1.0
        wcp[step] = pure / n

    score(0)
    for step, (a, b) in enumerate(merges[:, :2].astype(np.int64).tolist()):
        small, large = sorted((members.pop(a), members.pop(b)), key=len)
        for who, count in small.items():
            known = large.get(who, 0)
            if known:
                of_cells += n_log_n(known + count) - n_log_n(known) - n_log_n(count)
            large[who] = known + count
        most = max(large.values())
        pure += most - main.pop(a) - main.pop(b)
        size_a, size_b = size.pop(a), size.pop(b)
        of_clusters += n_log_n(size_a + size_b) - n_log_n(size_a) - n_log_n(size_b)
        members[n + step], main[n + step], size[n + step] = large, most, size_a + size_b
        score(step + 1)
    return Curve(n - np.arange(len(merges) + 1), np.clip(nmi, 0, 1), wcp)
