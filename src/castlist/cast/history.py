"""The history of a cast: a description of each event, and the tracks that it moved."""

from __future__ import annotations

from castlist.cast.current import CurrentCast
from castlist.cast.events import Edit, Event
from castlist.cast.state import Change, State, changes
from castlist.errors import counted


def describe_event(cast: CurrentCast, event: Event) -> str:
    """Return a description of an event in one line."""
    body, kind = event.body, event.kind
    if kind in ("undo", "redo"):
        target = {one.number: one for one, _ in cast.history}.get(body.event)
        plain = target is not None and target.kind not in ("undo", "redo")  # always so in our logs
        what = describe_event(cast, target) if target and plain else f"event {body.event}"
        return f"{'undid' if kind == 'undo' else 'did again'}: {what}"
    if kind == "recluster":
        return "clustered again"
    if kind == "found":
        return "found a track again"
    if kind in ("add", "remove"):
        return f"{'added' if kind == 'add' else 'removed'} the video {body.video}"
    return _describe_edit(cast, kind, body)


def title_now(cast: CurrentCast, number: int) -> str:
    """Return the title of a character, even if it has no tracks any more."""
    if number < 0:
        return "not a face"
    named = cast.state.names.get(number)
    return f"{named} ({number})" if named else f"character {number}"


def _describe_edit(cast: CurrentCast, kind: str, body: Edit) -> str:
    tracks = counted(sum(len(pin.tracks) for pin in body.pins), "track")
    name = body.names[0].name if body.names else ""
    if kind == "name":
        number = body.names[0].id if body.names else 0
        return f"named character {number} “{name}”" if name else f"took the name of {number} away"
    if kind == "background":
        yes = any(mark.background for mark in body.background)
        titles = [title_now(cast, mark.id) for mark in body.background]
        characters = counted(len(titles), "character") if len(titles) > 3 else " and ".join(titles)
        return f"marked {characters} as {'' if yes else 'not '}background"
    if kind == "merge":
        characters = counted(len(body.same) + 1, "character")
        return f"merged {characters}" + (f" as “{name}”" if name else "")
    if kind == "move":
        return f"moved {tracks} to {title_now(cast, body.pins[0].id if body.pins else 0)}"
    if kind == "not_face":
        marked = counted(len(body.not_face or body.face), "track")
        return f"marked {marked} as {'not a face' if body.not_face else 'a face'}"
    if kind == "cut":
        return f"cut a track at {body.cuts[0].at:.1f} s" if body.cuts else "cut a track"
    if kind == "join":
        return "joined videos"
    if body.not_named:
        return f"answered: character {body.not_named[0].id} is not “{body.not_named[0].name}”"
    elsewhere = {rows for _, rows in body.different}  # these are in `same` with `instead`
    same = sum(rows not in elsewhere for _, rows in body.same)
    counts = ((same, "the same person"), (len(body.different), "different"))
    parts = [f"{count} {what}" for count, what in (*counts, (len(body.mixed), "mixed")) if count]
    return f"answered: {', '.join(parts)}"


def moves(cast: CurrentCast) -> dict[int, tuple[Change, ...]]:
    """Return the tracks that each event in effect moved, by event number."""
    state = State.of(cast.scanned.labels[cast.cut_tracks.origin])
    found = {}
    for event in cast.live:
        before = state.labels
        cast.apply(state, event)
        found[event.number] = changes(before, state.labels)
    return found
