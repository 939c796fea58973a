"""Tables as data: figures with their spread, the paper's beside them, the best of each column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from castlist.study.results import Record, Spread

#: What methods are called in print; others are called by their names.
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
}

#: What sentences call those with long titles.
SHORT_TITLES = {
    "ldml": "LDML",
    "ball": "Ball Cluster Learning",
    "neighbours": "Balls with neighbours",
}

#: What stands once below a table that has figures of the paper.
PAPER_NOTE = "the paper: other faces and another CNN"


def method_title(name: str, how: str = "own") -> str:
    """Return what a method is called in print."""
    return TITLES.get(name, name) + (", fine-tuned" if how == "finetuned" else "")


def short_title(name: str) -> str:
    """Return what a method is called inside a sentence."""
    return SHORT_TITLES.get(name) or method_title(name)


@dataclass(frozen=True)
class Metric:
    """A figure of a clustering.

    Attributes
    ----------
    name : as it is printed.
    key : its name in ``paper.toml``.
    of : the figure of a record; shares are in percent.
    goal : ``high``, ``low``, or ``near`` the true number of characters.
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
    """One figure: ours, its standard deviation over seeds, and the paper's; percent for shares.

    ``loss`` is what the best of a column has least of: a distance from the goal, as printed.
    """

    value: float | None = None
    deviation: float | None = None
    paper: float | None = None
    decimals: int = 1
    loss: float | None = None
    best: bool = False

    @property
    def text(self) -> str:
        """Our figure as it is printed."""
        return "" if self.value is None else f"{self.value:.{self.decimals}f}"

    @property
    def spread_text(self) -> str:
        """Its deviation as it is printed; nothing where there was one seed."""
        return "" if self.deviation is None else f"±{self.deviation:.{max(1, self.decimals)}f}"

    @property
    def paper_text(self) -> str:
        """The paper's figure as it is printed, if there is one."""
        if self.paper is None:
            return ""
        return f"{self.paper:.0f}" if isinstance(self.paper, int) else f"{self.paper:.1f}"


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    label: str
    cells: tuple[Cell, ...]

    @property
    def has_paper(self) -> bool:
        """Whether any figure of the paper stands in it."""
        return any(cell.paper is not None for cell in self.cells)

    @property
    def has_spread(self) -> bool:
        """Whether any figure is of more than one seed."""
        return any(cell.deviation is not None for cell in self.cells)


@dataclass(frozen=True)
class Group:
    """Rows that belong together, such as those of one method."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """A table, and in a sentence or two what its figures say.

    Attributes
    ----------
    key : its name, without spaces; no two tables of a study share one.
    test : the test it is of; empty if of none.
    title, shows : its heading, and what is seen in it, made from its figures.
    header : what the columns are, that of the row labels first.
    groups : its rows.
    paper_note : what the paper's figures were measured on.
    """

    key: str
    test: str
    title: str
    shows: str
    header: tuple[str, ...]
    groups: tuple[Group, ...]
    paper_note: str = PAPER_NOTE

    @property
    def heading(self) -> str:
        """Its title under the test's own heading."""
        title = self.title.removeprefix(f"{self.test}: ")
        return title[:1].upper() + title[1:]

    @property
    def rows(self) -> list[Row]:
        """All rows, groups aside."""
        return [row for group in self.groups for row in group.rows]

    @property
    def has_paper(self) -> bool:
        """Whether any figure of the paper stands in it."""
        return any(row.has_paper for row in self.rows)

    @property
    def has_spread(self) -> bool:
        """Whether any figure is of more than one seed."""
        return any(row.has_spread for row in self.rows)


def cell_of(
    spread: Spread | None,
    metric: Metric,
    *,
    n_characters: float | None = None,
    paper: float | None = None,
) -> Cell:
    """Make the cell of a figure; an empty one, where there is none."""
    if spread is None:
        return Cell(paper=paper)
    decimals = 0 if metric.goal == "near" and spread.n == 1 else 1
    # As printed: figures that look equal are equally good.
    value = round(spread.mean, decimals)
    loss: float | None
    if metric.goal == "near":
        loss = None if n_characters is None else round(abs(value - n_characters), decimals)
    else:
        loss = -value if metric.goal == "high" else value
    deviation = spread.deviation if spread.n > 1 else None
    return Cell(spread.mean, deviation, paper, decimals, loss)


def mark_best(groups: Iterable[Group], by_label: bool = True) -> tuple[Group, ...]:
    """Mark the best cells of each column, all of them if they tie; one that is alone is not best.

    Parameters
    ----------
    groups : iterable of Group
        Whose cells are compared.
    by_label : bool
        Whether rows compete with those of the same label only (a label is a figure's name), or
        with all (a label is a method's name).
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
