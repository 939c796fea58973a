"""``castlist undo`` and ``castlist redo``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from castlist.cli.common import CastFolder, print_cast


def undo(cast: CastFolder) -> None:
    """Take back what was said last.

    Example: `castlist undo episode.cast`
    """
    _take(cast, "undo", "undone")


def redo(cast: CastFolder) -> None:
    """Do again what was undone last.

    Example: `castlist redo episode.cast`
    """
    _take(cast, "redo", "done again")


def _take(cast: Path, what: Literal["undo", "redo"], told: str) -> None:
    from castlist.cast.corrections import Corrections
    from castlist.cast.history import describe_event

    corrections = Corrections(cast)
    event = getattr(corrections, what)()
    typer.echo(f"{told}: {describe_event(corrections, event)}")
    print_cast(corrections.cast)
