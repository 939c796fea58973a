"""``castlist split``."""

from __future__ import annotations

from typing import Annotated

import typer

from castlist.cli.common import CastFolder, Waive, options_named, print_cast


def split(
    cast: CastFolder,
    tracks: Annotated[list[str], typer.Argument(help="Ids of tracks.", show_default=False)],
    to: Annotated[
        str | None, typer.Option(help="Move them to this character instead: its number or name.")
    ] = None,
    not_a_face: Annotated[
        bool, typer.Option("--not-a-face", help="Take them out: they show no face.")
    ] = False,
    a_face: Annotated[
        bool, typer.Option("--a-face", help="Put them back: they show a face after all.")
    ] = False,
    waive: Waive = False,
) -> None:
    """Make tracks a character of their own, or move them to another.

    Example: `castlist split episode.cast 00012 00015`
    """
    from castlist.cast.corrections import Corrections
    from castlist.errors import InputError

    if (to is not None) + not_a_face + a_face > 1:
        raise InputError("give one of --to, --not-a-face and --a-face")
    corrections = Corrections(cast)
    if not_a_face or a_face:
        corrections.not_face(tracks, not_a_face)
    else:
        with options_named():
            corrections.move(tracks, to, waive=waive)
    print_cast(corrections.cast)
