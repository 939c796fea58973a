"""Tables as data: cells with mean and spread, the paper's figures, and the rows of one test."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from castlist.research.study.paper import COLUMNS, paper_values
from castlist.research.study.plan import Method, Plan, Test
from castlist.research.study.results import Record, Results, Spread
from castlist.research.study.statistics import Statistics
from castlist.research.training.train_settings import TrainSettings

#: Titles of methods in tables; other methods use their names.
TITLES = {
    "base": "Base features",
    "cross-entropy": "Cross-entropy",
    "ldml": "Logistic discriminant (LDML)",
    "contrastive": "Contrastive",
    "triplet": "Triplet",
    "prototypical": "Prototypical",
    "prototypical-ball": "Prototypical with balls",
    "ball": "Ball Cluster Learning, the paper's recipe",
    "neighbours": "Balls with neighbours (ours)",
    "authors": "Ball Cluster Learning, the authors' checkpoint",
}

#: Titles inside sentences, for methods with long titles.
SHORT_TITLES = {
    "ldml": "LDML",
    "ball": "Ball Cluster Learning",
    "neighbours": "Balls with neighbours",
    "authors": "the authors' checkpoint",
}

#: Note below a table that has figures of the paper.
PAPER_NOTE = "the paper: other faces and another CNN"


def method_title(name: str, how: str = "own") -> str:
    """Return the title of a method in a table."""
    return TITLES.get(name, name) + (", fine-tuned" if how == "finetuned" else "")


def short_title(name: str) -> str:
    """Return the title of a method inside a sentence."""
    return SHORT_TITLES.get(name) or method_title(name)


@dataclass(frozen=True)
class Metric:
    """A measure of a clustering.

    Attributes
    ----------
    name : label in tables.
    key : its name in ``paper.toml``.
    of : function from a record to the figure; NMI and WCP in percent.
    goal : ``high``, ``low``, or ``near`` (to the true number of characters).
    """

    name: str
    key: str
    of: Callable[[Record], float]
    goal: str


N_CLUSTERS = Metric("#Cl", "n_clusters", lambda record: record.n_clusters, "near")
NMI = Metric("NMI", "nmi", lambda record: 100 * record.nmi, "high")
WCP = Metric("WCP", "wcp", lambda record: 100 * record.wcp, "high")
COUNT_ERROR = Metric("|#Cl − #Ch| / #Ch, %", "", lambda record: 100 * record.count_error, "low")


@dataclass(frozen=True)
class Cell:
    """One figure: our mean, its standard deviation over seeds, and the paper's figure.

    ``loss`` ranks the cells of a column: the distance from the goal, rounded as printed.
    """

    value: float | None = None
    deviation: float | None = None
    paper: float | None = None
    decimals: int = 1
    loss: float | None = None
    best: bool = False

    @property
    def text(self) -> str:
        """Our figure, formatted."""
        return "" if self.value is None else _number(self.value, self.decimals)

    @property
    def spread_text(self) -> str:
        """The standard deviation, formatted; empty for one seed."""
        return "" if self.deviation is None else f"±{self.deviation:.{max(1, self.decimals)}f}"

    @property
    def paper_text(self) -> str:
        """The paper's figure, formatted; empty if there is none."""
        if self.paper is None:
            return ""
        return _number(self.paper, 0 if isinstance(self.paper, int) else 1)


def _number(value: float, decimals: int) -> str:
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.{decimals}f}"


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    label: str
    cells: tuple[Cell, ...]

    @property
    def has_paper(self) -> bool:
        """Whether any cell has a figure of the paper."""
        return any(cell.paper is not None for cell in self.cells)

    @property
    def has_spread(self) -> bool:
        """Whether any cell is a mean over several seeds."""
        return any(cell.deviation is not None for cell in self.cells)


