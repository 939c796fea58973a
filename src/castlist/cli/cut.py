"""``castlist cut``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from castlist.cli.common import CastFolder, print_cast


def cut(
    cast: CastFolder,
    track: Annotated[str, typer.Argument(help="Its id.", show_default=False)],
    at: Annotated[
        float, typer.Argument(help="Seconds of the video; the second part begins here.",
                              show_default=False)
    ],
    keep: Annotated[
        Literal["before", "after"],
        typer.Option(help="The part that stays in its character; the other becomes a new one."),
    ] = "before",
) -> None:  # fmt: skip
    """Cut a track that shows two people.

    Example: `castlist cut episode.cast 00012 83.4`
    """
    from castlist.cast.corrections import Corrections

    corrections = Corrections(cast)
    corrections.cut(track, at, keep=keep)
    print_cast(corrections.cast)
