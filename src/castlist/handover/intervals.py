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
    starts = np.maximum(a[:, None, 0], b[None, :, 0])
    ends = np.minimum(a[:, None, 1], b[None, :, 1])
    both = starts < ends
    if not both.any():
        return np.empty((0, 2))
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
