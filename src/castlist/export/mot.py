"""Write MOT Challenge files, for tracking tools: one line per face.

``io/box_tracks.py`` reads this format.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np

from castlist.export.timeline import Timeline


class By(StrEnum):
    """What an id numbers."""

    TRACK = "track"
    CHARACTER = "character"


def mot_lines(timeline: Timeline, by: By = By.TRACK) -> Iterator[str]:
    """Yield the detected faces, one line each, by frame.

    Frames, ids and pixels are counted from 1, as the format requires. Frames without detection
    have no line: boxes are not interpolated.

    Parameters
    ----------
    timeline : Timeline
        The people of a video.
    by : By
        What the id numbers.
    """
    tracks = timeline.tracks
    ids = np.zeros(len(tracks), np.int64)
    confidence = np.zeros(len(tracks))
    for person in timeline.people:
        ids[person.tracks] = person.tracks + 1 if by == By.TRACK else person.character.number
        confidence[person.tracks] = person.confidence
    owner = tracks.track_of_face
    known = np.isfinite(tracks.box).all(axis=1) & (ids[owner] > 0)
    frame, who = timeline.face_frames()[known] + 1, ids[owner[known]]
    box, sure = timeline.stored_boxes()[known] + [1, 1, 0, 0], confidence[owner[known]]
    # A frame has one box per id. If a person is there twice (a mirror), the larger box stays.
    order = np.lexsort((-box[:, 2] * box[:, 3], who, frame))
    last = (-1, -1)
    for face in order.tolist():
        key = (int(frame[face]), int(who[face]))
        if key != last:
            sides = ",".join(f"{side:.2f}" for side in box[face])
            yield f"{key[0]},{key[1]},{sides},{sure[face]:.4f},-1,-1,-1\n"
        last = key
