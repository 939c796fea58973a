"""Commands that correct a cast: name, merge, split, cut, background, undo, redo, log, recluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from castlist.cli.common import (
    CastFolder,
    Device,
    Json,
    ScanModel,
    Waive,
    print_cast,
    print_json,
    print_table,
    progress,
    say,
)
from castlist.errors import InputError
from castlist.io.files import printable

if TYPE_CHECKING:
    from castlist.cast.corrections import Corrections


def name(
    cast: CastFolder,
    character: Annotated[
        str | None, typer.Argument(help="Number or name of the character.", show_default=False)
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(help="The new name. An empty name removes it.", show_default=False),
    ] = None,
    photos: Annotated[
        Path | None,
        typer.Option("--from", help="Folder of photos, `<name>/*.jpg` or `<name>.jpg` (also PNG "
                     "and WebP). You are asked about each likely match; nothing is named unasked.",
                     show_default=False),
    ] = None,
    describer: Annotated[
        str | None,
        typer.Option(help="With --from: the describer of the scan, if castlist does not know it.",
                     show_default=False),
    ] = None,
    model: ScanModel = None,
    device: Device = "cpu",
) -> None:  # fmt: skip
    """Give a character a name, or name characters by photos.

    Example: `castlist name episode.cast 3 "Anna Lee"`, or with photos
    `castlist name season1.cast --from photos/`
    """
    if photos is not None:
        if character is not None or name is not None:
            raise InputError("give a character and a name, or --from, but not both")
        from castlist.cli.photos import name_from_photos

        return name_from_photos(cast, photos, describer, model, device)
    if character is None or name is None:
        raise InputError("give a character and its name, or a folder of photos (--from)")
    if describer is not None or model is not None:
        raise InputError("--describer and --model are only for --from")
    with _correcting(cast) as corrections:
        corrections.name(character, name)


def merge(
    cast: CastFolder,
    characters: Annotated[
        list[str],
        typer.Argument(
            help="Numbers or names. The first character keeps its number.", show_default=False
        ),
    ],
    name: Annotated[str | None, typer.Option(help="Name of the merged character.")] = None,
    waive: Waive = False,
) -> None:
    """Merge characters that are one person.

    Example: `castlist merge episode.cast Anna 7 12`
    """
    with _correcting(cast) as corrections:
        corrections.merge(characters, name=name, waive=waive)


def split(
    cast: CastFolder,
    tracks: Annotated[list[str], typer.Argument(help="Track ids.", show_default=False)],
    to: Annotated[
        str | None,
        typer.Option(help="Number or name of an existing character to move the tracks to."),
    ] = None,
    not_a_face: Annotated[
        bool, typer.Option("--not-a-face", help="Remove the tracks: they do not show a face.")
    ] = False,
    a_face: Annotated[
        bool, typer.Option("--a-face", help="Restore tracks removed with --not-a-face.")
    ] = False,
    waive: Waive = False,
) -> None:
    """Move tracks to a new character, or to another one.

    Example: `castlist split episode.cast 00012 00015`
    """
    if (to is not None) + not_a_face + a_face > 1:
        raise InputError("use only one of --to, --not-a-face and --a-face")
    with _correcting(cast) as corrections:
        if not_a_face or a_face:
            corrections.not_face(tracks, not_a_face)
        else:
            corrections.move(tracks, to, waive=waive)


def cut(
    cast: CastFolder,
    track: Annotated[str, typer.Argument(help="Track id.", show_default=False)],
    at: Annotated[
        float,
        typer.Argument(
            help="Time in the video, in seconds, at which the second part begins.",
            show_default=False,
        ),
    ],
    keep: Annotated[
        Literal["before", "after"],
        typer.Option(
            help="The part that stays in its character. The other part becomes a new character."
        ),
    ] = "before",
) -> None:
    """Cut a track that shows two people.

    Example: `castlist cut episode.cast 00012 83.4`
    """
    with _correcting(cast) as corrections:
        corrections.cut(track, at, keep=keep)


def background(
    cast: CastFolder,
    characters: Annotated[
        list[str], typer.Argument(help="Numbers or names of characters.", show_default=False)
    ],
    no: Annotated[bool, typer.Option("--not", help="Mark them as not background instead.")] = False,
) -> None:
    """Mark characters as background.

    Example: `castlist background episode.cast 8 9 12`
    """
    with _correcting(cast) as corrections:
        corrections.background(characters, not no)


def undo(cast: CastFolder) -> None:
    """Undo the last correction.

    Example: `castlist undo episode.cast`
    """
    _undo_or_redo(cast, "undo", "undone")


def redo(cast: CastFolder) -> None:
    """Redo the last correction that was undone.

    Example: `castlist redo episode.cast`
    """
    _undo_or_redo(cast, "redo", "redone")


def _undo_or_redo(cast: Path, method: Literal["undo", "redo"], participle: str) -> None:
    from castlist.cast.history import describe_event

    with _correcting(cast) as corrections:
        event = getattr(corrections, method)()
        say(f"{participle}: {describe_event(corrections, event)}")


@contextmanager
def _correcting(cast: Path) -> Iterator[Corrections]:
    """Open a cast to correct it, and print it afterwards; add an option that helps to errors."""
    from castlist.cast.corrections import Corrections, DifferentNamesError
    from castlist.cast.links import OverlappingTracksError

    with closing(Corrections(cast)) as corrections:
        try:
            yield corrections
        except (OverlappingTracksError, DifferentNamesError) as error:
            option = "--waive" if isinstance(error, OverlappingTracksError) else "--name"
            raise InputError(f"{error} ({option})") from error
        print_cast(corrections.cast)


def log(cast: CastFolder, json: Json = False) -> None:
    """List the corrections of a cast: who made them, when, and whether they were undone.

    Example: `castlist log episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.history import describe_event, moves

    with closing(Corrections(cast)) as corrections:
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
            say("No corrections yet.")
            return
        rows = [
            [
                event.number,
                datetime.fromtimestamp(event.at).strftime("%Y-%m-%d %H:%M:%S"),
                event.who,
                describe_event(corrections, event),
                sum(len(one.tracks) for one in moved.get(event.number, ())),
                "" if holds or event.kind in ("undo", "redo") else "undone",
            ]
            for event, holds in history
        ]
        print_table(["", "when", "who", "correction", "tracks moved", ""], rows)
        for one in corrections.lost:
            track = f"track {one.anchor.track} of {one.anchor.video}"
            at = f" at {one.anchor.faces[0][0]:.1f} s" if one.anchor.faces else ""
            reason = "shows another face now" if len(one.there) else "is not in this scan"
            part = "a part of " if one.partly else ""
            say(
                f"{one.event.number}: {part}{track}{at} {reason}; the correction does not apply to "
                "it"
            )


def recluster(
    cast: CastFolder,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept the result without asking.")
    ] = False,
) -> None:
    """Cluster again and keep every correction.

    The changes are listed, and you are asked whether to accept them. `castlist undo` reverts them.

    Example: `castlist recluster episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.cast.links import overlap_summary
    from castlist.cast.recluster import accept, propose
    from castlist.format import given_up_line

    with closing(Corrections(cast)) as corrections:
        with progress() as report:
            proposal = propose(corrections, progress=report)
        if not proposal.changes:
            say("Nothing would change.")
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
            given_up = overlap_summary(corrections.tracks, proposal.given_up)
            say(printable(given_up_line(proposal.n_characters, given_up)))
        if yes or _confirmed():
            accept(corrections, proposal)
            print_cast(corrections.cast)


def _confirmed() -> bool:
    try:
        return typer.confirm("Accept these changes?")
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        raise InputError(
            "cannot ask for confirmation without a terminal; pass --yes to accept the changes"
        ) from None
