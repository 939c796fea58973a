"""What was said, applied to a clustering: the cast is always log ∘ clustering.

An event speaks of characters by the tracks they had when it was said, never by a number: so it
means the same on another clustering, where a character is the one that has most of those tracks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.log import Event

Rows = NDArray[np.int64]
#: From the numbers of remembered tracks to rows of the tracks at hand.
Find = Callable[[Iterable[int]], Rows]

#: Events that change the cast, and so can be undone.
ACTIONS = (
    "name", "background", "merge", "move", "not_face", "answer", "recluster",
)  # fmt: skip


def live_events(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """Return the actions that hold, and those that were undone and can be redone, last first."""
    done: list[Event] = []
    undone: list[Event] = []
    for event in events:
        if event.kind == "undo" and done:
            undone.append(done.pop())
        elif event.kind == "redo" and undone:
            done.append(undone.pop())
        elif event.kind in ACTIONS:
            done.append(event)
            undone = []
    return done, undone[::-1]


@dataclass
class State:
    """Who owns which track, and what was said of it, while events are applied.

    Attributes
    ----------
    owner : ndarray of int, shape (n_tracks,)
        The number of each track's character.
    not_face : ndarray of bool, shape (n_tracks,)
        Tracks that show no face at all.
    names : dict
        Character → name.
    background : dict
        Character → whether a person said it is background, or that it is not.
    same : list of arrays
        Tracks that are one person, each array: a whole character as it was when something was put
        into it. (Less would tear it apart when clustered again: what is new to it may be far from
        all of the others.)
    compared : list of pairs of arrays
        Tracks that a person saw side by side and called one.
    checked : ndarray of bool, shape (n_tracks,)
        Tracks of which a person said that they are where they belong.
    different : list of pairs of arrays
        Tracks that are two people.
    waived : set of pairs
        Tracks that share a frame and may be one person all the same.
    """

    owner: Rows
    not_face: NDArray[np.bool_]
    names: dict[int, str] = field(default_factory=dict)
    background: dict[int, bool] = field(default_factory=dict)
    same: list[Rows] = field(default_factory=list)
    compared: list[tuple[Rows, Rows]] = field(default_factory=list)
    checked: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    different: list[tuple[Rows, Rows]] = field(default_factory=list)
    waived: set[tuple[int, int]] = field(default_factory=set)
    # The character that a person last put each track in (-1: nobody said), and the characters of
    # which anything was said. On another clustering two of those may fall into one cluster: the
    # second is then taken out of it again.
    _said: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    _claimed: set[int] = field(default_factory=set)
    _next: int = 1
    _taken: frozenset[int] = frozenset()  # numbers that are not free

    @classmethod
    def of(
        cls, labels: Rows, first: int | None = None, taken: frozenset[int] = frozenset()
    ) -> State:
        """Begin with a clustering: one character a cluster, called by its number.

        ``first`` is the number of the first character that a person makes, and ``taken`` are those
        that it and later ones do not get.
        """
        owner = np.asarray(labels, np.int64).copy()
        return cls(
            owner,
            np.zeros(len(owner), bool),
            checked=np.zeros(len(owner), bool),
            _said=np.full(len(owner), -1),
            _next=int(owner.max(initial=0)) + 1 if first is None else first,
            _taken=taken,
        )

    def members(self, character: int) -> Rows:
        """Return the tracks of a character that are faces."""
        return np.flatnonzero((self.owner == character) & ~self.not_face)

    def two_people(self) -> Iterator[tuple[Rows, Rows]]:
        """Give the tracks that were said to be two people, and are in two characters.

        Of a group that came apart since, those where most of it is: of the others it was not said.
        """
        for said in self.different:
            groups = [rows[~self.not_face[rows]] for rows in said]
            owners = [_most(self.owner[rows]) for rows in groups]
            if None not in owners and owners[0] != owners[1]:
                a, b = (r[self.owner[r] == o] for r, o in zip(groups, owners, strict=True))
                if 2 * len(a) > len(groups[0]) and 2 * len(b) > len(groups[1]):
                    yield a, b

    def apply(self, event: Event, find: Find) -> None:
        """Let one action happen."""
        getattr(self, f"_{event.kind}")(event.body, find)

    def _name(self, body: dict[str, Any], find: Find) -> None:
        # Part of a character: a video's, of a cast of several.
        character = self._character(find(body["who"]), not body.get("part"))
        if character is not None:
            self.names[character] = body["name"]

    def _background(self, body: dict[str, Any], find: Find) -> None:
        for who in body["who"]:
            character = self._character(find(who), not body.get("part"))
            if character is not None:
                self.background[character] = bool(body["background"])

    def _merge(self, body: dict[str, Any], find: Find) -> None:
        groups = [find(who) for who in body["who"]]
        self._waive(body, find)
        kept = self._unite(groups)
        if kept is not None:
            if "name" in body:
                self.names[kept] = body["name"]
            self.same.append(self.members(kept))
            self.compared += pairwise(groups)

    def _answer(self, body: dict[str, Any], find: Find) -> None:
        one = find(body["one"])
        same, different = ([find(rows) for rows in body[key]] for key in ("same", "different"))
        self._waive(body, find)
        me = self._character(one, False)
        if me is None:
            return
        for rows, instead in zip(different, map(find, body["instead"]), strict=True):
            rows = np.setdiff1d(rows, one)
            if not len(rows):
                continue
            self.different.append((one, rows))
            together = rows[self.owner[rows] == me]
            if len(together):
                self._put(together, self._new())
            if len(instead):
                self._agree([instead, rows])
                self.checked[rows] = True
        for rows in same:
            if len(rows):
                inside = self.owner[rows] == me
                self._agree([one, rows])
                self.checked[rows[inside]] = True  # each of them was in doubt, not only the most

    def _agree(self, groups: list[Rows]) -> None:
        """Make groups of tracks one character, because a person saw that they are one."""
        seen = np.concatenate(groups)
        grown = len(np.unique(self.owner[seen])) > 1
        kept = self._unite(groups)
        assert kept is not None
        self.same.append(self.members(kept) if grown else seen)
        self.compared += pairwise(groups)

    def _move(self, body: dict[str, Any], find: Find) -> None:
        tracks, away = find(body["tracks"]), find(body["away"])
        if not len(tracks):
            return
        self._waive(body, find)
        to = self._character(find(body["to"]), coming=tracks) if body["to"] else None
        if to is None:
            to = self._apart_already(tracks, away)
        to = self._new() if to is None else to
        self._put(tracks, to)
        self.same.append(self.members(to))
        away = np.setdiff1d(away, tracks)
        if len(away):
            self.different.append((tracks, away))

    def _apart_already(self, tracks: Rows, away: Rows) -> int | None:
        """Return the cluster of these tracks, if those they were taken from are not in it."""
        held = np.unique(self.owner[tracks])
        if len(held) > 1 or held[0] in self._claimed or np.isin(self.owner[away], held).any():
            return None
        return int(held[0]) if len(away) else None

    def _not_face(self, body: dict[str, Any], find: Find) -> None:
        self.not_face[find(body["tracks"])] = bool(body["not_face"])

    def _waive(self, body: dict[str, Any], find: Find) -> None:
        for pair in body.get("waived", ()):
            a, b = find(pair[:1]), find(pair[1:])
            self.waived |= {(min(i, j), max(i, j)) for i in a.tolist() for j in b.tolist()}

    def _recluster(self, body: dict[str, Any], find: Find) -> None:
        """Nothing: which clustering it all begins with was chosen before."""

    def _character(
        self, tracks: Rows, whole: bool = True, coming: Rows | None = None
    ) -> int | None:
        """Find the character that these tracks were; None if none of them is there any more.

        If they were the whole of it, and are now in a cluster of which something else was said,
        they are taken out of it: unless that was said only of tracks that are ``coming`` to them.
        """
        if not len(tracks):
            return None
        said = self._said[tracks]
        before = _most(said[said >= 0])
        if before is not None and before in self._claimed and (self.owner == before).any():
            character = before
        else:
            held = _most(self.owner[tracks])
            assert held is not None
            others = (self.owner == held) & (self._said == held)
            others[tracks] = False
            if coming is not None and others[coming].any():
                others[coming] = False
                if not others.any():  # it was said of who they were before, and that one is gone
                    self._forget(held)
            character = self._new() if whole and others.any() else held
            if character != held:  # somebody else's cluster: not these tracks
                self.owner[tracks] = character
        self._claimed.add(character)
        self._said[tracks] = character
        return character

    def _unite(self, groups: list[Rows]) -> int | None:
        """Make the characters of several groups of tracks one: the first's."""
        found = [c for rows in groups if (c := self._character(rows, False)) is not None]
        if not found:
            return None
        kept = found[0]
        gone = set(found) - {kept}
        name = next((self.names[c] for c in found if self.names.get(c)), "")
        self._put(np.flatnonzero(np.isin(self.owner, list(gone))), kept)
        self._put(np.concatenate(groups), kept)
        if name:
            self.names[kept] = name
        for character in gone:
            self._forget(character)
        return kept

    def _put(self, tracks: Rows, character: int) -> None:
        """Let a character own tracks, because a person said so."""
        left = set(np.unique(self.owner[tracks]).tolist()) - {character}
        self.owner[tracks] = character
        self._said[tracks] = character
        self._claimed.add(character)
        for one in left:
            if not (self.owner == one).any():
                self._forget(one)

    def _forget(self, character: int) -> None:
        self.names.pop(character, None)
        self.background.pop(character, None)
        self._claimed.discard(character)

    def _new(self) -> int:
        while self._next in self._taken:
            self._next += 1
        self._next += 1
        return self._next - 1


def _most(values: Rows) -> int | None:
    """Return the most frequent value; of several, the smallest."""
    if not len(values):
        return None
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])
