"""Which tracks show a character: its cover first, then others, spread over the video."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

#: A track is a stray if it is so many times as far from its character's mean as half of its tracks.
_STRAY = 4.0
_ALIKE = 0.002  # 1 - cosine, below which no track is a stray: fine-tuning leaves no distance


def shown_tracks(
    rows: NDArray[np.int64], most: int, worth: NDArray[np.float64],
    points: NDArray[np.floating] | None = None,
) -> list[list[int]]:  # fmt: skip
    """Return the tracks to show a character by.

    The first is its cover: the best picture of all tracks that are not strays, so that no track of
    somebody else gives a character its face. The others are the best of the other parts of the
    video. After each come those to take instead where it has no picture.

    Parameters
    ----------
    rows : ndarray of int
        The character's tracks, in order of time.
    most : int
        How many are shown, at most.
    worth : ndarray of shape (n_tracks,)
        How good each track's best picture is.
    points : ndarray of shape (n_tracks, dim), optional
        What was clustered; without it, all tracks fit.
    """
    if len(rows) < 2:
        return [[row] for row in rows.tolist()]
    good = worth[rows]
    stray = np.zeros(len(rows), bool)
    if points is not None and len(rows) > 2:
        away = 1 - fit(points[rows])
        stray = away > max(_STRAY * float(np.sort(away)[len(away) // 2]), _ALIKE)
    cover = int(np.where(stray, -np.inf, good).argmax())
    value, tracks = good.tolist(), rows.tolist()
    count = min(most, len(rows))
    edges = [len(rows) * k // count for k in range(count + 1)]
    parts = [
        sorted(range(begin, end), key=lambda place: -value[place]) for begin, end in pairwise(edges)
    ]
    # The part of the cover comes first, and the cover first in it.
    parts.sort(key=lambda part: cover not in part)
    parts[0].sort(key=lambda place: place != cover)
    return [[tracks[place] for place in part] for part in parts]


def fit(points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return how well each of some points fits the others: the cosine to their mean."""
    mean = points.mean(axis=0)
    norms = np.linalg.norm(points, axis=1) * np.linalg.norm(mean)
    return np.asarray(points @ mean / np.maximum(norms, 1e-9), np.float64)


def picture_quality(
    lengths: NDArray[np.int64], quality: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how good each track's best picture is, as far as is known.

    Parameters
    ----------
    lengths : ndarray of int
        Faces of each track. A long track is a steady one: where nothing else is known, its best
        face is more likely a good one.
    quality : ndarray of float
        Of its best picture; 0 where that is not known.
    """
    return quality + 1e-9 * np.minimum(lengths, 10**6)
