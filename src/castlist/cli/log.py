"""``castlist log``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import typer

from castlist.cli.common import CastFolder, Json, print_json, print_table
from castlist.errors import counted


def log(cast: CastFolder, json: Json = False) -> None:
    """Print what was said of a cast: who, when, what, and whether it holds.

    Example: `castlist log episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.sentences import sentence

    corrections = Corrections(cast)
    history = corrections.history
    if json:
        print_json([{**asdict(event), "holds": holds} for event, holds in history])
        return
    if not history:
        typer.echo("Nothing was said yet.")
        return
    rows = [
        [
            event.number, datetime.fromtimestamp(event.at).strftime("%Y-%m-%d %H:%M:%S"), event.who,
            sentence(corrections, event),
            "" if holds or event.kind in ("undo", "redo") else "undone",
        ]
        for event, holds in history
    ]  # fmt: skip
    print_table(["", "when", "who", "said", ""], rows)
    for event, anchors in corrections.lost:
        typer.echo(
            f"{event.number}: {counted(len(anchors), 'track')} that it speaks of cannot be found "
            "in this scan"
        )
