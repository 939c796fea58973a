"""``castlist study``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import progress, waiting


def study(
    plan: Annotated[Path, typer.Argument(help="TOML file: data, methods, seeds.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the page and the tables.")],
    quick: Annotated[
        bool, typer.Option(help="One seed and a few epochs: to see that it works.")
    ] = False,
    restart: Annotated[bool, typer.Option(help="Forget what the folder holds.")] = False,
) -> None:
    """Compare all methods of the paper on labelled tracks: every table and figure, on one page.

    What is done already is kept, and a study that was cut off goes on when the same command is
    given again. docs/research/study.md says what the file holds.

    Example: `castlist study benchmarks/study.toml -o study`
    """
    from castlist.study.page import write_study
    from castlist.study.plan import read_plan
    from castlist.study.run import run_study

    read = read_plan(plan)
    if quick:
        read = read.quick()
    with progress() as report:
        results = run_study(read, out, restart=restart, progress=report)
    with waiting("drawing"):
        files = write_study(out, read, results)
    for file in files:
        typer.echo(file)
