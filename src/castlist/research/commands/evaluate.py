"""``castlist research evaluate`` and ``stats``: scores of clusterings, counts of labelled data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.cluster import Characters, Model, Overlaps, Threshold
from castlist.cli.common import (
    Boxes,
    Data,
    Json,
    print_json,
    print_table,
    progress,
    read_with_model,
    say,
    waiting,
)


def evaluate(
    data: Data,
    model: Model = None,
    threshold: Threshold = None,
    characters: Characters = None,
    cannot_link_overlaps: Overlaps = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Plot NMI and WCP over the number of clusters to this file (.png, .svg, .pdf)."
        ),
    ] = None,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Cluster labelled tracks and compare the clusters with the labels.

    Example: `castlist research evaluate film.parquet --model model.safetensors --figure curve.png`
    """
    from castlist.research.study.evaluation import curve_of, evaluate_tracks
    from castlist.research.study.figures import draw_curves

    tracks, net = read_with_model(data, boxes, model)
    with progress() as report:
        found = evaluate_tracks(
            tracks, net, threshold=threshold, n_characters=characters,
            overlaps=cannot_link_overlaps, progress=report,
        )  # fmt: skip
    if figure is not None:
        with waiting("plotting"):
            curves = {"features": curve_of(tracks)}
            if net is not None:
                curves["model"] = curve_of(tracks, net)
            *_, clustered = curves
            draw_curves(
                figure, curves, {clustered: found.scores.n_clusters}, found.scores.n_characters
            )
    scores = found.scores.to_dict()
    if json:
        print_json(scores)
        return
    names = {"n_tracks": "#T", "n_characters": "#Ch", "n_clusters": "#Cl", "nmi": "NMI"}
    names |= {"wcp": "WCP", "ari": "ARI", "pairwise_f": "pairwise F", "bcubed_f": "B-cubed F"}
    print_table(["", "value"], [[names.get(name, name), value] for name, value in scores.items()])
    if figure is not None:
        say(f"\n{figure}")


def stats(
    data: Data,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Plot the number of tracks per identity to this file (.png, .svg, .pdf)."
        ),
    ] = None,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Count the characters and tracks of labelled data.

    Prints one column per video, one per series and one for all: rows 1 to 6 of the paper's table
    of test data.

    Example: `castlist research stats episodes/ --figure skew.png`
    """
    from castlist.io.track_files import read_tracks
    from castlist.research.study.figures import draw_skew
    from castlist.research.study.statistics import Statistics, statistics_table

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
        say(f"\n{figure}")
