"""``castlist research train``."""

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
    say,
    waiting,
)
from castlist.errors import CollapseWarning
from castlist.research.training.train_settings import (
    DEFAULT_RECIPE,
    LOSS_NAMES,
    RECIPES,
    resolve_recipe,
)


def train(
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the run.")],
    validation: Annotated[
        list[Path] | None,
        typer.Option(help="Tracks to validate on, instead of reserving identities."),
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(help="File of identities to leave out, one per line.", exists=True),
    ] = None,
    recipe: Annotated[
        str, typer.Option(help=f"Settings to start from: {', '.join(RECIPES)}.")
    ] = DEFAULT_RECIPE,
    loss: Annotated[
        str | None, typer.Option(help=f"Loss function: {', '.join(LOSS_NAMES)}.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Number of passes over the tracks.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Number of tracks per batch; used with --cast-size 0.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate of the MLP.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Weight of L_sim.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Margin: γ = 9b + ε.")] = None,
    skip_singletons: Annotated[
        bool | None,
        typer.Option(
            "--skip-singletons/--no-skip-singletons",
            help="Average L_sim only over samples whose identity has another one in the batch.",
        ),
    ] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay of the MLP.")] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Widths of the hidden layers, such as 256,128,64.")
    ] = None,
    embedding: Annotated[int | None, typer.Option(min=1, help="Embedding dimension.")] = None,
    normalise: Annotated[
        bool | None,
        typer.Option(
            "--normalise/--no-normalise",
            help="Normalise embeddings to unit length; by default as the paper does for the loss.",
        ),
    ] = None,
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--no-standardise", help="Standardise features to mean 0 and scale 1."
        ),
    ] = None,
    residual: Annotated[
        bool | None,
        typer.Option(
            "--residual/--no-residual",
            help="Add the MLP's output to its input. The model starts as the identity.",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=0, help="Number of neighbour-averaging rounds.")
    ] = None,
    reach: Annotated[
        float | None,
        typer.Option(help="Cosine similarity above which two embeddings are neighbours."),
    ] = None,
    nearest: Annotated[
        float | None,
        typer.Option(
            min=0, help="Maximum number of neighbours, as a multiple of √n; 0 for no maximum."
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            min=0, help="Minimum cosine of neighbours, as a share of an embedding's highest cosine."
        ),
    ] = None,
    false_rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Maximum share of different people among neighbours; --reach is then a "
            "minimum. 0 for a fixed reach.",
        ),
    ] = None,
    cast_size: Annotated[
        int | None,
        typer.Option(
            min=0, help="Train on synthetic casts of up to this many people; 0 for uniform batches."
        ),
    ] = None,
    average_half: Annotated[
        bool | None,
        typer.Option(
            "--average-half/--one-face",
            help="Represent a track by the mean of a random half of its faces, or by one face.",
        ),
    ] = None,
    b_holdout: Annotated[
        float | None,
        typer.Option(help="Share of the training identities that train b and not the MLP."),
    ] = None,
    alpha_b: Annotated[
        float | None, typer.Option(help="Weight of L_sim in the loss of these identities.")
    ] = None,
    b_hat: Annotated[
        float | None, typer.Option(help="Initial value of b̂; b = softplus(b̂).")
    ] = None,
    operating: Annotated[
        bool | None,
        typer.Option(
            "--operating/--no-operating",
            help="Choose τ on validation tracks instead of 4b; other losses than ball always do.",
        ),
    ] = None,
    freeze_b: Annotated[
        int | None, typer.Option(min=0, help="Number of epochs before b̂ is trained.")
    ] = None,
    rate_b: Annotated[
        float | None, typer.Option(help="Learning rate of b̂, relative to --rate.")
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Share of the identities reserved for validation.")
    ] = None,
    validate_every: Annotated[
        int | None, typer.Option(min=1, help="Number of epochs between validations.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the split, the initial weights and the batches."),
    ] = None,
    restart: Annotated[
        bool, typer.Option(help="Delete an earlier run in the folder and start again.")
    ] = False,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Train a model on labelled tracks with our recipe, the paper's, or another loss.

    A recipe is a named set of settings; other options change some of them.

    The folder gets `model.safetensors` (the best validation epoch) and `log.jsonl` (one line per
    epoch). If the run is interrupted, repeat the command to resume it.

    Example: `castlist research train movies/ --exclude test_people.txt -o run`
    """
    from castlist.io.track_files import read_tracks
    from castlist.research.training.run_folder import MODEL
    from castlist.research.training.train import train as learn

    changes = {
        "loss": loss, "epochs": epochs, "batch": batch, "rate": rate, "alpha": alpha,
        "epsilon": epsilon, "skip_singletons": skip_singletons, "weight_decay": weight_decay,
        "hidden": None if hidden is None else _widths(hidden), "embedding": embedding,
        "normalise": normalise, "standardise": standardise, "residual": residual,
        "rounds": rounds, "reach": reach, "nearest": nearest, "share": share,
        "false_rate": false_rate, "cast_size": cast_size,
        "average_half": average_half, "b_holdout": b_holdout, "alpha_b": alpha_b, "b_hat": b_hat,
        "operating": operating,
        "freeze_b": freeze_b, "rate_b": rate_b, "validation": fraction,
        "validate_every": validate_every, "seed": seed,
    }  # fmt: skip
    settings = resolve_recipe(
        recipe, **{name: value for name, value in changes.items() if value is not None}
    )
    with waiting("reading tracks"):
        tracks = read_tracks(*data, boxes=boxes)
        apart = read_tracks(*validation, boxes=boxes) if validation else None
    with warnings.catch_warnings(record=True) as caught, progress() as report:
        warnings.simplefilter("always", CollapseWarning)
        result = learn(
            tracks, settings, validation=apart, exclude=read_names(exclude), run=out,
            restart=restart, progress=report,
        )  # fmt: skip
    for warning in caught:
        say(f"castlist: warning: {warning.message}", err=True)
    best = result.model.validation
    if json:
        print_json(
            {"model": str(out / MODEL), "threshold": result.model.threshold, "validation": best}
        )
        return
    rows = []
    if settings.loss == "ball":
        rows.append(["at 4b", best["epoch"], best["b"], 4 * best["b"], best["n_characters"],
                     best["n_clusters"], best["nmi"], best["wcp"]])  # fmt: skip
    if "operating" in best:
        found = [best[f"operating_{name}"] for name in ("clusters", "nmi", "wcp")]
        rows.append(["operating", best["epoch"], best["b"] if settings.loss == "ball" else "–",
                     best["operating"], best["n_characters"], *found])  # fmt: skip
    print_table(["validation", "epoch", "b", "τ", "#Ch", "#Cl", "NMI", "WCP"], rows)
    say(f"\n{out / MODEL}")


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(",") if width.strip())
    except ValueError as error:
        raise typer.BadParameter(
            f"--hidden must be comma-separated numbers such as 256,128,64, not {text!r}"
        ) from error
