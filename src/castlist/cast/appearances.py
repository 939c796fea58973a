"""When characters are seen: the union of their tracks' intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Appearance:
    """An interval in which a character is seen, in seconds, and how many tracks are in it."""

    start: float
    end: float
    n_tracks: int


def appearances(spans: NDArray[np.float64], gap: float = 0.0) -> list[Appearance]:
    """Return the union of some tracks' intervals, in order of time.

    Parameters
    ----------
    spans : ndarray of float, shape (n_tracks, 2)
        When each track begins and ends, all in the time of one video or of one timeline. A track
        without times (NaN) is left out.
    gap : float
        Seconds. Intervals that overlap, touch or are no farther apart than this are one.
    """
    spans = spans[np.isfinite(spans).all(axis=1)]
    if not len(spans):
        return []
    starts, ends = spans[np.argsort(spans[:, 0], kind="stable")].T
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate([[True], starts[1:] > reached[:-1] + gap]))
    last = np.concatenate([first[1:], [len(starts)]])
    return [
        Appearance(float(starts[i]), float(reached[j - 1]), j - i)
        for i, j in zip(first.tolist(), last.tolist(), strict=True)
    ]


def screen_time(spans: NDArray[np.float64]) -> float:
    """Return for how many seconds at least one of some tracks is seen."""
    return sum(one.end - one.start for one in appearances(spans))
