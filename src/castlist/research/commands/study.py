"""``castlist research study``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import progress, say, waiting


def study(
    plan: Annotated[
        Path, typer.Argument(help="TOML file with data and methods, or the authors' download.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the page, tables and models.")
    ],
    quick: Annotated[
        bool, typer.Option(help="Use one seed and a few epochs, to check that the plan runs.")
    ] = False,
    restart: Annotated[
        bool, typer.Option(help="Discard the results in the folder and start again.")
    ] = False,
) -> None:
    """Compare all methods of the paper on labelled tracks, with every table and figure.

    Finished results are kept. Run the same command again to resume an interrupted study.
    docs/research/study.md describes the TOML file.

    If you give the folder of the authors' download, with their features and checkpoint, the
    command prints their table beside the paper's figures.

    Example: `castlist research study benchmarks/study.toml -o study`
    """
    from castlist.research.study.html_page import markdown_of, write_study
    from castlist.research.study.paper_tables import columns_table
    from castlist.research.study.plan import read_plan
    from castlist.research.study.runner import run_study

    read = read_plan(plan)
    if quick:
        read = read.quick()
    with progress() as report:
        results = run_study(read, out, restart=restart, progress=report)
    with waiting("drawing"):
        files = write_study(out, read, results)
    if plan.is_dir():
        say(markdown_of(columns_table(read, results)))
    for file in files:
        say(file)
