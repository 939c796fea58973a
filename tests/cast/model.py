"""A reference model of corrections, simple and slow.

It has no rows, anchors or clusterings. A video is divided into *moments*: a quarter of one face's
time on screen. A track is a set of moments, and a correction covers moments. The last correction of
a moment holds, and for a track the last of its moments. All else is left to clustering.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

Moment = tuple[str, int, int]  # video, whose time on screen, which quarter of it
Moments = frozenset[Moment]


@dataclass(frozen=True)
class Word:
    """One correction; ids of new characters are None until they are known."""

    kind: str
    pins: tuple[tuple[int | None, Moments], ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    background: Mapping[int, bool] = field(default_factory=dict)
    not_face: Mapping[Moments, bool] = field(default_factory=dict)
    different: tuple[tuple[Moments, Moments], ...] = ()
    cuts: tuple[Moment, ...] = ()  # the first moments of second parts
    came: str = ""  # a video
    left: str = ""
    number: int = 0


@dataclass(frozen=True)
class Seen:
    """A cast as a client sees it, by the ids of tracks."""

    tracks: Mapping[str, Moments]
    owner: Mapping[str, int]
    base: Mapping[str, int]  # as clustered
    pin: Mapping[str, int]
    not_face: frozenset[str]
    names: Mapping[int, str]
    background: Mapping[int, bool]

    @property
    def shown(self) -> list[int]:
        """The characters that have a face."""
        return sorted({self.owner[t] for t in self.tracks if t not in self.not_face})

    @property
    def faces(self) -> list[str]:
        return sorted(set(self.tracks) - self.not_face)

    def of(self, character: int) -> list[str]:
        """The tracks of a character that are faces."""
        return [t for t in self.faces if self.owner[t] == character]

    def moments(self, tracks: Iterable[str]) -> Moments:
        return frozenset().union(*(self.tracks[t] for t in tracks))

    def owner_at(self) -> dict[Moment, int]:
        return {moment: self.owner[t] for t, own in self.tracks.items() for moment in own}


class Model:
    """The corrections in effect, and those that were undone."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.undone: list[Word] = []
        self.ids: set[int] = set()  # that were ever seen
        self.scan = 0
        self.known: dict[tuple[int, tuple[int, ...]], Seen] = {}

    # Actions

    def say(self, word: Word) -> None:
        self.words.append(word)
        self.undone = []

    def undo(self) -> None:
        self.undone.append(self.words.pop())

    def redo(self) -> None:
        self.words.append(self.undone.pop())

    @property
    def can_undo(self) -> bool:
        return bool(self.words) and self.words[-1].kind != "join"

    # Consequences

    def last(self, pairs: Iterable[tuple[Moments, object]]) -> dict[Moment, tuple[int, object]]:
        """Return the last value given to each moment, and its position."""
        return {m: (late, value) for late, (own, value) in enumerate(pairs) for m in own}

    def value(self, said: dict[Moment, tuple[int, object]], track: Moments) -> object | None:
        """Return the last value given to a track."""
        found = [said[m] for m in track if m in said]
        return max(found, key=lambda one: one[0])[1] if found else None

    def check(self, seen: Seen) -> None:
        """Check a cast against the corrections."""
        pins = self.last((own, id) for word in self.words for id, own in word.pins)
        marks = self.last((own, yes) for word in self.words for own, yes in word.not_face.items())
        for track, own in seen.tracks.items():
            pin = self.value(pins, own)
            assert seen.pin[track] == (pin or 0), (track, "is pinned to", pin)
            if pin is not None:
                assert seen.owner[track] == pin, (track, "is not where it was put:", pin)
            assert (track in seen.not_face) == bool(self.value(marks, own)), (track, "a face?")
        names = {id: name for word in self.words for id, name in word.names.items()}
        assert {id: name for id, name in seen.names.items() if name} == {
            id: name for id, name in names.items() if name
        }
        background = {id: yes for word in self.words for id, yes in word.background.items()}
        assert dict(seen.background) == background
        inside: set[str] = set()
        for word in self.words:
            inside |= set(word.came.split())
            inside -= {word.left}
        if inside:
            assert {video for own in seen.tracks.values() for video, _, _ in own} == inside
        for cut in (cut for word in self.words for cut in word.cuts):
            whole = [t for t, own in seen.tracks.items() if cut in own and _before(cut) in own]
            assert not whole, (whole, "is cut at", cut)

    def remember(self, seen: Seen) -> None:
        """Check that equal corrections of one scan give equal casts, whatever came between."""
        key = (self.scan, tuple(word.number for word in self.words))
        assert self.known.setdefault(key, seen) == seen
        self.ids |= {*seen.owner.values(), *seen.names, *seen.background}

    def check_person(self, before: Seen, after: Seen) -> None:
        """Check that a correction moves only the tracks it covers."""
        cuts = self.words[-1].cuts
        said = [own for _, own in self.words[-1].pins]
        for track, own in after.tracks.items():
            if track in before.tracks and before.tracks[track] == own:
                if not any(own & moments for moments in said):
                    assert after.owner[track] == before.owner[track], (track, "moved by itself")
            else:
                assert any(cut in own or _before(cut) in own for cut in cuts), (track, "is new")

    def check_machine(self, before: Seen, after: Seen) -> None:
        """Check that clustering merges no tracks that a person kept apart."""
        was = before.owner_at()
        for one, other in (pair for word in self.words for pair in word.different):
            for t in after.faces:
                for u in after.faces:
                    a, b = after.tracks[t] & one, after.tracks[u] & other
                    if t == u or not a or not b or after.owner[t] != after.owner[u]:
                        continue
                    if after.pin[t] and after.pin[t] == after.pin[u]:
                        continue  # a person put both there
                    together = any(was.get(m) == was.get(n) for m in a for n in b)
                    assert together, (t, u, "were called different")

    def check_ids(self, before: Seen, after: Seen) -> None:
        """Check that no id is reused, except by a correction that refers to it."""
        said = {id for word in self.words for id, _ in word.pins}
        new = set(after.owner.values()) - set(before.owner.values()) - said
        assert not new & self.ids, (new & self.ids, "were somebody's")

    def with_ids(self, word: Word, after: Seen) -> Word:
        """Return a correction with the ids of its new characters, and check that they are new."""
        pins, at = [], after.owner_at()
        for number, own in word.pins:
            found = number
            if number is None:
                (found,) = {at[m] for m in own}
                assert found not in self.ids, (found, "was somebody's")
            pins.append((found, own))
        return replace(word, pins=tuple(pins))


def _before(moment: Moment) -> Moment:
    video, person, quarter = moment
    return video, person, quarter - 1
