"""Write truth: one row per face, to score other scans of the same video (benchmark.md)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from castlist.export.csv import text_cell
from castlist.export.timeline import Timeline
from castlist.io.truth import COLUMNS, NOTFACE, UNSURE


def truth_lines(timeline: Timeline) -> Iterator[str]:
    """Yield the person of each face, by time.

    Tracks marked as showing no face are ``notface``. Characters named ``notface`` or ``unsure``
    keep this name, even if several have it: both are excluded from scores. All other characters
    have unique labels.

    Parameters
    ----------
    timeline : Timeline
        The people of a video.
    """
    tracks = timeline.tracks
    who = [NOTFACE] * len(tracks)
    for person in timeline.people:
        name = person.character.name
        for track in person.tracks.tolist():
            who[track] = name if name in (NOTFACE, UNSURE) else text_cell(person.label)
    owner = tracks.track_of_face
    known, boxes = np.flatnonzero(np.isfinite(tracks.box).all(axis=1)), timeline.stored_boxes()
    yield _row([*COLUMNS])
    for face in known[np.argsort(tracks.time[known], kind="stable")].tolist():
        sides = [f"{side:.2f}" for side in boxes[face].tolist()]
        yield _row([f"{tracks.time[face]:.3f}", *sides, who[owner[face]]])


def _row(values: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()
