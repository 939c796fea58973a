"""What was said, as a sentence."""

from __future__ import annotations

from castlist.cast.corrections import Corrections
from castlist.cast.log import Event
from castlist.errors import counted


def sentence(corrections: Corrections, event: Event) -> str:
    """Say in a sentence what an event did."""
    body, kind = event.body, event.kind
    tracks = counted(len(body.get("tracks", [])), "track")
    characters = counted(len(body.get("who", [])), "character")
    if kind in ("undo", "redo"):
        said = {one.number: one for one, _ in corrections.history}.get(body["event"])
        plain = said is not None and said.kind not in ("undo", "redo")  # as castlist writes it
        what = sentence(corrections, said) if said and plain else f"event {body['event']}"
        return f"{'undid' if kind == 'undo' else 'did again'}: {what}"
    if kind == "name":
        return f"named a character “{body['name']}”" if body["name"] else "took a name away"
    if kind == "background":
        return f"marked {characters} as {'' if body['background'] else 'not '}background"
    if kind == "merge":
        return f"merged {characters}" + (f" as “{body['name']}”" if body.get("name") else "")
    if kind == "move":
        return f"moved {tracks} to " + ("another character" if body["to"] else "a new character")
    if kind == "not_face":
        return f"marked {tracks} as {'not a face' if body['not_face'] else 'a face'}"
    if kind == "recluster":
        return "clustered again"
    same, others = len(body["same"]), len(body["different"])
    return f"answered: {same} of {same + others} the same person"
