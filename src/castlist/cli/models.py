"""``castlist models``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from castlist.cli.common import Json, print_json, print_table, progress, say
from castlist.errors import CastlistError
from castlist.video import weights
from castlist.video.weights import REGISTRY, LicenceWarning, Weights

models = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@models.callback(invoke_without_command=True)
def _models(context: typer.Context, json: Json = False) -> None:
    """List, download and verify the model weights.

    Example: `castlist models`
    """
    if context.invoked_subcommand is not None:
        return
    rows = [_describe(entry) for entry in REGISTRY.values()]
    if json:
        print_json(rows)
        return
    print_table(
        ["name", "file", "size", "state", "licence", "commercial"],
        [
            [row["name"], row["file"], _megabytes(row["size"]), row["state"], row["licence"],
             "yes" if row["commercial"] else "no"]
            for row in rows
        ],
    )  # fmt: skip


@models.command()
def fetch(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help=f"Names of weights. Defaults to {' and '.join(weights.DEFAULTS)}.",
        ),
    ] = None,
) -> None:
    """Download weights into the cache, unless they are there and intact.

    Example: `castlist models fetch yunet sface`
    """
    wanted = [weights.known(name) for name in names or weights.DEFAULTS]
    for entry in wanted:
        with licences_shown(), progress() as report:
            path = weights.fetch(entry.name, report)
        say(path)


@models.command()
def verify(json: Json = False) -> None:
    """Compare the weights in the cache with their SHA-256. Exits with 2 if one is damaged.

    Example: `castlist models verify`
    """
    states = {name: weights.verify(name) for name in REGISTRY}
    if json:
        print_json(states)
    else:
        print_table(["name", "state"], list(states.items()))
    damaged = [name for name, state in states.items() if state == "damaged"]
    if damaged:
        command = f"castlist models fetch {' '.join(damaged)}"
        raise CastlistError(f"damaged weights; run `{command}` to download them again")


@models.command()
def licence(name: Annotated[str, typer.Argument(help="Name of the weights.")]) -> None:
    """Print the licence and the sources of weights.

    Example: `castlist models licence edgeface`
    """
    entry = weights.known(name)
    say(f"{entry.name}: {entry.file}")
    say(f"licence: {entry.licence}")
    say(f"commercial use: {'yes' if entry.commercial else 'no'}")
    say(f"SHA-256: {entry.sha256}")
    for source in entry.sources:
        say(f"source: {source}")


@contextmanager
def licences_shown() -> Iterator[None]:
    """Print the licence warnings of the block, even if it raises."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LicenceWarning)
        try:
            yield
        finally:
            for warning in caught:
                say(f"castlist: warning: {warning.message}", err=True)


def _describe(entry: Weights) -> dict[str, Any]:
    state = weights.verify(entry.name)
    return {
        "name": entry.name,
        "file": entry.file,
        "size": entry.path.stat().st_size if state == "ok" else None,
        "state": state,
        "licence": entry.licence,
        "commercial": entry.commercial,
        "sha256": entry.sha256,
        "path": str(entry.path),
    }


def _megabytes(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"
