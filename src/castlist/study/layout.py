"""How a test's figures stand in a table: columns are videos, groups are methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from castlist.study.methods import Method
from castlist.study.sheet import Sheet
from castlist.study.statistics import Statistics
from castlist.study.tables import (
    N_CLUSTERS,
    NMI,
    WCP,
    Cell,
    Group,
    Metric,
    Row,
    Table,
    mark_best,
    method_title,
)


def table_of(sheet: Sheet, key: str, title: str, shows: str, groups: tuple[Group, ...]) -> Table:
    """Make the table of a test; the first group is what was counted, the others are methods'."""
    name = sheet.test.name
    table = Table(key, name, f"{name}: {title}", shows, ("", *sheet.columns), groups)
    return _turned(table) if len(sheet.columns) == 1 else table


def _turned(table: Table) -> Table:
    """Give a table of one column a row a method, and put what was counted into words."""
    counts, *methods = table.groups
    labels = tuple(dict.fromkeys(row.label for group in methods for row in group.rows))
    rows = []
    for group in methods:
        cells = {row.label: row.cells[0] for row in group.rows}
        rows.append(Row(group.title, tuple(cells.get(label, Cell()) for label in labels)))
    counted = ", ".join(f"{row.label} {row.cells[0].text}" for row in counts.rows)
    return replace(
        table, shows=f"{counted}. {table.shows}".strip(), header=("Method", *labels),
        groups=(Group("", tuple(rows)),),
    )  # fmt: skip


def row_of(sheet: Sheet, method: Method, how: str, metric: Metric, label: str) -> Row:
    """Make a row of one figure over the columns."""
    return Row(label, tuple(sheet.cell(one, method, how, metric) for one in sheet.columns))


def by_method(
    sheet: Sheet,
    which: Sequence[tuple[Method, str]],
    title: Callable[[Method, str], str] = lambda method, how: method_title(method.name, how),
) -> tuple[Group, ...]:
    """Make three rows a method: #Cl, NMI, WCP."""
    return mark_best(
        Group(
            title(method, how),
            tuple(row_of(sheet, method, how, one, one.name) for one in (N_CLUSTERS, NMI, WCP)),
        )
        for method, how in which
    )


def statistics_group(sheet: Sheet) -> Group:
    """Make the rows 1 to 6, or the first of them where nothing was counted."""
    if not sheet.statistics:
        return characters_group(sheet)
    keys = ("n_characters", "n_named", "n_background",
            "n_tracks", "n_named_tracks", "n_background_tracks")  # fmt: skip
    return Group("", tuple(
        Row(name, tuple(
            _count(getattr(sheet.statistics.get(column), key, None), sheet, column, key)
            for column in sheet.columns
        ))
        for name, key in zip(Statistics.ROWS, keys, strict=True)
    ))  # fmt: skip


def characters_group(sheet: Sheet) -> Group:
    """Make the one row of the true numbers."""
    cells = (
        _count(sheet.n_characters.get(one), sheet, one, "n_characters") for one in sheet.columns
    )
    return Group("", (Row(Statistics.ROWS[0], tuple(cells)),))


def _count(value: int | None, sheet: Sheet, column: str, key: str) -> Cell:
    paper = sheet.paper_statistic(column, key)
    return Cell(value, paper=None if paper == value else paper, decimals=0)
