"""``castlist log``."""

from __future__ import annotations

from datetime import datetime

import typer

from castlist.cli.common import CastFolder, Json, print_json, print_table


def log(cast: CastFolder, json: Json = False) -> None:
    """Print what was said of a cast: who, when, what, and whether it holds.

    Example: `castlist log episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.history import describe_event, moves

    corrections = Corrections(cast)
    history, moved = corrections.history, moves(corrections)
    if json:
        print_json([
            {
                "number": event.number, "at": event.at, "who": event.who, "kind": event.kind,
                "text": describe_event(corrections, event), "holds": holds,
                "moves": [
                    {"from": one.before, "to": one.after,
                     "tracks": corrections.tracks.ids[one.tracks].tolist()}
                    for one in moved.get(event.number, ())
                ],
            }
            for event, holds in history
        ])  # fmt: skip
        return
    if not history:
        typer.echo("Nothing was said yet.")
        return
    rows = [
        [
            event.number, datetime.fromtimestamp(event.at).strftime("%Y-%m-%d %H:%M:%S"), event.who,
            describe_event(corrections, event),
            sum(len(c.tracks) for c in moved.get(event.number, ())),
            "" if holds or event.kind in ("undo", "redo") else "undone",
        ]
        for event, holds in history
    ]  # fmt: skip
    print_table(["", "when", "who", "said", "tracks moved", ""], rows)
    for one in corrections.lost:
        where = f"track {one.anchor.track} of {one.anchor.video}"
        at = f" at {one.anchor.faces[0][0]:.1f} s" if one.anchor.faces else ""
        what = "shows another face now" if len(one.there) else "is not in this scan"
        typer.echo(f"{one.event.number}: {where}{at} {what}; what was said of it is not applied")