@dataclass(frozen=True)
class Group:
    """Rows under one title, such as those of one method."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """A table with a one-sentence finding.

    Attributes
    ----------
    key : unique identifier without spaces.
    test : name of the test that it belongs to, or empty.
    title, shows : heading, and the finding, computed from the figures.
    header : column titles, beginning with that of the row labels.
    groups : rows.
    paper_note : what the paper's figures were measured on.
    labels : labels of the paper's tables that it reproduces.
    """

    key: str
    test: str
    title: str
    shows: str
    header: tuple[str, ...]
    groups: tuple[Group, ...]
    paper_note: str = PAPER_NOTE
    labels: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title without the name of the test."""
        title = self.title.removeprefix(f"{self.test}: ")
        return title[:1].upper() + title[1:]

    @property
    def rows(self) -> list[Row]:
        """The rows of all groups."""
        return [row for group in self.groups for row in group.rows]

    @property
    def has_paper(self) -> bool:
        """Whether any cell has a figure of the paper."""
        return any(row.has_paper for row in self.rows)

    @property
    def has_spread(self) -> bool:
        """Whether any cell is a mean over several seeds."""
        return any(row.has_spread for row in self.rows)


def cell_of(
    spread: Spread | None,
    metric: Metric,
    *,
    n_characters: float | None = None,
    paper: float | None = None,
) -> Cell:
    """Return the cell of a figure; without a spread, one that has only the paper's figure."""
    if spread is None:
        return Cell(paper=paper)
    decimals = 0 if metric.goal == "near" and spread.n == 1 else 1
    # Rank by the printed value, so that figures that look equal are equally good.
    value = round(spread.mean, decimals)
    loss: float | None
    if metric.goal == "near":
        loss = None if n_characters is None else round(abs(value - n_characters), decimals)
    else:
        loss = -value if metric.goal == "high" else value
    deviation = spread.deviation if spread.n > 1 else None
    return Cell(spread.mean, deviation, paper, decimals, loss)


def mark_best(groups: Iterable[Group], by_label: bool = True) -> tuple[Group, ...]:
    """Return the groups with the best cells of each column marked.

    All tied cells are marked; a cell without competitors is not.

    Parameters
    ----------
    groups : iterable of Group
        The rows to compare.
    by_label : bool
        Whether a row competes only with rows of the same label (labels are metrics), or with all
        (labels are methods).
    """
    groups = tuple(groups)
    losses = defaultdict(list)
    for row in (row for group in groups for row in group.rows):
        for i, cell in enumerate(row.cells):
            if cell.loss is not None:
                losses[row.label if by_label else "", i].append(cell.loss)
    best = {at: min(found) for at, found in losses.items() if len(found) > 1}

    def marked(row: Row) -> Row:
        at = row.label if by_label else ""
        cells = (
            replace(cell, best=cell.loss is not None and best.get((at, i)) == cell.loss)
            for i, cell in enumerate(row.cells)
        )
        return replace(row, cells=tuple(cells))

    return tuple(replace(group, rows=tuple(map(marked, group.rows))) for group in groups)


#: Number of single episodes in the paper, over which its means are taken.
EPISODES = 12


