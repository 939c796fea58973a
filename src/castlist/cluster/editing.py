"""What editing tells of two tracks: a camera set-up returns, with somebody at the same place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from castlist.tracks import TrackSet

#: The least overlap (intersection over union) of two faces that are at one place.
_SAME_PLACE = 0.1
_ROWS = 1024  # tracks of one set-up that are compared at once


def same_place(tracks: TrackSet) -> NDArray[np.int64]:
    """Find the pairs of tracks of which one begins where the other ended, as rows (i, j), i < j.

    That is: the last face of the earlier track and the first face of the later one are seen in one
    camera set-up, and overlap. They show one person, nearly always.
    """
    first, last = tracks.offsets[:-1], tracks.offsets[1:] - 1
    width = int(tracks.setup.max(initial=0)) + 1
    begins, ends = (_setup_of(tracks, faces, width) for faces in (first, last))
    found = [np.empty((0, 2), np.int64)]
    for setup in np.intersect1d(begins[begins >= 0], ends):
        earlier, later = np.flatnonzero(ends == setup), np.flatnonzero(begins == setup)
        for start in range(0, len(earlier), _ROWS):
            rows = earlier[start : start + _ROWS]
            overlap = _overlap(tracks.box[last[rows]], tracks.box[first[later]])
            before = tracks.time[last[rows], None] < tracks.time[first[later]]
            i, j = np.nonzero((overlap >= _SAME_PLACE) & before)
            found.append(np.stack([rows[i], later[j]], axis=1))
    return np.unique(np.sort(np.concatenate(found), axis=1), axis=0)


def _setup_of(tracks: TrackSet, faces: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return the set-up of one face per track, another number in each video; -1 if not known."""
    setup = tracks.setup[faces].astype(np.int64)
    return np.where(setup < 0, -1, setup + width * tracks.video)


def _overlap(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the intersection over union of all pairs of boxes."""
    a, b = one[:, None].astype(np.float64), other[None].astype(np.float64)
    low = np.maximum(a[..., :2], b[..., :2])
    high = np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:])
    shared = np.prod(np.maximum(high - low, 0), axis=-1)
    union = np.prod(a[..., 2:], axis=-1) + np.prod(b[..., 2:], axis=-1) - shared
    return np.asarray(shared / np.maximum(union, 1e-9))
