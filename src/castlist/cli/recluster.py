"""``castlist recluster``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from castlist.cli.common import CastFolder, print_cast, print_table, progress
from castlist.errors import InputError
from castlist.io.files import printable


def recluster(
    cast: CastFolder,
    finetune: Annotated[
        bool, typer.Option(help="Fine-tune the model first, with the pairs that were said.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
) -> None:
    """Cluster again with what was said: the same person, different people, names.

    Shows what would change, and asks. It can be undone.

    Example: `castlist recluster episode.cast --finetune`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.links import overlap_summary
    from castlist.cast.recluster import accept, propose
    from castlist.report.given_up import given_up_line

    corrections = Corrections(cast)
    with progress() as report:
        proposal = propose(corrections, finetune, progress=report)
    if not proposal.changes:
        typer.echo("Nothing would change.")
        return
    titles = {one.number: one.title for one in corrections.cast.characters}
    rows = [
        [
            titles[one.before],
            proposal.names.get(one.after) or titles.get(one.after, "a new character"),
            len(one.tracks),
        ]
        for one in proposal.changes
    ]  # fmt: skip
    print_table(["from", "to", "tracks"], rows)
    if len(proposal.given_up):
        told_of = overlap_summary(corrections.tracks, proposal.given_up)
        typer.echo(printable(given_up_line(proposal.n_characters, told_of)))
    if yes or _agreed():
        accept(corrections, proposal)
        print_cast(corrections.cast)


def _agreed() -> bool:
    try:
        return typer.confirm("Take it?")
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        raise InputError("there is nobody to ask; give --yes to take it without asking") from None
