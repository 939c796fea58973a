"""A reference model of corrections, simple and slow.

It has no rows, anchors or clusterings. A video is divided into *moments*: a tenth of one face's
time on screen. A track is a set of moments, and a correction is said of tracks. It covers every
track that has a moment of theirs, or, where none has, the nearest that a person called the same.
The last correction that covers a track holds. All else is left to clustering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, permutations, product

Moment = tuple[str, int, int]  # video, whose time on screen, which tenth of it
Moments = frozenset[Moment]
Said = tuple[str, Moments]  # a track when it was spoken of: its key among all scans, its moments
Group = frozenset[Said]

#: Added to whose time on screen it is, if another face is there.
STRANGER = 100


@dataclass(frozen=True)
class Word:
    """One correction; ids of new characters are None until they are known."""

    kind: str
    pins: tuple[tuple[int | None, Group], ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    background: Mapping[int, bool] = field(default_factory=dict)
    not_face: tuple[tuple[Group, bool], ...] = ()
    different: tuple[tuple[Group, Group], ...] = ()
    mixed: tuple[Group, ...] = ()
    not_named: tuple[tuple[str, Group], ...] = ()
    waived: tuple[tuple[Group, ...], ...] = ()  # groups that may share frames and be one person
    found: tuple[Said, Said] | None = None  # a lost track, and the track that it is
    cuts: tuple[tuple[Said, Moment], ...] = ()  # a track, and the first moment of its second part
    came: str = ""  # a video
    left: str = ""
    parts: tuple[Word, ...] = ()  # what was said elsewhere of a video that came
    number: int = 0
    when: int = 0  # counts what was said, wherever

    def groups(self) -> Iterator[Group]:
        """Yield the tracks that it was said of."""
        yield from (group for _, group in self.pins)
        yield from (group for group, _ in self.not_face)
        yield from (group for pair in self.different for group in pair)
        yield from self.mixed
        yield from (group for _, group in self.not_named)
        yield from (frozenset({whole}) for whole, _ in self.cuts)


@dataclass(frozen=True)
class Seen:
    """A cast as a client sees it, by the ids of tracks."""

    tracks: Mapping[str, Moments]
    keys: Mapping[str, str]  # unique among all scans
    owner: Mapping[str, int]
    base: Mapping[str, int]  # as clustered
    pin: Mapping[str, int]
    not_face: frozenset[str]
    names: Mapping[int, str]
    background: Mapping[int, bool]
    different: frozenset[frozenset[str]] = frozenset()  # pairs that are kept apart
    waived: frozenset[frozenset[str]] = frozenset()
    mixed: frozenset[frozenset[str]] = frozenset()
    not_named: frozenset[tuple[str, frozenset[str]]] = frozenset()
    lost: Mapping[int, str] = field(default_factory=dict)  # number → key
    alike: frozenset[tuple[int, str]] = frozenset()  # characters that look like photos
    asked: frozenset[tuple[int, str]] = frozenset()  # of these, the ones that are asked about

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

    def group(self, tracks: Iterable[str]) -> Group:
        return frozenset((self.keys[t], self.tracks[t]) for t in tracks)

    def by_owner(self, tracks: Iterable[str]) -> tuple[Group, ...]:
        tracks = list(tracks)
        owners = sorted({self.owner[t] for t in tracks})
        return tuple(self.group(t for t in tracks if self.owner[t] == own) for own in owners)

    @cached_property
    def track_at(self) -> dict[Moment, str]:
        return {moment: t for t, own in self.tracks.items() for moment in own}

    def at(self, moments: Moments) -> set[str]:
        """The tracks that have one of these moments."""
        return {self.track_at[moment] for moment in moments if moment in self.track_at}

    @cached_property
    def shared(self) -> frozenset[frozenset[str]]:
        """The pairs of tracks that share a frame."""
        scene: dict[tuple[str, int, int], list[str]] = {}
        for t, own in self.tracks.items():
            for video, face, tenth in own:
                scene.setdefault((video, face % STRANGER // 2, tenth), []).append(t)
        return frozenset(
            frozenset(pair) for some in scene.values() for pair in combinations(some, 2)
        )


class Model:
    """The corrections in effect, and those that were undone."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.undone: list[Word] = []
        self.ids: set[int] = set()  # that were ever seen
        self.tracks: dict[str, Moments] = {}  # of every key
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

    @property
    def said(self) -> list[Word]:
        """All that holds, in the order in which it was said."""
        parts = (part for word in self.words for part in (*word.parts, replace(word, parts=())))
        return sorted(parts, key=lambda word: word.when)

    def covered(self, group: Group, seen: Seen) -> set[str]:
        """Return the tracks that these are now."""
        same: dict[str, list[Said]] = {}  # the last first
        for word in self.words:
            for one, other in permutations(word.found or (), 2):
                same.setdefault(one[0], []).insert(0, other)
        tracks: set[str] = set()
        for said in group:
            chain = [said]
            for key, own in chain:
                if now := seen.at(own):
                    tracks |= now
                    break
                chain += [other for other in same.get(key, ()) if other not in chain]
        return tracks

    def last(self, seen: Seen, pairs: Iterable[tuple[Group, int, object]]) -> dict[str, tuple]:
        """Return the last value of each track that has one, and when it was given."""
        return {t: (value, when) for group, when, value in pairs for t in self.covered(group, seen)}

    def pins(self, seen: Seen) -> dict[str, tuple]:
        """Return where tracks were put, and when."""
        pairs = ((own, word.when, id) for word in self.said for id, own in word.pins)
        return self.last(seen, pairs)

    def marks(self, seen: Seen) -> dict[str, tuple]:
        """Return whether tracks are marked as not a face, and since when."""
        pairs = ((own, word.when, yes) for word in self.said for own, yes in word.not_face)
        return self.last(seen, pairs)

    def different(self, seen: Seen) -> set[frozenset[str]]:
        """Return the pairs of tracks that were called different, whatever was said since."""
        pairs = (pair for word in self.said for pair in word.different)
        return {
            frozenset((t, u))
            for one, other in pairs
            for t, u in product(self.covered(one, seen), self.covered(other, seen))
            if t != u and t not in seen.not_face and u not in seen.not_face
        }

    def waived(self, seen: Seen) -> set[frozenset[str]]:
        """Return the pairs that shared a frame when they were waived, and do so now."""
        return {
            frozenset((t, u))
            for word in self.said
            for groups in word.waived
            for group, later in combinations(groups, 2)
            for one, other in product(group, later)
            if _beside(one[1]) & other[1]
            for t, u in product(*(self.covered(frozenset({said}), seen) for said in (one, other)))
        } & seen.shared

    def cuts(self, seen: Seen) -> set[tuple[str, Moment]]:
        """Return the tracks that are cut, and where: at the same time, whoever is there now."""
        return {
            (t, (video, face, tenth))
            for word in self.said
            for whole, (name, person, tenth) in word.cuts
            for t in self.covered(frozenset({whole}), seen)
            for video, face, _ in seen.tracks[t]
            if video == name and face % STRANGER // 2 == person % STRANGER // 2
        }

    def mixed(self, seen: Seen) -> frozenset[frozenset[str]]:
        groups = (self.covered(group, seen) for word in self.said for group in word.mixed)
        return frozenset(frozenset(tracks) for tracks in groups if tracks)

    def not_named(self, seen: Seen) -> frozenset[tuple[str, frozenset[str]]]:
        pairs = (
            (name, frozenset(self.covered(group, seen)))
            for word in self.said
            for name, group in word.not_named
        )
        return frozenset((name, tracks) for name, tracks in pairs if tracks)

    def lost(self, seen: Seen) -> set[str]:
        """Return the keys of tracks that were spoken of, and are no track now."""
        said = {one for word in self.said for group in word.groups() for one in group}
        return {one[0] for one in said if not self.covered(frozenset({one}), seen)} - {""}

    def asked(self, seen: Seen) -> frozenset[tuple[int, str]]:
        """Return the characters that photos are still to be asked about."""
        refused: dict[str, set[str]] = {}
        for name, tracks in self.not_named(seen):
            refused.setdefault(name, set()).update(tracks)
        return frozenset(
            (id, name)
            for id, name in seen.alike
            if not seen.names.get(id)
            and (name not in refused or 2 * len(refused[name] & {*seen.of(id)}) < len(seen.of(id)))
        )

    def check(self, seen: Seen) -> None:
        """Check a cast against the corrections."""
        self.words = [
            self.with_ids(word, seen) if any(id is None for id, _ in word.pins) else word
            for word in self.words
        ]
        pins, marks = self.pins(seen), self.marks(seen)
        for track in seen.tracks:
            pin = pins.get(track, (0, 0))[0]
            assert seen.pin[track] == pin, (track, "is pinned to", pin)
            assert not pin or seen.owner[track] == pin, (track, "is not where it was put:", pin)
            assert (track in seen.not_face) == marks.get(track, (False, 0))[0], (track, "a face?")
        names = {id: name for word in self.said for id, name in word.names.items()}
        assert {id: name for id, name in seen.names.items() if name} == {
            id: name for id, name in names.items() if name
        }
        background = {id: yes for word in self.said for id, yes in word.background.items()}
        assert dict(seen.background) == background
        assert seen.mixed == self.mixed(seen), "are mixed"
        assert seen.not_named == self.not_named(seen), seen.not_named ^ self.not_named(seen)
        assert seen.asked == self.asked(seen), "are asked about"
        apart = {
            pair for pair in self.different(seen) if len({seen.owner[track] for track in pair}) == 2
        }
        assert apart <= seen.different, (apart - seen.different, "were called different")
        assert self.waived(seen) <= seen.waived, (self.waived(seen) - seen.waived, "were waived")
        listed = set(seen.lost.values())
        assert self.lost(seen) <= listed, (self.lost(seen) - listed, "are lost, and not listed")
        known = {key: self.tracks[key] for key in listed if key in self.tracks}
        there = [key for key in known.items() if self.covered(frozenset({key}), seen)]
        assert not there, (there, "are listed as lost, and are there, or were found")
        inside: set[str] = set()
        for word in self.words:
            inside |= set(word.came.split())
            inside -= {word.left}
        if inside:
            assert {video for own in seen.tracks.values() for video, _, _ in own} == inside
        for t, at in self.cuts(seen):
            assert not {at, _before(at)} <= seen.tracks[t], (t, "is cut at", at)

    def remember(self, seen: Seen) -> None:
        """Check that equal corrections of one scan give equal casts, whatever came between."""
        key = (self.scan, tuple(word.number for word in self.words))
        assert self.known.setdefault(key, seen) == seen
        self.ids |= {*seen.owner.values(), *seen.names, *seen.background}
        self.tracks |= {seen.keys[t]: own for t, own in seen.tracks.items()}

    def check_person(self, before: Seen, after: Seen) -> None:
        """Check that a correction moves only the tracks it covers."""
        word = self.words[-1]
        groups = [group for _, group in word.pins]
        if word.found:
            groups.append(frozenset({word.found[1]}))
        said = {t for group in groups for t in self.covered(group, after)}
        for track, own in after.tracks.items():
            if track in before.tracks and before.tracks[track] == own:
                if track not in said:
                    assert after.owner[track] == before.owner[track], (track, "moved by itself")
            else:
                assert track in said, (track, "is new")

    def check_machine(self, before: Seen, after: Seen, splits: bool) -> None:
        """Check that clustering merges no tracks that are two people.

        If it also ``splits`` characters, it leaves no such tracks together either.
        """
        waived = self.waived(after)
        was = {moment: before.owner[t] for moment, t in before.track_at.items()}
        for pair in self.different(after) | (after.shared - waived):
            t, u = sorted(pair)
            if t in after.not_face or u in after.not_face or after.owner[t] != after.owner[u]:
                continue
            if after.pin[t] and after.pin[u]:
                continue  # a person put both there
            homes = [{was[m] for m in after.tracks[track] if m in was} for track in (t, u)]
            together = not splits and bool(homes[0] & homes[1])
            assert together, (t, u, "are two people")

    def check_ids(self, before: Seen, after: Seen) -> None:
        """Check that no id is reused, except by a correction that refers to it."""
        said = {id for word in self.said for id, _ in word.pins}
        new = set(after.owner.values()) - set(before.owner.values()) - said
        assert not new & self.ids, (new & self.ids, "were somebody's")

    def with_ids(self, word: Word, after: Seen) -> Word:
        """Return a correction with the ids of its new characters, and check that they are new.

        An id that is not seen yet, because the tracks are not in this scan, remains None.
        """
        pins = []
        for number, group in word.pins:
            id = number
            if number is None and (tracks := self.covered(group, after)):
                (id,) = {after.owner[t] for t in tracks}
                assert id not in self.ids, (id, "was somebody's")
            pins.append((id, group))
        if word.cuts:  # the keys of the parts are known now
            pins = [(id, after.group(self.covered(group, after)) or group) for id, group in pins]
            return replace(word, pins=tuple(pins), different=((pins[0][1], pins[1][1]),))
        return replace(word, pins=tuple(pins))


def _beside(moments: Moments) -> Moments:
    """Return the moments of all others who are in the frame at these."""
    return frozenset(
        (video, stranger + face % STRANGER // 2 * 2 + 1 - face % 2, tenth)
        for video, face, tenth in moments
        for stranger in range(0, 3 * STRANGER, STRANGER)
    )


def _before(moment: Moment) -> Moment:
    video, person, tenth = moment
    return video, person, tenth - 1