class Sheet:
    """The records of one test, by column, method and way of clustering.

    Attributes
    ----------
    columns : single videos, then combined ones.
    videos : the single videos, over which means are taken.
    n_characters : column → true number of characters.
    """

    def __init__(self, plan: Plan, test: Test, results: Results) -> None:
        self.plan, self.test = plan, test
        records = results.pick(test=test.name)
        self._found: dict[tuple[str, str, str], list[Record]] = {}
        for one in records:
            self._found.setdefault((one.column, one.method, one.how), []).append(one)
        self.statistics = {one.name: one for one in results.statistics.get(test.name, ())}
        names = dict.fromkeys([*self.statistics, *(one.column for one in records)])
        self.videos = [name for name in names if name not in test.combined]
        self.columns = self.videos + [name for name in names if name in test.combined]
        self.n_characters = {one.column: one.n_characters for one in records} | {
            name: one.n_characters for name, one in self.statistics.items()
        }

    def methods(self, *hows: str) -> list[Method]:
        """Return the methods with such records: the paper's in its order, then the others."""
        seen = {method for _, method, how in self._found if how in hows}
        known = {one.name: one for one in self.plan.methods}
        names = [*known, *sorted(seen - set(known))]
        order = ["base", *paper_values()["test"]]
        found = [known.get(name, Method(name, TrainSettings())) for name in names if name in seen]
        return sorted(
            found, key=lambda one: order.index(one.key) if one.key in order else len(order)
        )

    def cell(self, column: str, method: Method, how: str, metric: Metric) -> Cell:
        """Return the cell of one column: the mean over seeds."""
        records = self._found.get((column, method.name, how))
        return cell_of(
            Spread.of(map(metric.of, records)) if records else None,
            metric,
            n_characters=self.n_characters.get(column),
            paper=self._paper(column, method, how, metric),
        )

    def mean(self, method: Method, how: str, metric: Metric = NMI) -> Spread | None:
        """Return the mean over videos, and its spread over the seeds that have every video."""
        seeds: dict[int, list[float]] = {}
        for video in self.videos:
            for record in self._found.get((video, method.name, how), ()):
                seeds.setdefault(record.seed, []).append(metric.of(record))
        whole = [float(np.mean(one)) for one in seeds.values() if len(one) == len(self.videos)]
        return Spread.of(whole) if whole else None

    def paper_mean(self, method: Method, how: str, metric: Metric = NMI) -> float | None:
        """Return the paper's mean over its 12 episodes."""
        place = paper_figures(method.key, how) if self.test.paper else None
        if place is None:
            return None
        truth = np.array(paper_values()["statistics"]["n_characters"][:EPISODES])
        if metric is COUNT_ERROR:
            return float(100 * np.mean(np.abs(place["n_clusters"][:EPISODES] - truth) / truth))
        return float(np.mean(place[metric.key][:EPISODES])) if metric.key in place else None

    def _paper(self, column: str, method: Method, how: str, metric: Metric) -> float | None:
        place = paper_figures(method.key, how) if self.test.paper else None
        row = (place or {}).get(metric.key, ())
        at = _AT.get(_plain(column), len(row))
        return row[at] if at < len(row) else None

    def paper_statistic(self, column: str, key: str) -> int | None:
        """Return a figure of rows 1 to 6 of the paper's test table."""
        at = _AT.get(_plain(column)) if self.test.paper else None
        return None if at is None else int(paper_values()["statistics"][key][at])


def paper_figures(key: str, how: str) -> Mapping[str, Any] | None:
    """Return the paper's figures for a method, or None."""
    paper = paper_values()
    if how == "own":
        found = paper["base"] if key == "base" else paper["test"].get(key)
    elif how in ("kmeans", "hac"):
        found = paper["known_k"].get(key, {}).get(how)
    elif how == "train":
        found = paper["train_threshold"].get(key, {}).get("train")
    else:
        found = paper[how].get(key)
    return found if isinstance(found, Mapping) else None


def _plain(column: str) -> str:
    """Return the same text for ``bbt_s01e02`` and ``BBT S1E2``."""
    return re.sub(r"[\W_]|(?<!\d)0+(?=\d)", "", column).casefold()


_AT = {_plain(name): i for i, name in enumerate(COLUMNS)}


def table_of(
    sheet: Sheet, key: str, title: str, shows: str, groups: tuple[Group, ...], *labels: str
) -> Table:
    """Return the table of a test. The first group holds counts, the others are methods."""
    name, header = sheet.test.name, ("", *sheet.columns)
    table = Table(key, name, f"{name}: {title}", shows, header, groups, labels=labels)
    return _transposed(table) if len(sheet.columns) == 1 else table


def _transposed(table: Table) -> Table:
    """Return a one-column table with one row per method; the finding gets the counts."""
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
    """Return the row of one metric over all columns."""
    return Row(label, tuple(sheet.cell(one, method, how, metric) for one in sheet.columns))


def by_method(
    sheet: Sheet,
    which: Sequence[tuple[Method, str]],
    title: Callable[[Method, str], str] = lambda method, how: method_title(method.name, how),
) -> tuple[Group, ...]:
    """Return one group per method with the rows #Cl, NMI and WCP."""
    return mark_best(
        Group(
            title(method, how),
            tuple(row_of(sheet, method, how, one, one.name) for one in (N_CLUSTERS, NMI, WCP)),
        )
        for method, how in which
    )


def statistics_group(sheet: Sheet) -> Group:
    """Return rows 1 to 6 of the test table; only the first if there are no statistics."""
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
    """Return the row of the true numbers of characters."""
    cells = (
        _count(sheet.n_characters.get(one), sheet, one, "n_characters") for one in sheet.columns
    )
    return Group("", (Row(Statistics.ROWS[0], tuple(cells)),))


def _count(value: int | None, sheet: Sheet, column: str, key: str) -> Cell:
    paper = sheet.paper_statistic(column, key)
    return Cell(value, paper=None if paper == value else paper, decimals=0)
