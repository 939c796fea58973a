"""Events: what can be said of a cast, as it stands in the log, checked before it is believed.

A body names tracks by the numbers of their anchors and characters by their ids. It says in full
what follows from it, so that reading the log needs no decisions: the cast is a fold over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from castlist.errors import InputError

#: More characters than any video has: ids stay plain numbers everywhere.
MOST_IDS = 2**31
_LATEST = 2**37  # seconds since 1970: some four thousand years

Id = Annotated[int, Field(ge=1, lt=MOST_IDS)]
AnchorNumber = Annotated[int, Field(ge=1, lt=2**53)]
Tracks = tuple[AnchorNumber, ...]
Pair = tuple[Tracks, Tracks]


class Body(BaseModel):
    """What an event says."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Pinned(Body):
    """Tracks that a person placed in a character."""

    id: Id
    tracks: Tracks


class Named(Body):
    """The name of a character; an empty one takes it away."""

    id: Id
    name: Annotated[str, Field(max_length=1000)]


class BackgroundMark(Body):
    """Whether a character is background."""

    id: Id
    background: bool


class Cut(Body):
    """A track that is two from a time on, in seconds."""

    track: AnchorNumber
    at: Annotated[float, Field(ge=0, lt=2**40)]


class Edit(Body):
    """What a person says of tracks and characters.

    Attributes
    ----------
    cuts : tuple of Cut
        Tracks that are cut; the other fields speak of the parts.
    pins : tuple of Pinned
        Who tracks are.
    names, background
        Of characters.
    not_face, face : tracks
        Those that show no face, and those that do after all.
    different : pairs of tracks
        Two groups that are two people.
    same : pairs of tracks
        Two groups that were seen side by side and called one person.
    checked : tracks
        Those that were in doubt and are where they belong.
    mixed : groups of tracks
        Each shows several people.
    waived : pairs of tracks
        Two that share a frame and are one person all the same.
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

    @classmethod
    def of(cls, some: Sequence[Edit]) -> Edit:
        """Say several things at once, one after the other."""
        return cls(**{
            name: tuple(part for one in some for part in getattr(one, name))
            for name in cls.model_fields
        })  # fmt: skip

    def anchors(self) -> Iterator[int]:
        """Give the number of every track that it speaks of."""
        yield from (cut.track for cut in self.cuts)
        yield from (track for pin in self.pins for track in pin.tracks)
        yield from (*self.not_face, *self.face, *self.checked)
        for groups in (*self.different, *self.same, self.mixed):
            yield from (track for group in groups for track in group)
        yield from (track for pair in self.waived for track in pair)


class FoundTrack(Body):
    """A track of this scan that is the one an event speaks of."""

    anchor: AnchorNumber
    track: AnchorNumber


class AcceptedClustering(Body):
    """A clustering that was taken."""

    clustering: AnchorNumber


class AddedVideo(Edit):
    """A video that was put into a cast of several, with what was said of it."""

    video: Annotated[str, Field(min_length=1, max_length=1000)]


class RemovedVideo(Body):
    """A video that was taken out of a cast of several."""

    video: Annotated[str, Field(min_length=1, max_length=1000)]


class Reversed(Body):
    """An event that is undone, or done again."""

    event: AnchorNumber


#: What each kind of event says. Those of the first line can be undone.
ACTIONS: dict[str, type[Body]] = {
    "name": Edit, "background": Edit, "merge": Edit, "move": Edit, "not_face": Edit,
    "answer": Edit, "cut": Edit, "found": FoundTrack, "recluster": AcceptedClustering,
    "add": AddedVideo, "remove": RemovedVideo,
}  # fmt: skip
KINDS: dict[str, type[Body]] = {**ACTIONS, "join": Edit, "undo": Reversed, "redo": Reversed}


@dataclass(frozen=True)
class Event:
    """One thing that was said: its number in the log, when, by whom, what."""

    number: int
    at: float
    who: str
    kind: str
    body: Any

    def anchors(self) -> set[int]:
        """Return the numbers of all tracks that it speaks of."""
        if isinstance(self.body, Edit):
            return set(self.body.anchors())
        return {self.body.anchor, self.body.track} if isinstance(self.body, FoundTrack) else set()


def read_body(kind: object, text: str | bytes) -> Body:
    """Return the body of an event as castlist writes it; another is an InputError."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"an event of an unknown kind, {str(kind)[:40]!r}")
    try:
        return KINDS[kind].model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"an event {kind!r} with a wrong {where}: {first['msg']}") from error


def write_body(body: Body) -> str:
    """Return a body as text; what is empty is left out."""
    return body.model_dump_json(exclude_defaults=True)


def check_time(at: Any) -> float:
    """Return when something was said: seconds that a calendar knows."""
    if type(at) not in (int, float) or not abs(at) < _LATEST:
        raise InputError("an event without a time")
    return float(at)


def live_events(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """Return the events that hold, and those that were undone and can be redone, last first."""
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
