"""A study as one HTML page that opens with no server and loads nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from castlist.io.files import replacing
from castlist.io.lock import locked
from castlist.report.html import picture_uri, style, text_of
from castlist.score.curves import Curve
from castlist.study.figures import draw_curves, draw_skew_of
from castlist.study.methods import Method
from castlist.study.paper_tables import tables_of
from castlist.study.plan import Plan, Test
from castlist.study.results import Results, Shown
from castlist.study.sheet import Sheet
from castlist.study.tables import Table, method_title
from castlist.study.writers import note_of, write_csv, write_markdown

#: Test, video and track id → a JPEG of the face, or None.
Pictures = Callable[[str, str, str], bytes | None]

#: Tracks of a cluster in a gallery, and how many are asked for a picture until there are as many.
FACES, ASKED = 6, 18

#: Fewer tracks than this make a small cluster, which the gallery says.
SMALL = 3

#: Bytes of pictures after which a cluster gets one face only, so that the page opens anywhere.
PICTURE_BYTES = 15_000_000


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
    """What the page says of one test."""

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
    """Write all that a study gives to a folder: the page, the tables and every record."""
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
        Where the page goes; it replaces what is there once it is whole.
    plan, results : Plan and Results
        What was done, and what was found.
    pictures : callable
        Test's name, video and track id → a picture of the track's face as JPEG bytes, or None.
        Called only for the tracks that may be shown.
    """
    page = render_study_page(plan, results, pictures)
    with replacing(Path(path)) as partial:
        partial.write_bytes(page.encode("utf-8", "replace"))


def render_study_page(plan: Plan, results: Results, pictures: Pictures) -> str:
    """Return the page that :func:`write_study_page` writes."""
    tables = tables_of(plan, results)
    album = _Album(pictures)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(note=note_of, about=about_method, title=method_title)
    page = environment.from_string(text_of(__package__, "study.html.j2")).render(
        plan=plan,
        sections=[
            _section(i, test, plan, results, tables, album) for i, test in enumerate(plan.tests, 1)
        ],
        others=[table for table in tables if not table.test],
        style=style(__package__, "study.css"),
    )
    return page.strip() + "\n"


def about_method(method: Method) -> str:
    """Say in a few words what a method is."""
    settings = method.settings
    if settings is not None:
        sizes = settings.hidden if settings.residual else (*settings.hidden, settings.embedding)
        network = f"{'residual ' * settings.residual}MLP {'–'.join(map(str, sizes))}"
        words = [f"{settings.loss} loss", network, f"{settings.epochs} epochs"]
        rounds = settings.rounds
    else:
        words = [f"the model {method.model.name}" if method.model else "nothing is trained"]
        rounds = method.rounds
    if rounds:
        words.append(f"{rounds} {'round' if rounds == 1 else 'rounds'} of neighbours")
    words.append("τ = 4b" if method.own_threshold else "τ from validation")
    return ", ".join(words + ["also fine-tuned"] * method.finetune)


class _Album:
    """Faces as they stand in the page, as long as there is room."""

    def __init__(self, pictures: Pictures) -> None:
        self.pictures, self.spent = pictures, 0

    def cluster(self, shown: Shown, ids: list[str]) -> _Cluster:
        asked = (self.pictures(shown.test, shown.video, one) for one in ids[:ASKED])
        wanted = FACES if self.spent < PICTURE_BYTES else 1
        faces = [picture_uri(one) for one in islice(filter(None, asked), wanted)]
        self.spent += sum(map(len, faces))
        return _Cluster(len(ids), faces)


def _section(
    i: int, test: Test, plan: Plan, results: Results, tables: list[Table], album: _Album
) -> _Section:
    sheet = Sheet(plan, test, results)
    counts, background = results.skew.get(test.name, ([], []))
    n_tracks = sum(
        sheet.statistics[one].n_tracks for one in sheet.videos if one in sheet.statistics
    )
    # The characters of all videos are known only where all were counted together.
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
            _gallery(one, plan, results, album) for one in results.shown if one.test == test.name
        ],
        n_videos=len(sheet.videos),
        n_characters=whole[-1].n_characters if whole else None,
        n_tracks=n_tracks or None,
    )


def _gallery(shown: Shown, plan: Plan, results: Results, album: _Album) -> _Gallery:
    clusters = sorted(shown.clusters, key=len, reverse=True)
    # What is shown is of the first seed, and may leave out the smallest clusters.
    whole = results.pick(
        test=shown.test, column=shown.column, method=shown.method, how="own", seed=plan.seeds[0]
    )
    n_clusters = max([len(clusters), *(one.n_clusters for one in whole)])
    return _Gallery(
        shown.column,
        method_title(shown.method),
        [album.cluster(shown, ids) for ids in clusters],
        n_clusters,
    )


def _curves_figure(column: str, found: dict[str, tuple[Curve, int]], n_characters: int) -> _Figure:
    width, height = 7.4, 3.1 + 0.2 * ((len(found) + 1) // 2 if len(found) > 4 else 0)
    source = _drawn(
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
    return _Figure(name, _drawn(lambda path: draw_skew_of(path, counts, background)), 700, 340)


def _drawn(draw: Callable[[BytesIO], None]) -> str:
    """Return what is drawn as an address; no file that a kill would leave is written."""
    drawn = BytesIO()
    draw(drawn)
    return picture_uri(drawn.getvalue(), "svg+xml")


def _label(method: str) -> str:
    """Return a name as a figure's legend takes it: no formulas, and nothing hidden."""
    return method_title(method).replace("$", r"\$").lstrip("_") or method
