"""Write a study: one self-contained HTML page, its tables as Markdown, its records as CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from itertools import islice
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from castlist.io.files import replacing
from castlist.io.lock import locked
from castlist.report.html import picture_uri, style, text_of
from castlist.research.score.curves import Curve
from castlist.research.study.figures import draw_curves, draw_skew_of
from castlist.research.study.paper import PaperItem, paper_contents
from castlist.research.study.paper_tables import tables_of
from castlist.research.study.plan import Method, Plan, Test
from castlist.research.study.results import Record, Results, Shown
from castlist.research.study.tables import Cell, Sheet, Table, method_title

#: Function from test, video and track id to a JPEG of the face, or None.
Pictures = Callable[[str, str, str], bytes | None]

#: Faces per cluster in a gallery, and the number of tracks that are tried for a picture.
FACES, ASKED = 6, 18

#: Clusters with fewer tracks are marked as small in the gallery.
SMALL = 3

#: Bytes of pictures after which a cluster gets one face only, to limit the size of the page.
PICTURE_BYTES = 15_000_000


#: The paper's figures of curves and of clusters: label → how the columns that they show begin.
_CURVE_LABELS = {
    "fig:validation_losses": "BUFFY S5E1",
    "fig:bbt_nmi_wcp_vs_nclust": "BBT S",
    "fig:buffy_nmi_wcp_vs_nclust": "BUFFY S",
}
_GALLERY_LABELS = {
    "fig:qualitative": "BBT S1E1",
    "fig:bbt_clusters": "BBT S1E2",
    "fig:buffy_clusters": "BUFFY S5E3",
}


@dataclass(frozen=True)
class _Figure:
    title: str
    source: str
    width: int
    height: int


@dataclass(frozen=True)
class _Cluster:
    size: int
    faces: list[str]

    @property
    def small(self) -> bool:
        return self.size < SMALL


@dataclass(frozen=True)
class _Gallery:
    column: str
    method: str
    clusters: list[_Cluster]
    n_clusters: int


@dataclass(frozen=True)
class _Section:
    """The part of the page about one test."""

    key: str
    test: Test
    tables: list[Table]
    skew: _Figure | None
    n_identities: int
    n_background: int
    most: int
    curves: list[_Figure]
    galleries: list[_Gallery]
    n_videos: int
    n_characters: int | None
    n_tracks: int | None


def write_study(out: str | Path, plan: Plan, results: Results) -> list[Path]:
    """Write the page, the tables and the records of a study to a folder; return the files."""
    out = Path(out)
    faces = {test.name: test.faces for test in plan.tests}

    def picture(test: str, video: str, track: str) -> bytes | None:
        folder = faces.get(test)
        file = folder / video / f"{track}.jpg" if folder else None
        return file.read_bytes() if file is not None and file.is_file() else None

    files = [out / name for name in ("index.html", "tables.md", "records.csv")]
    with locked(out):
        write_study_page(files[0], plan, results, picture)
        write_markdown(files[1], plan.title, tables_of(plan, results))
        write_csv(files[2], results)
    return files


def write_study_page(path: str | Path, plan: Plan, results: Results, pictures: Pictures) -> None:
    """Write a study as one self-contained HTML page.

    Parameters
    ----------
    path : path
        File to write, atomically.
    plan, results : Plan and Results
        The study and its results.
    pictures : callable
        Function from the name of the test, video and track id to a picture of the face as JPEG
        bytes, or None. Called only for tracks that the galleries may show.
    """
    page = render_study_page(plan, results, pictures)
    with replacing(Path(path)) as partial:
        partial.write_bytes(page.encode("utf-8", "replace"))


def render_study_page(plan: Plan, results: Results, pictures: Pictures) -> str:
    """Return the HTML that :func:`write_study_page` writes."""
    tables = tables_of(plan, results)
    faces = _Faces(pictures)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(note=note_of, about=about_method, title=method_title)
    sections = [
        _section(i, test, plan, results, tables, faces) for i, test in enumerate(plan.tests, 1)
    ]
    skew = results.train_skew
    page = environment.from_string(text_of(__package__, "study.html.j2")).render(
        plan=plan,
        reproduced=_reproduced(tables, sections, bool(skew)),
        train_skew=_skew_figure("Training set", skew, [False] * len(skew)) if skew else None,
        n_train=(len(skew), sum(skew)),
        sections=sections,
        others=[table for table in tables if not table.test],
        style=style(__package__, "study.css"),
    )
    return page.strip() + "\n"


@dataclass(frozen=True)
class _Reproduced:
    """A table or figure of the paper, and the parts of the page that reproduce it."""

    item: PaperItem
    parts: list[tuple[str, str]]


def _reproduced(
    tables: list[Table], sections: list[_Section], has_train_skew: bool
) -> list[_Reproduced]:
    """Return every table and figure of the paper, with key and title of ours."""
    # If a test has the paper's columns, other tests are not what the paper shows.
    papers = [one for one in sections if one.test.paper] or sections
    tests = {one.test.name for one in papers}
    parts: dict[str, list[tuple[str, str]]] = {}
    for table in tables:
        if not table.test or table.test in tests:
            for label in table.labels:
                parts.setdefault(label, []).append((table.key, table.title))
    skews = [("train-skew", "Training set: tracks per identity")] if has_train_skew else []
    for one in papers:
        if one.skew:
            skews.append((f"{one.key}-skew", f"{one.test.name}: tracks per identity"))
        for labels, key, title, columns in (
            (_CURVE_LABELS, "curves", "NMI and WCP over the number of clusters",
             [each.title for each in one.curves]),
            (_GALLERY_LABELS, "gallery", "galleries", [each.column for each in one.galleries]),
        ):  # fmt: skip
            for label, start in labels.items():
                if any(column.startswith(start) or not one.test.paper for column in columns):
                    found = (f"{one.key}-{key}", f"{one.test.name}: {title}")
                    parts.setdefault(label, []).append(found)
    parts["fig:skewed_clusters"] = skews
    return [_Reproduced(item, parts.get(item.label, [])) for item in paper_contents()]


def about_method(method: Method) -> str:
    """Return a short description of a method."""
    settings = method.settings
    if settings is not None:
        sizes = settings.hidden if settings.residual else (*settings.hidden, settings.embedding)
        network = f"{'residual ' * settings.residual}MLP {'–'.join(map(str, sizes))}"
        words = [f"{settings.loss} loss", network, f"{settings.epochs} epochs"]
        rounds = settings.rounds
    else:
        words = [f"the model {method.model.name}" if method.model else "no training"]
        rounds = method.rounds
    if rounds:
        words.append(f"{rounds} {'round' if rounds == 1 else 'rounds'} of neighbour averaging")
    words.append("τ = 4b" if method.own_threshold else "τ from validation")
    return ", ".join(words + ["also fine-tuned"] * method.finetune)


class _Faces:
    """Encodes faces for the page, within its budget of bytes."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures, self.spent = pictures, 0

    def cluster(self, shown: Shown, ids: list[str]) -> _Cluster:
        asked = (self.pictures(shown.test, shown.video, one) for one in ids[:ASKED])
        wanted = FACES if self.spent < PICTURE_BYTES else 1
        faces = [picture_uri(one) for one in islice(filter(None, asked), wanted)]
        self.spent += sum(map(len, faces))
        return _Cluster(len(ids), faces)


