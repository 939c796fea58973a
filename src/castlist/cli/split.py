"""``castlist split``."""

from __future__ import annotations

from typing import Annotated

import typer

from castlist.cli.common import CastFolder, Waive, print_cast


def split(
    cast: CastFolder,
    tracks: Annotated[list[str], typer.Argument(help="Ids of tracks.", show_default=False)],
    to: Annotated[
        str | None, typer.Option(help="Move them to this character instead: its number or name.")
    ] = None,
    not_a_face: Annotated[
        bool, typer.Option("--not-a-face", help="Take them out: they show no face.")
    ] = False,
    waive: Waive = False,
) -> None:
    """Make tracks a character of their own, or move them to another.

    Example: `castlist split episode.cast 00012 00015`
    """
    from castlist.cast.corrections import Corrections
    from castlist.errors import InputError

    if not_a_face and to is not None:
        raise InputError("what is not a face goes to no character: give --to or --not-a-face")
    corrections = Corrections(cast)
    if not_a_face:
        corrections.not_face(tracks)
    else:
        corrections.move(tracks, to, waive=waive)
    print_cast(corrections.cast)
