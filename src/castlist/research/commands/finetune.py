"""``castlist research finetune``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import Boxes, Data, progress, say, waiting
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
            help="Model to start from. Defaults to the one shipped with castlist.",
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Number of weight updates.", show_default=False)
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate.", show_default=False)] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the drawn pairs.")] = 0,
    boxes: Boxes = True,
) -> None:
    """Fine-tune a model on the tracks of a video, without labels.

    Two faces of one track show one person, and two tracks that share a frame show two (supplement
    A of the paper). b and τ do not change.

    Example: `castlist research finetune episode.parquet -o episode.safetensors`
    """
    from dataclasses import replace

    from castlist.io.track_files import read_tracks
    from castlist.model.model_file import load_model, save_model
    from castlist.model.shipped import shipped_model
    from castlist.research.training.finetune import FinetuneSettings
    from castlist.research.training.finetune import finetune as tune

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
        say(f"tuned on {counted(len(tracks), 'track')}, {shared}: {out}")
    else:
        say(
            f"no two of {counted(len(tracks), 'track')} share a frame: there is nothing to learn "
            f"from, and the model is unchanged: {out}"
        )
