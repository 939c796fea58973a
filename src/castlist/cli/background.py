"""``castlist background``."""

from __future__ import annotations

from typing import Annotated

import typer

from castlist.cli.common import CastFolder, print_cast


def background(
    cast: CastFolder,
    characters: Annotated[
        list[str], typer.Argument(help="Their numbers or names.", show_default=False)
    ],
    no: Annotated[bool, typer.Option("--not", help="Say that they are not.")] = False,
) -> None:
    """Say that characters are background.

    Example: `castlist background episode.cast 8 9 12`
    """
    from castlist.cast.corrections import Corrections

    corrections = Corrections(cast)
    corrections.background(characters, not no)
    print_cast(corrections.cast)
