"""CSV: a row a track, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from castlist.export.timeline import Timeline

COLUMNS = ("character", "start", "end", "track", "confidence", "video")


def csv_lines(timelines: Sequence[Timeline]) -> Iterator[str]:
    """Write who is in each track, in order of video and time; times are seconds."""
    yield _row(COLUMNS)
    for one in timelines:
        rows = [(one.start[t], p, t) for p in one.people for t in p.tracks.tolist()]
        for start, person, track in sorted(rows, key=lambda row: (row[0], row[2])):
            yield _row(
                [
                    person.label, f"{start:.3f}", f"{one.end[track]:.3f}", one.tracks.ids[track],
                    f"{person.confidence:.4f}", one.video,
                ]
            )  # fmt: skip


def _row(values: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue()
