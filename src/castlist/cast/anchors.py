"""Anchors: where in the video a track is, so that what was said of it finds it after a re-scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.tracks import TrackSet
from castlist.video.follow import ious

#: Faces of a track that are remembered, spread over its time.
_FACES = 9
#: A track of another scan may begin or end this much (seconds) later or earlier.
_SLACK = 0.3
#: Boxes that overlap so much (intersection over union) are of one face.
_SAME_BOX = 0.3


@dataclass(frozen=True)
class Anchor:
    """One track, by what does not change when the video is scanned again.

    Attributes
    ----------
    video : str
        Name of the video.
    track : str
        The track's id in the scan it was made in.
    faces : tuple of (seconds, x, y, width, height)
        Some of its faces.
    """

    video: str
    track: str
    faces: tuple[tuple[float, ...], ...]


def anchors_of(tracks: TrackSet, rows: Sequence[int]) -> list[Anchor]:
    """Remember where tracks are."""
    made = []
    for row in rows:
        first, last = int(tracks.offsets[row]), int(tracks.offsets[row + 1]) - 1
        chosen = np.unique(np.linspace(first, last, _FACES).round().astype(int))
        faces = np.column_stack([tracks.time[chosen], tracks.box[chosen]]).astype(float).round(3)
        made.append(
            Anchor(
                tracks.videos[tracks.video[row]],
                str(tracks.ids[row]),
                tuple(tuple(face) for face in faces[np.isfinite(faces).all(axis=1)].tolist()),
            )
        )
    return made


def find_anchors(tracks: TrackSet, anchors: Sequence[Anchor]) -> list[NDArray[np.int64]]:
    """Find the tracks that are now where these were, as rows; none where there is none.

    One track may have become two, and two one. A video that is the only one is the same one,
    whatever its file is called now.
    """
    begin, end = tracks.time[tracks.offsets[:-1]], tracks.time[tracks.offsets[1:] - 1]
    place = {name: i for i, name in enumerate(tracks.videos)}
    only = 0 if len(tracks.videos) == 1 else -1
    found = []
    for anchor in anchors:
        here = tracks.video == place.get(anchor.video, only)
        hits: Counter[int] = Counter()
        near: Counter[int] = Counter()  # by slack alone
        for time, *box in anchor.faces:
            inside = here & (begin <= time) & (time <= end)
            around = here & (begin - _SLACK <= time) & (time <= end + _SLACK)
            for counted, there in ((hits, inside), (near, around & ~inside)):
                row = _best(tracks, np.flatnonzero(there), time, box)
                if row is not None:
                    counted[row] += 1
        # One face may be a neighbour's, in the same place after a cut.
        needed = min(2, len(anchor.faces))
        rows = [row for row in hits if hits[row] + near[row] >= needed]
        if not hits:  # a glimpse that was looked at in other moments
            rows = [row for row in near if 2 * near[row] > len(anchor.faces)]
        found.append(np.array(sorted(rows), np.int64))
    return found


def _best(tracks: TrackSet, rows: NDArray[np.int64], time: float, box: list[float]) -> int | None:
    """Return which of some tracks has its face there at a moment."""
    if not len(rows):
        return None
    boxes = np.array([_box_at(tracks, row, time) for row in rows.tolist()])
    shared = ious(boxes, np.array([box]))[:, 0]
    return int(rows[shared.argmax()]) if shared.max() >= _SAME_BOX else None


def _box_at(tracks: TrackSet, row: int, time: float) -> list[float]:
    """Return where a track is at a moment, between two of its faces."""
    faces = slice(tracks.offsets[row], tracks.offsets[row + 1])
    return [float(np.interp(time, tracks.time[faces], side)) for side in tracks.box[faces].T]
