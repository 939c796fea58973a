"""``castlist train``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import (
    Boxes,
    Data,
    Json,
    print_json,
    print_table,
    progress,
    read_names,
    waiting,
)
from castlist.errors import CollapseWarning
from castlist.io.read import read_tracks
from castlist.learn.settings import TrainSettings


def train(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the run.")],
    validation: Annotated[
        list[Path] | None,
        typer.Option(help="Validate on these tracks instead of reserving identities."),
    ] = None,
    exclude: Annotated[
        Path | None, typer.Option(help="File of identities to leave out, one a line.", exists=True)
    ] = None,
    epochs: Annotated[int, typer.Option(min=1)] = TrainSettings.epochs,
    batch: Annotated[int, typer.Option(min=1, help="Tracks a batch.")] = TrainSettings.batch,
    rate: Annotated[float, typer.Option(help="Learning rate of the MLP.")] = TrainSettings.rate,
    alpha: Annotated[float, typer.Option(help="Weight of L_sim.")] = TrainSettings.alpha,
    epsilon: Annotated[float, typer.Option(help="Margin: γ = 9b + ε.")] = TrainSettings.epsilon,
    hidden: Annotated[str, typer.Option(help="Widths of the hidden layers.")] = ",".join(
        map(str, TrainSettings.hidden)
    ),
    embedding: Annotated[
        int, typer.Option(min=1, help="Length of an embedding.")
    ] = TrainSettings.embedding,
    normalise: Annotated[
        bool, typer.Option(help="Embeddings on the unit sphere.")
    ] = TrainSettings.normalise,
    standardise: Annotated[
        bool, typer.Option(help="Features to mean 0 and scale 1 over the training set.")
    ] = TrainSettings.standardise,
    residual: Annotated[
        bool, typer.Option(help="Add the MLP's output to its input, and start as the identity.")
    ] = TrainSettings.residual,
    b_hat: Annotated[float, typer.Option(help="Where b̂ starts; b = softplus(b̂).")] = (
        TrainSettings.b_hat
    ),
    operating: Annotated[
        bool, typer.Option(help="Choose τ on validation and use it instead of 4b.")
    ] = False,
    freeze_b: Annotated[
        int, typer.Option(min=0, help="Epochs before b̂ is trained.")
    ] = TrainSettings.freeze_b,
    rate_b: Annotated[
        float, typer.Option(help="Rate of b̂ relative to --rate.")
    ] = TrainSettings.rate_b,
    fraction: Annotated[
        float, typer.Option(help="Share of the identities reserved for validation.")
    ] = TrainSettings.validation,
    seed: Annotated[int, typer.Option(min=0)] = TrainSettings.seed,
    restart: Annotated[bool, typer.Option(help="Forget what the folder holds.")] = False,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Train a model on labelled tracks, as the paper does.

    The folder gets `model.safetensors` (the best validation epoch) and `log.jsonl` (an epoch a
    line). A run that was cut off goes on when the same command is given again.

    Example: `castlist train movies/ --exclude test_people.txt -o run`
    """
    from castlist.learn.run import MODEL
    from castlist.learn.train import train as learn

    settings = TrainSettings(
        hidden=_widths(hidden), embedding=embedding, normalise=normalise, alpha=alpha,
        epsilon=epsilon, batch=batch, epochs=epochs, rate=rate, freeze_b=freeze_b, rate_b=rate_b,
        validation=fraction, seed=seed, residual=residual, b_hat=b_hat, standardise=standardise,
        operating=operating,
    )  # fmt: skip
    with waiting("reading tracks"):
        tracks = read_tracks(*data, boxes=boxes)
        held = read_tracks(*validation, boxes=boxes) if validation else None
    with warnings.catch_warnings(record=True) as caught, progress() as report:
        warnings.simplefilter("always", CollapseWarning)
        result = learn(
            tracks, settings, validation=held, exclude=read_names(exclude), run=out,
            restart=restart, progress=report,
        )  # fmt: skip
    for warning in caught:
        typer.echo(f"castlist: warning: {warning.message}", err=True)
    best = result.model.validation
    if json:
        print_json(
            {"model": str(out / MODEL), "threshold": result.model.threshold, "validation": best}
        )
        return
    rows = [["at 4b", best["epoch"], best["b"], 4 * best["b"], best["n_characters"],
             best["n_clusters"], best["nmi"], best["wcp"]]]  # fmt: skip
    if operating:
        found = [best[f"operating_{name}"] for name in ("clusters", "nmi", "wcp")]
        rows.append(["operating", best["epoch"], best["b"], best["operating"],
                     best["n_characters"], *found])  # fmt: skip
    print_table(["validation", "epoch", "b", "τ", "#Ch", "#Cl", "NMI", "WCP"], rows)
    typer.echo(f"\n{out / MODEL}")


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(",") if width.strip())
    except ValueError as error:
        raise typer.BadParameter(
            f"--hidden must be numbers such as 256,128,64, not {text!r}"
        ) from error
