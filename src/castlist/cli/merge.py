"""``castlist merge``."""

from __future__ import annotations

from typing import Annotated

import typer

from castlist.cli.common import CastFolder, Waive, options_named, print_cast


def merge(
    cast: CastFolder,
    characters: Annotated[
        list[str], typer.Argument(help="Numbers or names; the first stays.", show_default=False)
    ],
    name: Annotated[str | None, typer.Option(help="The name to keep or to give.")] = None,
    waive: Waive = False,
) -> None:
    """Say that characters are one person.

    Example: `castlist merge episode.cast Anna 7 12`
    """
    from castlist.cast.corrections import Corrections

    corrections = Corrections(cast)
    with options_named():
        corrections.merge(characters, name=name, waive=waive)
    print_cast(corrections.cast)
