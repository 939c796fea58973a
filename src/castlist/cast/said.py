"""What may stand in a log: the shape of every kind of event, checked before it is believed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from castlist.errors import InputError

_LATEST = 2**37  # seconds since 1970: some four thousand years
_MOST_FACES = 100  # that a track is remembered by; castlist takes nine
_TRACKS, _GROUPS = 1, 2  # a list of remembered tracks, a list of such lists
#: Event → what it must say, and what it may.
_SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "name": ({"who": _TRACKS, "name": str}, {}),
    "background": ({"who": _GROUPS, "background": bool}, {}),
    "merge": ({"who": _GROUPS}, {"name": str, "waived": _GROUPS}),
    "move": ({"tracks": _TRACKS, "to": _TRACKS, "away": _TRACKS}, {"waived": _GROUPS}),
    "not_face": ({"tracks": _TRACKS, "not_face": bool}, {}),
    "answer": (
        {"one": _TRACKS, "same": _GROUPS, "different": _GROUPS, "instead": _GROUPS},
        {"waived": _GROUPS},
    ),
    "recluster": ({"clustering": int}, {}),
    "undo": ({"event": int}, {}),
    "redo": ({"event": int}, {}),
}


def check_said(kind: object, body: Any, known: Collection[int]) -> None:
    """Refuse an event that castlist cannot have written.

    Parameters
    ----------
    kind, body
        The event.
    known : collection of int
        The numbers of the tracks that are remembered.
    """
    if not isinstance(kind, str) or kind not in _SHAPES:
        raise InputError(f"nobody can say {str(kind)[:40]!r}")
    must, may = _SHAPES[kind]
    if not isinstance(body, dict) or not must.keys() <= body.keys():
        raise InputError(f"an event {kind!r} that lacks something")
    for key, shape in {**must, **may}.items():
        if key in body and not _fits(body[key], shape, known):
            raise InputError(f"an event {kind!r} with a strange {key!r}")
    if kind == "answer" and len(body["different"]) != len(body["instead"]):
        raise InputError("an event 'answer' that lacks something")


def check_when(at: Any) -> float:
    """Return when something was said: seconds that a calendar knows."""
    if type(at) not in (int, float) or not abs(at) < _LATEST:
        raise InputError("an event of no time")
    return float(at)


def check_faces(faces: Any) -> tuple[tuple[float, ...], ...]:
    """Return the faces of a remembered track: seconds, x, y, width and height each."""
    if (
        not isinstance(faces, list)
        or len(faces) > _MOST_FACES
        or not all(
            isinstance(face, list) and len(face) == 5 and all(type(n) in (int, float) for n in face)
            for face in faces
        )
    ):
        raise InputError("a remembered track without time and place")
    return tuple(tuple(float(n) for n in face) for face in faces)


def _fits(value: Any, shape: Any, known: Collection[int]) -> bool:
    if shape == _GROUPS:
        return isinstance(value, list) and all(_fits(one, _TRACKS, known) for one in value)
    if shape == _TRACKS:
        return isinstance(value, list) and all(type(n) is int and n in known for n in value)
    return type(value) is shape
