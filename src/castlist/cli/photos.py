"""``castlist name --from``: name characters by photos, one question per likely match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from castlist.cli.common import ask, print_cast, print_table, progress, say
from castlist.errors import InputError, counted
from castlist.io.files import printable, replacing

if TYPE_CHECKING:
    from castlist.cast.corrections import Corrections
    from castlist.cast.photo_matches import PhotoMatch
    from castlist.cast.photos import Photos

_KEYS = {"y": "yes", "n": "no", "s": "skip", "q": "quit"}


def name_from_photos(
    folder: Path, photos: Path, describer: str | None, model: Path | None, device: str
) -> None:
    """Describe photos, keep them in the cast folder, and ask about each likely match."""
    from castlist.cast.corrections import Corrections
    from castlist.cast.photo_matches import open_matches, photo_matches
    from castlist.cast.photos import describe_photos, save_photos
    from castlist.video.describe import choice_of, open_describer
    from castlist.video.detect import open_detector

    with Corrections(folder) as cast:
        cast.model = model
        features = cast.tracks.describer
        choice = describer or choice_of(features)
        if choice is None:
            raise InputError(
                f"{folder} was described by {features or 'an unknown describer'}; name it with "
                "--describer, as for `castlist scan`"
            )
        with progress() as report:
            opened = open_describer(choice, device, report)
            if opened.name != features:
                raise InputError(
                    f"{folder} was described by {features}, and {choice} gives {opened.name}"
                )
            known, left = describe_photos(
                photos, open_detector(device=device), opened, progress=report
            )
        for one in left:
            say(f"not used: {one}", err=True)
        if not known.people:
            raise InputError(f"{photos}: no photo shows exactly one face")
        save_photos(cast.folder, known)
        matches = photo_matches(cast, known)
        asked = open_matches(cast, matches)
        for line in _notes(cast, known, matches):
            say(line)
        if asked:
            _ask(cast, known, asked)


def _notes(cast: Corrections, known: Photos, matches: list[PhotoMatch]) -> list[str]:
    """Return what is not asked: names without a match, and characters that have a name."""
    titles = {one.number: one for one in cast.cast.characters}
    lines = []
    for person in known.people:
        own = [titles[one.character] for one in matches if one.name == person.name]
        if not own:
            lines.append(f"{person.name}: no character looks like this person")
        for one in own:
            if one.name == person.name:
                lines.append(f"{person.name}: {one.number} has this name already")
            elif one.name:
                lines.append(f"{person.name}: looks like {one.number}, who is named {one.name}")
    return [printable(line) for line in lines]


def _ask(cast: Corrections, known: Photos, asked: list[PhotoMatch]) -> None:
    """List the questions, then ask them; those that are not answered are left to the page."""
    from castlist.cast.photo_matches import MOST_ROWS, match_sheet
    from castlist.cast.photos import SHEET, remove_photos

    sheet = cast.folder / SHEET
    with replacing(sheet) as partial:
        partial.write_bytes(match_sheet(cast, known, asked))
    rows = [
        [k, one.name, cast.character(one.character).title, f"{one.alike:.2f}"]
        for k, one in enumerate(asked, 1)
    ]
    print_table(["", "photo", "character", "alike"], rows)
    more = f" (the first {MOST_ROWS})" if len(asked) > MOST_ROWS else ""
    say(f"\nBoth faces of each question: {printable(str(sheet))}{more}")
    said = {"yes": 0, "no": 0, "skip": 0}
    for k, match in enumerate(asked, 1):
        answer = _answer(cast, k, match)
        if answer == "quit":
            break
        if answer:
            said[answer] += 1
    left = _left(cast, known)
    if said["yes"]:
        print_cast(cast.cast)
    if left:
        say(
            f"\nNot answered: {counted(left, 'question')}. Answer on the review page, or later: "
            f"castlist review {printable(str(cast.folder))}"
        )
    else:
        remove_photos(cast.folder)
        say("\nAll questions are answered. The copies of the photos were removed.")


def _left(cast: Corrections, known: Photos) -> int:
    from castlist.cast.photo_matches import open_matches, photo_matches

    return len(open_matches(cast, photo_matches(cast, known)))


def _answer(cast: Corrections, k: int, match: PhotoMatch) -> str:
    """Ask one question and do what was answered; "quit" if there is nobody to ask."""
    from castlist.cast.links import OverlappingTracksError
    from castlist.cast.photo_matches import accept_match, open_matches

    if not open_matches(cast, [match]):  # named or merged by an earlier answer
        return ""
    title = cast.character(match.character).title
    try:
        answer = ""
        while answer not in _KEYS:
            text = f"{k}. Is {title} {match.name}? [y]es, [n]o, [s]kip, [q]uit"
            answer = ask(text, default="s").strip().lower()
            answer = answer[:1] if answer in (*_KEYS, *_KEYS.values()) else answer
    except typer.Abort:
        return "quit"
    if answer == "n":
        cast.not_named(match.character, match.name)
    elif answer == "y":
        try:
            accept_match(cast, match)
        except OverlappingTracksError as error:
            number = cast.character(match.name).number
            say(
                f"not named: {error}; if it is a mirror or a split screen: castlist merge "
                f"{printable(str(cast.folder))} {number} {match.character} --waive"
            )
            return "skip"
    return _KEYS[answer]
