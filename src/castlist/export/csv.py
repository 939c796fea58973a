"""Write CSV, for spreadsheets and scripts: one row per track."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from castlist.cast.cast import Appearance
from castlist.export.timecode import drop_at, timecode
from castlist.export.timeline import Timeline

#: Start of a formula, as OWASP lists it (CSV injection): a name may come from a stranger.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")

COLUMNS = (
    "character", "start", "end", "track", "confidence", "video", "start_timecode", "end_timecode",
    "track_confidence",
)  # fmt: skip


def csv_lines(timelines: Sequence[Timeline], drop: bool | None = None) -> Iterator[str]:
    """Yield the rows in order of video and time.

    Times are in seconds and as timecode from 00:00:00:00, which is empty if the frame rate is
    unknown.

    Parameters
    ----------
    timelines : sequence of Timeline
        The videos.
    drop : bool, optional
        Whether timecode is drop-frame; by default at the rates that have it (29.97 and 59.94).
    """
    yield _row(COLUMNS)
    for one in timelines:
        rows = [
            (one.start[track], person, track, sure)
            for person in one.people
            for track, sure in zip(person.tracks.tolist(), person.track_confidence, strict=True)
        ]
        for start, person, track, sure in sorted(rows, key=lambda row: (row[0], row[2])):
            yield _row(
                [
                    text_cell(person.label), f"{start:.3f}", f"{one.end[track]:.3f}",
                    text_cell(str(one.tracks.ids[track])), f"{person.confidence:.4f}",
                    text_cell(one.video), *_timecodes(one, track, drop), f"{sure:.4f}",
                ]
            )  # fmt: skip


def _timecodes(timeline: Timeline, track: int, drop: bool | None) -> tuple[str, str]:
    """Return the timecode of a track's first frame, and of the one after its last."""
    rate = timeline.known_rate
    if rate is None:
        return "", ""
    start, end = float(timeline.start[track]), float(timeline.end[track])
    frames = timeline.frames(Appearance(start, end, 1))
    dropped = drop_at(rate, drop, timeline.video)
    first, after = (timecode(frame, rate, dropped) for frame in frames)
    return first, after


def text_cell(text: str) -> str:
    """Return text that no spreadsheet takes for a formula, with a leading ``'`` if necessary.

    Text that already starts with such a ``'`` gets one more, so that :func:`text_of_cell` returns
    the original text.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def text_of_cell(cell: str) -> str:
    """Return the text that :func:`text_cell` wrote."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _row(values: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue()
