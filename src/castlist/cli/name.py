"""``castlist name``."""

from __future__ import annotations

from typing import Annotated

import typer

from castlist.cli.common import CastFolder, print_cast


def name(
    cast: CastFolder,
    character: Annotated[str, typer.Argument(help="Its number or name.", show_default=False)],
    name: Annotated[
        str, typer.Argument(help="The name; an empty one takes it away.", show_default=False)
    ],
) -> None:
    """Give a character a name.

    Example: `castlist name episode.cast 3 "Anna Lee"`
    """
    from castlist.cast.corrections import Corrections

    corrections = Corrections(cast)
    corrections.name(character, name)
    print_cast(corrections.cast)
