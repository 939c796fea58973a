"""Write CSV, for spreadsheets and scripts: one row per track."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from castlist.export.timeline import Timeline

#: Start of a formula, as OWASP lists it (CSV injection): a name may come from a stranger.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")

COLUMNS = ("character", "start", "end", "track", "confidence", "video")


def csv_lines(timelines: Sequence[Timeline]) -> Iterator[str]:
    """Yield the rows in order of video and time, times in seconds."""
    yield _row(COLUMNS)
    for one in timelines:
        rows = [(one.start[t], p, t) for p in one.people for t in p.tracks.tolist()]
        for start, person, track in sorted(rows, key=lambda row: (row[0], row[2])):
            yield _row(
                [
                    text_cell(person.label), f"{start:.3f}", f"{one.end[track]:.3f}",
                    text_cell(str(one.tracks.ids[track])), f"{person.confidence:.4f}",
                    text_cell(one.video),
                ]
            )  # fmt: skip


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