def _section(
    i: int, test: Test, plan: Plan, results: Results, tables: list[Table], faces: _Faces
) -> _Section:
    sheet = Sheet(plan, test, results)
    counts, background = results.skew.get(test.name, ([], []))
    n_tracks = sum(
        sheet.statistics[one].n_tracks for one in sheet.videos if one in sheet.statistics
    )
    # The number of characters of all videos is known only if they were counted together.
    whole = [one for one in sheet.statistics.values() if one.n_tracks == n_tracks]
    names = [one.name for one in plan.methods]
    curves = []
    for column in sheet.columns:
        found = results.curves.get((test.name, column), {})
        if found and column in sheet.n_characters:
            order = sorted(found, key=lambda one: names.index(one) if one in names else len(names))
            drawn = {_label(one): found[one] for one in order}
            curves.append(_curves_figure(column, drawn, sheet.n_characters[column]))
    return _Section(
        key=f"test{i}",
        test=test,
        tables=[table for table in tables if table.test == test.name],
        skew=_skew_figure(test.name, counts, background) if counts else None,
        n_identities=len(counts),
        n_background=sum(background),
        most=max(counts, default=0),
        curves=curves,
        galleries=[
            _gallery(one, plan, results, faces) for one in results.shown if one.test == test.name
        ],
        n_videos=len(sheet.videos),
        n_characters=whole[-1].n_characters if whole else None,
        n_tracks=n_tracks or None,
    )


def _gallery(shown: Shown, plan: Plan, results: Results, faces: _Faces) -> _Gallery:
    clusters = sorted(shown.clusters, key=len, reverse=True)
    # The gallery is of the first seed, and may leave out the smallest clusters.
    whole = results.pick(
        test=shown.test, column=shown.column, method=shown.method, how="own", seed=plan.seeds[0]
    )
    n_clusters = max([len(clusters), *(one.n_clusters for one in whole)])
    return _Gallery(
        shown.column,
        method_title(shown.method),
        [faces.cluster(shown, ids) for ids in clusters],
        n_clusters,
    )


def _curves_figure(column: str, found: dict[str, tuple[Curve, int]], n_characters: int) -> _Figure:
    width, height = 7.4, 3.1 + 0.2 * ((len(found) + 1) // 2 if len(found) > 4 else 0)
    source = _svg_uri(
        lambda path: draw_curves(
            path,
            {name: one for name, (one, _) in found.items()},
            {name: chosen for name, (_, chosen) in found.items()},
            n_characters,
            (width, height),
        )
    )
    return _Figure(column, source, round(100 * width), round(100 * height))


def _skew_figure(name: str, counts: list[int], background: list[bool]) -> _Figure:
    return _Figure(name, _svg_uri(lambda path: draw_skew_of(path, counts, background)), 700, 340)


def _svg_uri(draw: Callable[[BytesIO], None]) -> str:
    """Return a drawing as a data URI, without temporary files."""
    drawn = BytesIO()
    draw(drawn)
    return picture_uri(drawn.getvalue(), "svg+xml")


def _label(method: str) -> str:
    """Return a title for a legend. Matplotlib reads $ as mathematics and hides a leading _."""
    return method_title(method).replace("$", r"\$").lstrip("_") or method


def write_csv(path: str | Path, results: Results) -> None:
    """Write all records as CSV, one row per record; NMI and WCP from 0 to 1."""
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
    """Return a table as Markdown, with its heading, finding and note."""
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
    """Return the legend of the signs that a table uses."""
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
