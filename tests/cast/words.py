"""What each verb says of a cast as a client sees it, for the reference model."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cast.model import Moment, Said, Seen, Word

Tracks = Sequence[str]


def naming(view: Seen, number: int, name: str) -> Word:
    pins = ((number, view.group(view.of(number))),) if name else ()
    return Word("name", pins, {number: name})


def not_naming(view: Seen, number: int, name: str) -> Word:
    return Word("answer", not_named=((name, view.group(view.of(number))),))


def marking(view: Seen, numbers: Sequence[int], yes: bool) -> Word:
    pins = tuple((number, view.group(view.of(number))) for number in numbers)
    return Word("background", pins, background=dict.fromkeys(numbers, yes))


def merging(view: Seen, numbers: Sequence[int], name: str | None, waive: bool) -> Word:
    tracks = [t for number in numbers for t in view.of(number)]
    called = [view.names[number] for number in numbers if view.names.get(number)]
    kept = {numbers[0]: name or called[0]} if name or called else {}
    waived = (view.by_owner(tracks),) if waive else ()
    return Word("merge", ((numbers[0], view.group(tracks)),), kept, waived=waived)


def moving(view: Seen, tracks: Tracks, target: int | None, waive: bool) -> Word:
    there = view.of(target) if target is not None else []
    waived = (view.by_owner({*tracks, *there}),) if waive else ()
    return Word("move", ((target, view.group(tracks)),), waived=waived)


def not_a_face(view: Seen, tracks: Tracks, yes: bool) -> Word:
    return Word("not_face", not_face=((view.group(tracks), yes),))


def cutting(view: Seen, track: str, at: Moment, keep: str) -> Word:
    """The keys of the parts are not known yet, so that they are those of the whole track."""
    whole = (view.keys[track], view.tracks[track])
    parts = [frozenset(m for m in view.tracks[track] if (m < at) == first) for first in (1, 0)]
    stays, goes = (
        frozenset({(view.keys[track], own)}) for own in (parts if keep == "before" else parts[::-1])
    )
    pins = ((view.owner[track], stays), (None, goes))
    return Word("cut", pins, different=((stays, goes),), cuts=((whole, at),))


def answering(
    view: Seen, it: Tracks, same: Sequence[Tracks] = (), different: Sequence[Tracks] = (),
    instead: Sequence[Tracks | None] | None = None, mixed: Sequence[Tracks] = (),
    waive: bool = False,
) -> Word:  # fmt: skip
    alike = {t for group in same for t in group}
    apart = {t for group in different for t in group}
    me = view.owner[it[0]]
    homes = [*(instead or [None] * len(different))]
    pins: list[tuple[int | None, set[str]]] = []
    names = {}
    if alike:
        whole = {view.owner[t] for t in alike} - {view.owner[t] for t in apart} - {me}
        come = {t for n in whole for t in view.of(n)} | alike
        pins.append((me, {*view.of(me), *come} - apart))
        called = {view.names[n] for n in (me, *whole) if view.names.get(n)}
        if called and not view.names.get(me):
            names = {me: min(called)}
    for group, home in zip(different, homes, strict=True):
        if home:
            pins.append((view.owner[home[0]], {*group, *home}))
        elif leaving := {t for t in group if view.owner[t] == me}:
            pins.append((None, leaving))
    put = {t for _, tracks in pins for t in tracks}
    waived = []
    for number in {number for number, _ in pins} - {None} if waive else ():
        come = {t for n, tracks in pins if n == number for t in tracks}
        waived.append(view.by_owner(come | ({*view.of(number)} - put)))
    return Word(
        "answer", tuple((number, view.group(tracks)) for number, tracks in pins), names,
        different=tuple((view.group(it), view.group(group)) for group in different),
        mixed=tuple(view.group(group) for group in mixed), waived=tuple(waived),
    )  # fmt: skip


def finding(view: Seen, lost: Said, track: str) -> Word:
    return Word("found", found=(lost, (view.keys[track], view.tracks[track])))
