"""The tables that bench_tv.py prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from castlist.research.score.clip import CharacterScore, ClipScore, Summary, WidthScore

HEADER = (
    "clip          people chars tracks   nmi   wcp   acc  wrong pieces mixed false  seen"
    "  lost falsech unlabelled trk/min  wall   cpu"
)

_WORDS = ("sure", "fairly sure", "unsure")


@dataclass(frozen=True)
class Reliability:
    """Characters that are shown with one word, and how many of them are right.

    Attributes
    ----------
    single : bool
        Whether they have one track that shows a person, or more.
    word : str
        What the report says of them.
    characters, pure, whole : int
        How many there are, show one person only, and have all tracks of their person.
    """

    single: bool
    word: str
    characters: int
    pure: int
    whole: int


def row(name: str, one: ClipScore, times: tuple[float, float] | None) -> str:
    """Return the line of a clip; times are seconds by the clock and of the processor."""
    unlabelled = "-" if one.unlabelled is None else str(one.unlabelled)
    wall, processor = (f"{value:.1f}" for value in times) if times else ("-", "-")
    return (
        f"{name:13s} {one.people:5d} {one.characters:5d} {one.tracks:6d} {one.nmi:6.3f}"
        f" {one.wcp:5.3f} {one.accuracy:5.3f} {one.wrong:5d} {one.pieces:5d}"
        f" {one.mixed:5d} {one.false:5d} {one.seen:6.3f}"
        f" {one.lost:5d} {one.false_characters:7d} {unlabelled:>10s}"
        f" {one.tracks_per_minute:7.1f} {wall:>5s} {processor:>5s}"
    )


def means(one: Summary) -> str:
    """Return the line of means over clips."""
    return (
        f"mean: nmi {one.nmi:.3f}, wcp {one.wcp:.3f}, accuracy {one.accuracy:.3f}, "
        f"number off {one.number_off:.1%}, repairs {one.repairs} for {one.tracks} tracks "
        f"({one.repair_share:.1%}), mixed {one.mixed}, false {one.false}, seen {one.seen:.3f}"
    )


def sums(scores: Sequence[ClipScore]) -> str:
    """Return what is lost and what is too many, over all clips."""
    people = sum(one.people for one in scores)
    lost = sum(one.lost for one in scores)
    unfound = people - sum(one.covered for one in scores)
    pieces = sum(one.pieces for one in scores)
    false_characters = sum(one.false_characters for one in scores)
    known = [one for one in scores if one.unlabelled is not None]
    unlabelled = sum(one.unlabelled or 0 for one in known)
    minutes = sum(one.person_seconds for one in scores) / 60
    rate = sum(one.tracks for one in scores) / minutes if minutes else 0.0
    lines = [
        f"lost: {lost} of {people} people own no character, {unfound} of them have no track",
        f"excess: {pieces + false_characters} characters, {pieces} of them further pieces of a "
        f"person, {false_characters} without a face",
        f"tracks: {rate:.1f} per person and minute",
    ]
    if known:
        false = sum(one.false for one in known)
        lines.append(
            f"false: {false} tracks, {unlabelled} of them where a visible face has no truth, "
            f"{false - unlabelled} elsewhere"
        )
    return "\n".join(lines)


def widths(bins: Sequence[WidthScore]) -> str:
    """Return the table by face width."""
    lines = ["", "face width, px  tracks wrong         false truth faces    seen"]
    for one in bins:
        name = f"{one.low:.0f} " + ("and more" if one.high is None else f"to {one.high:.0f}")
        lines.append(
            f"{name:15s} {one.tracks:6d} {one.wrong:5d} {_share(one.wrong, one.tracks):>7s}"
            f" {one.false:5d} {one.faces:11d} {_share(one.seen, one.faces):>7s}"
        )
    return "\n".join(lines)


def reliability(characters: Iterable[tuple[CharacterScore, str]]) -> list[Reliability]:
    """Count characters by their word; those with one scored track apart."""
    rows = list(characters)
    made = []
    for single in (False, True):
        for word in _WORDS:
            own = [one for one, said in rows if said == word and (one.tracks == 1) == single]
            pure, whole = sum(one.pure for one in own), sum(one.whole for one in own)
            made.append(Reliability(single, word, len(own), pure, whole))
    return made


def reliabilities(rows: Sequence[Reliability]) -> str:
    """Return the table of what the words are worth."""
    lines = ["", "shown as     tracks      characters  pure         whole"]
    for one in rows:
        tracks = "one" if one.single else "two or more"
        n = one.characters
        lines.append(
            f"{one.word:12s} {tracks:11s} {n:10d} {one.pure:5d} {_share(one.pure, n):>7s}"
            f" {one.whole:5d} {_share(one.whole, n):>7s}"
        )
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
