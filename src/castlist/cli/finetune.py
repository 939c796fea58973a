"""``castlist finetune``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import Boxes, Data, progress, waiting
from castlist.errors import counted
from castlist.io.output_guard import check_file


def finetune(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Model file to write (.safetensors).")],
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            help="The model to start from; the one that comes with castlist if not given.",
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Updates of the weights.", show_default=False)
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which pairs are drawn.")] = 0,
    boxes: Boxes = True,
) -> None:
    """Make a model cast-specific on the tracks of a video, without labels.

    Two faces of one track are one person; two tracks that share a frame are two (the paper's
    supplement A). b and τ stay as they are.

    Example: `castlist finetune episode.parquet -o episode.safetensors`
    """
    from dataclasses import replace

    from castlist.io.track_files import read_tracks
    from castlist.learn.finetune import FinetuneSettings
    from castlist.learn.finetune import finetune as tune
    from castlist.learn.model_file import load_model, save_model
    from castlist.learn.shipped import shipped_model

    check_file(out, ".safetensors")
    with waiting("reading tracks"):
        tracks = read_tracks(*data, boxes=boxes)
        start = load_model(model) if model else shipped_model(tracks.describer or "SFace-TV")
    usual = FinetuneSettings.of(start)
    settings = replace(
        usual,
        iterations=usual.iterations if iterations is None else iterations,
        rate=usual.rate if rate is None else rate,
        seed=seed,
    )
    with progress() as report:
        tuned = tune(start, tracks, settings, progress=report)
    save_model(tuned, out)
    pairs = len(tracks.overlaps())
    if pairs:
        shared = f"{counted(pairs, 'pair')} of which {'shares' if pairs == 1 else 'share'} a frame"
        typer.echo(f"tuned on {counted(len(tracks), 'track')}, {shared}: {out}")
    else:
        typer.echo(
            f"no two of {counted(len(tracks), 'track')} share a frame: nothing to learn from, and "
            f"the model is as it was: {out}"
        )
