"""``castlist undo`` and ``castlist redo``."""

from __future__ import annotations

import typer

from castlist.cli.common import CastFolder, print_cast


def undo(cast: CastFolder) -> None:
    """Take back what was said last.

    Example: `castlist undo episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.sentences import sentence

    corrections = Corrections(cast)
    event = corrections.undo()
    typer.echo(f"undone: {sentence(corrections, event)}")
    print_cast(corrections.cast)


def redo(cast: CastFolder) -> None:
    """Do again what was undone last.

    Example: `castlist redo episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.sentences import sentence

    corrections = Corrections(cast)
    event = corrections.redo()
    typer.echo(f"done again: {sentence(corrections, event)}")
    print_cast(corrections.cast)
