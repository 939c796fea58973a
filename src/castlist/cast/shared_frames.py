"""Tracks that share a frame: two people, unless a person waives that or needs fewer characters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
_NAMED = 100  # pairs; of a long video in few characters there are very many


class SharedFrame(InputError):
    """Two tracks that share a frame were said to be one person, and nobody waived that.

    Attributes
    ----------
    pairs : list of (str, str)
        Ids of the tracks.
    seconds : float
        When the first of them are seen together.
    """

    def __init__(self, pairs: list[tuple[str, str]], seconds: float) -> None:
        self.pairs = pairs
        self.seconds = seconds
        first = (
            f"{len(pairs)} pairs of these tracks share a frame, the first "
            if len(pairs) > 1
            else "1 pair of these tracks shares a frame, "
        )
        super().__init__(
            f"{first}at {seconds:.1f} s: "
            "two faces at once are two people, unless you waive that: for a mirror, a split screen "
            "or a photograph"
        )


def not_waived(pairs: Rows, waived: set[tuple[int, int]]) -> Rows:
    """Return those of some pairs of tracks, each with its lower first, that nobody waived."""
    if not waived or not len(pairs):
        return pairs
    known = np.array(sorted(waived), np.int64)
    width = int(max(pairs.max(), known.max())) + 1
    return pairs[~np.isin(pairs @ [width, 1], known @ [width, 1])]


def pairs_between(
    groups: list[Rows], overlaps: Rows, waived: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the tracks of two groups that share a frame, and are not waived yet."""
    group = np.full(int(overlaps.max(initial=-1)) + 1, -1)
    for i, rows in enumerate(groups):
        group[rows[rows < len(group)]] = i
    a, b = group[overlaps].T
    pairs = not_waived(overlaps[(a >= 0) & (b >= 0) & (a != b)], waived)
    return [(i, j) for i, j in pairs.tolist()]


def refusal(tracks: TrackSet, pairs: list[tuple[int, int]]) -> SharedFrame:
    """Say which tracks share a frame, those first that do so first."""
    seconds, first = min((_together_at(tracks, *pair), pair) for pair in pairs)
    ids = tracks.ids
    ordered = [first, *(pair for pair in pairs if pair != first)]
    return SharedFrame([(str(ids[i]), str(ids[j])) for i, j in ordered], seconds)


def told(tracks: TrackSet, pairs: Rows) -> dict[str, Any]:
    """Say in plain values how many pairs of tracks share a frame, and which and when the first do.

    Parameters
    ----------
    tracks : TrackSet
        The tracks.
    pairs : ndarray of int, shape (m, 2)
        Rows of those that share a frame.
    """
    first = []
    for i, j in pairs[:_NAMED].tolist():
        time = _together_at(tracks, i, j)
        known = None if np.isnan(time) else round(time, 3)
        first.append({"tracks": [str(tracks.ids[i]), str(tracks.ids[j])], "time": known})
    return {"count": len(pairs), "pairs": first}


def _together_at(tracks: TrackSet, i: int, j: int) -> float:
    """Say when two tracks share a frame first, in seconds."""
    faces, others = (slice(tracks.offsets[row], tracks.offsets[row + 1]) for row in (i, j))
    shared = np.isin(tracks.frame[faces], tracks.frame[others])
    return float(tracks.time[faces][shared].min())
