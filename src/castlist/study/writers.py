"""A study's tables and records as files for other programs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from castlist.io.files import replacing
from castlist.study.results import Record, Results
from castlist.study.tables import Cell, Table


def write_csv(path: str | Path, results: Results) -> None:
    """Write every record as CSV, one a row; NMI and WCP are from 0 to 1."""
    names = [one.name for one in fields(Record)]
    with (
        replacing(Path(path)) as partial,
        partial.open("w", encoding="utf-8", errors="replace", newline="") as file,
    ):
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(record.to_dict() for record in results.records)


def write_markdown(path: str | Path, title: str, tables: Iterable[Table]) -> None:
    """Write tables as Markdown: the best in bold, the paper's figures in parentheses."""
    text = "\n\n".join([f"# {_escape(title)}", *map(markdown_of, tables)]) + "\n"
    with replacing(Path(path)) as partial:
        partial.write_bytes(text.encode("utf-8", "replace"))


def markdown_of(table: Table) -> str:
    """Return a table as Markdown, under its heading and what it shows."""
    grouped = any(group.title for group in table.groups)
    header = ("Method", *table.header) if grouped else table.header
    lines = [
        _line(map(_escape, header)),
        _line("---" if i <= grouped else "---:" for i in range(len(header))),
    ]
    for group in table.groups:
        for i, row in enumerate(group.rows):
            first = [_escape(group.title if i == 0 else "")] if grouped else []
            lines.append(_line([*first, _escape(row.label), *map(_cell, row.cells)]))
    parts = [f"## {_escape(table.title)}", _escape(table.shows), "\n".join(lines)]
    return "\n\n".join(filter(None, [*parts, _escape(note_of(table))]))


def note_of(table: Table) -> str:
    """Say what the signs in a table mean, as far as it has them."""
    notes: Sequence[str] = [
        "Bold: the best of a column." if any(c.best for r in table.rows for c in r.cells) else "",
        "±: standard deviation over seeds." if table.has_spread else "",
        f"In parentheses, {table.paper_note}." if table.has_paper else "",
    ]
    return " ".join(filter(None, notes))


def _cell(cell: Cell) -> str:
    ours = " ".join(filter(None, (cell.text, cell.spread_text)))
    paper = f"({cell.paper_text})" if cell.paper is not None else ""
    return " ".join(filter(None, (f"**{ours}**" if cell.best else ours, paper)))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    return re.sub(r"([\\|*<`\[])", r"\\\1", " ".join(text.split()))
