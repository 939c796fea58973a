"""Choose the tracks that show a character: its cover first, then others spread over the video."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

#: A track is an outlier if its distance to the character's mean is this many times the median.
_OUTLIER = 4.0
_ALIKE = 0.002  # 1 - cosine below which no track is an outlier


def shown_tracks(
    rows: NDArray[np.int64], most: int, worth: NDArray[np.float64],
    points: NDArray[np.floating] | None = None,
) -> list[list[int]]:  # fmt: skip
    """Return the tracks to show for a character, each followed by its replacements.

    The first is the cover: the best picture of all tracks that are not outliers, so that a wrongly
    assigned track does not become the face of a character. The others are the best of the other
    parts of the video. Replacements are used if a track has no picture.

    Parameters
    ----------
    rows : ndarray of int
        The character's tracks, in order of time.
    most : int
        Maximum number of tracks to show.
    worth : ndarray of shape (n_tracks,)
        How good each track's best picture is.
    points : ndarray of shape (n_tracks, dim), optional
        The embeddings that were clustered; without them, no track is an outlier.
    """
    if len(rows) < 2:
        return [[row] for row in rows.tolist()]
    good = worth[rows]
    outlier = np.zeros(len(rows), bool)
    if points is not None and len(rows) > 2:
        away = 1 - fit(points[rows])
        outlier = away > max(_OUTLIER * float(np.sort(away)[len(away) // 2]), _ALIKE)
    cover = int(np.where(outlier, -np.inf, good).argmax())
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
    """Return the cosine of each point to the mean of all."""
    mean = points.mean(axis=0)
    norms = np.linalg.norm(points, axis=1) * np.linalg.norm(mean)
    return np.asarray(points @ mean / np.maximum(norms, 1e-9), np.float64)


def picture_quality(
    lengths: NDArray[np.int64], quality: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the quality of each track's best picture; where unknown, longer tracks rank first.

    Parameters
    ----------
    lengths : ndarray of int
        Number of faces of each track. The best face of a long track is more likely a good one.
    quality : ndarray of float
        The quality of its best picture; 0 if unknown.
    """
    return quality + 1e-9 * np.minimum(lengths, 10**6)
