"""Events: the corrections of a cast as they are stored in the log, and their validation.

A body refers to tracks by the numbers of their anchors and to characters by their ids. It contains
all of its consequences, so that reading the log needs no decisions: the cast is a fold over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from castlist.errors import InputError

#: Upper limit of ids; larger than any real number of characters.
MOST_IDS = 2**31
_LATEST = 2**37  # seconds since 1970, about 4,000 years

Id = Annotated[int, Field(ge=1, lt=MOST_IDS)]
AnchorNumber = Annotated[int, Field(ge=1, lt=2**53)]
Tracks = tuple[AnchorNumber, ...]
Pair = tuple[Tracks, Tracks]


class Body(BaseModel):
    """The body of an event."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Pinned(Body):
    """Tracks that a person assigned to a character."""

    id: Id
    tracks: Tracks


class Named(Body):
    """The name of a character; an empty name removes it."""

    id: Id
    name: Annotated[str, Field(max_length=1000)]


class BackgroundMark(Body):
    """Whether a character is background."""

    id: Id
    background: bool


class Cut(Body):
    """A track that is cut in two at a time, in seconds."""

    track: AnchorNumber
    at: Annotated[float, Field(ge=0, lt=2**40)]


class NotNamed(Body):
    """Tracks of a character that do not show the person of a name."""

    id: Id
    name: Annotated[str, Field(min_length=1, max_length=1000)]
    tracks: Tracks


class Edit(Body):
    """Corrections of tracks and characters.

    Attributes
    ----------
    cuts : tuple of Cut
        Tracks that are cut; the other fields refer to the parts.
    pins : tuple of Pinned
        The character of each track.
    names, background
        Names of characters, and whether they are background.
    not_face, face : tracks
        Tracks marked as not a face, and tracks for which that mark is removed.
    different : pairs of groups of tracks
        Groups that show two people.
    same : pairs of groups of tracks
        Groups that were compared and show one person.
    checked : tracks
        Tracks that were in doubt and are confirmed where they are.
    mixed : groups of tracks
        Groups that each show several people.
    waived : pairs of tracks
        Tracks that share a frame and may still be one person.
    not_named : tuple of NotNamed
        Characters that do not show the person of a name.
    """

    cuts: tuple[Cut, ...] = ()
    pins: tuple[Pinned, ...] = ()
    names: tuple[Named, ...] = ()
    background: tuple[BackgroundMark, ...] = ()
    not_face: Tracks = ()
    face: Tracks = ()
    different: tuple[Pair, ...] = ()
    same: tuple[Pair, ...] = ()
    checked: Tracks = ()
    mixed: tuple[Tracks, ...] = ()
    waived: tuple[tuple[AnchorNumber, AnchorNumber], ...] = ()
    not_named: tuple[NotNamed, ...] = ()

    @classmethod
    def of(cls, some: Sequence[Edit]) -> Edit:
        """Combine several edits into one, in order."""
        return cls(**{
            name: tuple(part for one in some for part in getattr(one, name))
            for name in cls.model_fields
        })  # fmt: skip

    def anchors(self) -> Iterator[int]:
        """Yield the anchor number of every track that it refers to."""
        yield from (cut.track for cut in self.cuts)
        yield from (track for pin in self.pins for track in pin.tracks)
        yield from (*self.not_face, *self.face, *self.checked)
        for groups in (*self.different, *self.same, self.mixed):
            yield from (track for group in groups for track in group)
        yield from (track for pair in self.waived for track in pair)
        yield from (track for one in self.not_named for track in one.tracks)


class FoundTrack(Body):
    """A track of this scan, identified as the track that an event refers to."""

    anchor: AnchorNumber
    track: AnchorNumber


class AcceptedClustering(Body):
    """A clustering that was accepted."""

    clustering: AnchorNumber


class AddedVideo(Edit):
    """A video that was added to a joined cast, with its corrections."""

    video: Annotated[str, Field(min_length=1, max_length=1000)]


class RemovedVideo(Body):
    """A video that was removed from a joined cast."""

    video: Annotated[str, Field(min_length=1, max_length=1000)]


class Reversed(Body):
    """An event that is undone or redone."""

    event: AnchorNumber


#: The body of each kind of event. Those in ``ACTIONS`` can be undone.
ACTIONS: dict[str, type[Body]] = {
    "name": Edit, "background": Edit, "merge": Edit, "move": Edit, "not_face": Edit,
    "answer": Edit, "cut": Edit, "found": FoundTrack, "recluster": AcceptedClustering,
    "add": AddedVideo, "remove": RemovedVideo,
}  # fmt: skip
KINDS: dict[str, type[Body]] = {**ACTIONS, "join": Edit, "undo": Reversed, "redo": Reversed}


@dataclass(frozen=True)
class Event:
    """One event: its number in the log, time, author, kind and body."""

    number: int
    at: float
    who: str
    kind: str
    body: Any

    def anchors(self) -> set[int]:
        """Return the anchor numbers of all tracks that it refers to."""
        if isinstance(self.body, Edit):
            return set(self.body.anchors())
        return {self.body.anchor, self.body.track} if isinstance(self.body, FoundTrack) else set()


def read_body(kind: object, text: str | bytes) -> Body:
    """Return the body of an event, validated; raise InputError if it is invalid."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"unknown event kind {str(kind)[:40]!r}")
    try:
        return KINDS[kind].model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"event {kind!r}: invalid {where}: {first['msg']}") from error


def write_body(body: Body) -> str:
    """Return a body as JSON, without empty fields."""
    return body.model_dump_json(exclude_defaults=True)


def check_time(at: Any) -> float:
    """Return the time of an event, validated: seconds since 1970."""
    if type(at) not in (int, float) or not abs(at) < _LATEST:
        raise InputError("an event without a valid time")
    return float(at)


def live_events(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """Return the events in effect, and those that can be redone, last undone first."""
    done: list[Event] = []
    undone: list[Event] = []
    for event in events:
        if event.kind == "undo" and done and done[-1].kind in ACTIONS:
            undone.append(done.pop())
        elif event.kind == "redo" and undone:
            done.append(undone.pop())
        elif event.kind not in ("undo", "redo"):
            done.append(event)
            undone = []
    return done, undone[::-1]
