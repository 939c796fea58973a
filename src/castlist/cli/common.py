"""Arguments, progress bars and output that several commands use."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from castlist.errors import InputError, counted
from castlist.format import COMMANDS, terminal_text
from castlist.progress import Progress as Report

if TYPE_CHECKING:
    from castlist.cast.cast import Cast
    from castlist.model.ball_model import BallModel
    from castlist.tracks import TrackSet

_MOST_CHARACTERS = 20
_MOST_BYTES = 2**26  # of a list of names


def _set_threads(number: int | None) -> int | None:
    from castlist.parallel import set_threads

    set_threads(number)
    return number


CastFolder = Annotated[
    Path,
    typer.Argument(help="Cast folder, as made by `castlist scan` or `join`.", show_default=False),
]
Waive = Annotated[
    bool,
    typer.Option(
        help="Allow tracks that share a frame in one character: a mirror, a split screen or a "
        "photograph."
    ),
]

Data = Annotated[
    list[Path],
    typer.Argument(
        help="Track files (.parquet), folders of them, or folders in the layout of the paper's "
        "authors.",
        show_default=False,
    ),
]
ScanModel = Annotated[
    Path | None,
    typer.Option(
        "--model", "-m", show_default=False,
        help="The model of the scan, if it was given one. A file that only the cast folder names "
        "is not opened, as the folder may come from somebody else.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
OnRay = Annotated[
    bool,
    typer.Option(
        "--ray", help="Run on a Ray cluster. Without --ray-address, one is started on this machine."
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(help="Address of a Ray cluster, such as 10.0.0.1:6379. Implies --ray."),
]
Device = Annotated[
    str,
    typer.Option(
        help="Device that runs the networks: cpu; or, with onnxruntime, cuda, coreml or directml."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, callback=_set_threads, show_default=False,
                 help="Number of threads. Defaults to the number of available cores."),
]  # fmt: skip
Boxes = Annotated[
    bool, typer.Option(help="Read boxes from facetracks.mat in the layout of the paper's authors.")
]


@contextmanager
def progress() -> Iterator[Report]:
    """Draw one progress bar per stage on the error stream, and erase them at the end."""
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn

    bars: dict[str, TaskID] = {}
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(), TimeLeftColumn(), console=console, transient=True,
        disable=not console.is_terminal,  # it would leave an empty line
    ) as drawn:  # fmt: skip

        def report(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = drawn.add_task(escape(terminal_text(stage)), total=total)
            drawn.update(bars[stage], completed=done, total=total)

        yield report


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a spinner while work of unknown length runs."""
    with Console(stderr=True).status(what):
        yield


def say(text: object = "", *, err: bool = False) -> None:
    """Print a line, or several, without what a terminal would obey."""
    typer.echo(terminal_text(text), err=err)


def ask(question: str, default: str) -> str:
    """Return what is typed as the answer to a question."""
    return str(typer.prompt(terminal_text(question), default=default, show_default=False))


def print_json(value: Any) -> None:
    """Print one JSON document, in ASCII if the output is not in UTF-8."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    # Of what a terminal obeys, json.dumps escapes only the first 32 characters.
    lines = json.dumps(value, indent=2, ensure_ascii=not utf8)
    typer.echo(COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", lines))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table with its first column aligned left and the others right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(header):
        table.add_column(
            Text(terminal_text(name)), justify="left" if i == 0 else "right", no_wrap=True
        )
    for row in rows:
        cells = (f"{v:.4f}" if isinstance(v, float) else terminal_text(v) for v in row)
        table.add_row(*(Text(cell.replace("\n", " ")) for cell in cells))
    # A file or a pipe has no width, so that no cell is cut off.
    console = Console(soft_wrap=True, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


def print_cast(cast: Cast) -> None:
    """Print the characters with the most screen time, and the number of all of them."""
    from castlist.format import lasting

    rows = [
        [
            f"{one.name} ({one.number})" if one.name else one.title, lasting(one.seconds),
            len(one.tracks), "too small" if one.small else f"{100 * one.sure:.0f} %",
        ]
        for one in cast.characters[:_MOST_CHARACTERS]
    ]  # fmt: skip
    print_table(["character", "on screen", "tracks", "sure"], rows)
    rest = len(cast.characters) - _MOST_CHARACTERS
    groups = Counter(one.group for one in cast.characters)
    background, small = groups["background"], groups["small"]
    say(
        f"\n{counted(len(cast.characters), 'character')}"
        + (f", {background} of them background" if background else "")
        + (f", {small} too small to tell" if small else "")
        + (f" ({rest} more in the report)" if rest > 0 else "")
        + f"; {counted(len(cast.tracks), 'track')} in {lasting(cast.duration)} of video"
    )


def read_with_model(
    data: Sequence[Path], boxes: bool, model: Path | None
) -> tuple[TrackSet, BallModel | None]:
    """Read tracks, and a model if one is given."""
    from castlist.io.track_files import read_tracks
    from castlist.model.model_file import load_model

    with waiting("reading tracks"):
        return read_tracks(*data, boxes=boxes), load_model(model) if model else None


def read_names(path: Path | None) -> frozenset[str]:
    """Return the identities listed in a file, one per line."""
    from castlist.io.untrusted import read_small

    if path is None:
        return frozenset()
    try:
        lines = read_small(path, _MOST_BYTES).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, InputError) as error:
        raise InputError(
            f"{path}: cannot read a list of names; it must be a UTF-8 text file with one name per "
            f"line ({error})"
        ) from error
    return frozenset(line.strip() for line in lines if line.strip())
