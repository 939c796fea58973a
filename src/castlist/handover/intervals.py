"""Set operations on intervals of time: arrays of shape (n, 2), sorted and disjoint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.cast.cast import appearances

Intervals = NDArray[np.float64]


def union(intervals: ArrayLike, gap: float = 0.0) -> Intervals:
    """Return the union of any intervals; those at most ``gap`` seconds apart become one."""
    spans = np.asarray(intervals, np.float64).reshape(-1, 2)
    return np.array([(one.start, one.end) for one in appearances(spans, gap)]).reshape(-1, 2)


def intersection(a: Intervals, b: Intervals) -> Intervals:
    """Return the times that are in both sets; intervals of no length are left out."""
    # Each interval of a overlaps a run of those of b: not all pairs, which are too many to hold.
    first = np.searchsorted(b[:, 1], a[:, 0], "right")
    lengths = np.maximum(np.searchsorted(b[:, 0], a[:, 1], "left") - first, 0)
    i = np.repeat(np.arange(len(a)), lengths)
    j = np.arange(len(i)) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    starts, ends = np.maximum(a[i, 0], b[j, 0]), np.minimum(a[i, 1], b[j, 1])
    both = starts < ends
    return union(np.stack([starts[both], ends[both]], axis=1))


def difference(a: Intervals, b: Intervals) -> Intervals:
    """Return the times that are in ``a`` and not in ``b``."""
    if not len(b):
        return a
    outside = np.stack(
        [np.concatenate([[-np.inf], b[:, 1]]), np.concatenate([b[:, 0], [np.inf]])], axis=1
    )
    starts = np.maximum(a[:, None, 0], outside[None, :, 0])
    ends = np.minimum(a[:, None, 1], outside[None, :, 1])
    left = starts < ends
    return np.stack([starts[left], ends[left]], axis=1)


def padded(intervals: Intervals, seconds: float, duration: float) -> Intervals:
    """Return intervals made longer at both ends, within 0 and ``duration``."""
    longer = intervals + np.array([-seconds, seconds])
    return union(np.clip(longer, 0.0, duration))
