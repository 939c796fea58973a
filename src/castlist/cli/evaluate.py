"""``castlist evaluate``."""

from __future__ import annotations

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
        typer.Option(help="Draw NMI and WCP over the number of clusters (.png, .svg, .pdf)."),
    ] = None,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Cluster labelled tracks and compare with the truth.

    Example: `castlist evaluate episode.parquet --model run/model.safetensors --figure curve.png`
    """
    from castlist.study.evaluation import curve_of, evaluate_tracks
    from castlist.study.figures import draw_curves

    tracks, net = read_with_model(data, boxes, model)
    with progress() as report:
        found = evaluate_tracks(
            tracks, net, threshold=threshold, n_characters=characters,
            overlaps=cannot_link_overlaps, progress=report,
        )  # fmt: skip
    if figure is not None:
        with waiting("drawing the curves"):
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
        typer.echo(f"\n{figure}")
