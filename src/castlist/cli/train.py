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
from castlist.learn.recipes import DEFAULT_RECIPE, RECIPES, recipe_settings
from castlist.learn.train_settings import LOSS_NAMES


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
    recipe: Annotated[
        str, typer.Option(help=f"Settings to start from: {', '.join(RECIPES)}.")
    ] = DEFAULT_RECIPE,
    loss: Annotated[
        str | None, typer.Option(help=f"What is made small: {', '.join(LOSS_NAMES)}.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Times through the tracks.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Tracks a batch.")] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate of the MLP.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Weight of L_sim.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Margin: γ = 9b + ε.")] = None,
    company: Annotated[
        bool | None,
        typer.Option(
            "--company/--no-company", help="Average L_sim over samples with another of theirs."
        ),
    ] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Weight decay of the MLP.")] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Widths of the hidden layers, such as 256,128,64.")
    ] = None,
    embedding: Annotated[int | None, typer.Option(min=1, help="Length of an embedding.")] = None,
    normalise: Annotated[
        bool | None,
        typer.Option(
            "--normalise/--no-normalise",
            help="Embeddings on the unit sphere; without it, what the loss wants.",
        ),
    ] = None,
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--no-standardise", help="Features to mean 0 and scale 1 first."
        ),
    ] = None,
    residual: Annotated[
        bool | None,
        typer.Option(
            "--residual/--no-residual",
            help="Add the MLP's output to its input, and start as the identity.",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=0, help="Number of neighbour-averaging rounds.")
    ] = None,
    reach: Annotated[
        float | None, typer.Option(help="Cosine above which two embeddings are neighbours.")
    ] = None,
    nearest: Annotated[
        float | None,
        typer.Option(min=0, help="Most neighbours of an embedding, times √n; 0 for all."),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            min=0, help="Train on made casts of up to this many people; 0 for uniform batches."
        ),
    ] = None,
    half: Annotated[
        bool | None,
        typer.Option("--half/--one-face", help="Average half of a track's faces, or choose one."),
    ] = None,
    held: Annotated[
        float | None, typer.Option(help="Share of the people who train b alone, not the MLP.")
    ] = None,
    alpha_b: Annotated[
        float | None, typer.Option(help="Weight of L_sim where they train b.")
    ] = None,
    b_hat: Annotated[float | None, typer.Option(help="Where b̂ starts; b = softplus(b̂).")] = None,
    operating: Annotated[
        bool | None,
        typer.Option(
            "--operating/--no-operating",
            help="Choose τ on validation and use it instead of 4b; always, unless ball.",
        ),
    ] = None,
    freeze_b: Annotated[int | None, typer.Option(min=0, help="Epochs before b̂ is trained.")] = None,
    rate_b: Annotated[float | None, typer.Option(help="Rate of b̂ relative to --rate.")] = None,
    fraction: Annotated[
        float | None, typer.Option(help="Share of the identities reserved for validation.")
    ] = None,
    validate_every: Annotated[
        int | None, typer.Option(min=1, help="Epochs from one validation to the next.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draws the split, the first weights and the batches.")
    ] = None,
    restart: Annotated[bool, typer.Option(help="Forget what the folder holds.")] = False,
    boxes: Boxes = True,
    json: Json = False,
) -> None:
    """Train a model on labelled tracks: by our recipe, by the paper's, or with a rival's loss.

    A recipe is a set of settings; what else is given changes some of them.

    The folder gets `model.safetensors` (the best validation epoch) and `log.jsonl` (an epoch a
    line). A run that was cut off goes on when the same command is given again.

    Example: `castlist train movies/ --exclude test_people.txt -o run`
    """
    from castlist.io.track_files import read_tracks
    from castlist.learn.run_folder import MODEL
    from castlist.learn.train import train as learn

    changes = {
        "loss": loss, "epochs": epochs, "batch": batch, "rate": rate, "alpha": alpha,
        "epsilon": epsilon, "company": company, "weight_decay": weight_decay,
        "hidden": None if hidden is None else _widths(hidden), "embedding": embedding,
        "normalise": normalise, "standardise": standardise, "residual": residual,
        "rounds": rounds, "reach": reach, "nearest": nearest, "people": people, "half": half,
        "held": held, "alpha_b": alpha_b, "b_hat": b_hat, "operating": operating,
        "freeze_b": freeze_b, "rate_b": rate_b, "validation": fraction,
        "validate_every": validate_every, "seed": seed,
    }  # fmt: skip
    settings = recipe_settings(
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
        typer.echo(f"castlist: warning: {warning.message}", err=True)
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
    typer.echo(f"\n{out / MODEL}")


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(",") if width.strip())
    except ValueError as error:
        raise typer.BadParameter(
            f"--hidden must be numbers such as 256,128,64, not {text!r}"
        ) from error
