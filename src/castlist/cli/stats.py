"""``castlist stats``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import Boxes, Data, Json, print_json, print_table, waiting


def stats(
    data: Data,
    figure: Annotated[
        Path | None, typer.Option(help="Draw tracks per identity here (.png, .svg, .pdf).")
    ] = None,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Count the characters and tracks of labelled data.

    One column a video, then each series and all together: rows 1 to 6 of the paper's test table.

    Example: `castlist stats episodes/ --figure skew.png`
    """
    from castlist.io.track_files import read_tracks
    from castlist.study.figures import draw_skew
    from castlist.study.statistics import Statistics, statistics_table

    with waiting("reading tracks"):
        tracks = read_tracks(*data, boxes=boxes)
    columns = statistics_table(tracks)
    if figure is not None:
        draw_skew(figure, tracks)
    if json:
        print_json([asdict(column) for column in columns])
        return
    values = zip(*(column.values() for column in columns), strict=True)
    print_table(
        ["", *(column.name for column in columns)],
        [[name, *row] for name, row in zip(Statistics.ROWS, values, strict=True)],
    )
    if figure is not None:
        typer.echo(f"\n{figure}")
