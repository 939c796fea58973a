"""Answers to questions: the consequences of *same*, *different*, *instead* and *mixed*."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from castlist.cast.state import State
from castlist.errors import InputError

Rows = NDArray[np.int64]


@dataclass
class Answer:
    """An answer to a question, and its consequences for the current cast.

    The characters of ``same`` are merged into that of ``one``. If an answer calls some tracks of a
    character the same and others of it different, that character is several people: only the
    tracks called the same move.

    Attributes
    ----------
    state : State
        The cast.
    one : ndarray of int
        The tracks that the question is about.
    same, different, mixed : lists of arrays
        The groups they were compared with.
    instead : list of arrays
        For each group of ``different``, tracks of the character it belongs to; empty if unknown.
    pins : list of (int, array)
        Ids, and the tracks that are assigned to them; 0 for a new character.
    names : list of (int, str)
        Names that characters take over from those merged into them.
    compared : list of pairs of arrays
        Groups that are one person.
    checked : ndarray of int
        Tracks that were in doubt and are confirmed where they are.
    """

    state: State
    one: Rows
    same: list[Rows]
    different: list[Rows]
    mixed: list[Rows]
    instead: list[Rows]
    pins: list[tuple[int, Rows]] = field(default_factory=list)
    names: list[tuple[int, str]] = field(default_factory=list)
    compared: list[tuple[Rows, Rows]] = field(default_factory=list)
    checked: Rows = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def all_tracks(self) -> Rows:
        """All tracks that it refers to."""
        return np.concatenate([self.one, *self.same, *self.different, *self.mixed, *self.instead])

    def check(self) -> None:
        """Compute the consequences; raise InputError if the answer contradicts itself."""
        owner, names = self.state.owner, self.state.names
        if not (self.same or self.different or self.mixed):
            raise InputError("the answer compares no tracks")
        groups = [*self.same, *self.different]
        sides = np.concatenate([self.one, *groups])
        mixed = np.concatenate([sides[:0], *self.mixed])
        if (
            len(np.unique(sides)) < len(sides)
            or any(
                np.isin(target, np.concatenate([self.one, *self.same, rows])).any()
                for rows, target in zip(self.different, self.instead, strict=True)
            )
            or (groups and np.isin(mixed, sides).any())
        ):
            raise InputError("a track is in two groups of one answer")
        mine = np.unique(owner[self.one])
        if len(mine) > 1:
            raise InputError("the tracks of `one` must belong to one character")
        me = int(mine[0])
        apart = np.concatenate([self.one[:0], *self.different])
        whole: set[int] = set()  # characters that are merged as a whole
        brought = [self.one[:0]]
        for rows in self.same:
            for other in np.unique(owner[rows]).tolist():
                own = rows[owner[rows] == other]
                if other == me:
                    self.checked = np.union1d(self.checked, own)
                elif np.isin(owner[apart], other).any():
                    brought.append(own)
                else:
                    whole.add(other)
                    brought.append(self.state.members(other))
            self.compared.append((self.one, rows))
        called = sorted({names[n] for n in (me, *whole) if names.get(n)})
        if len(called) > 1:
            raise InputError(
                f"they have different names, {' and '.join(called)}: merge them instead"
            )
        if called and not names.get(me):
            self.names.append((me, called[0]))
        if self.same:
            stays = np.setdiff1d(self.state.members(me), apart)
            self.pins.append((me, np.unique(np.concatenate([stays, *brought]))))
        placed = [r for r, target in zip(self.different, self.instead, strict=True) if len(target)]
        for rows, target in zip(self.different, self.instead, strict=True):
            if len(target):
                others = np.concatenate([rows[:0], *(one for one in placed if one is not rows)])
                self._put(rows, target, me, {me, *whole}, others)
            elif len(leaving := rows[owner[rows] == me]):
                self.pins.append((0, leaving))

    def _put(self, rows: Rows, target: Rows, me: int, taken: set[int], others: Rows) -> None:
        """Assign tracks, and ``target``, to its character; ``others`` are assigned elsewhere."""
        owner, names = self.state.owner, self.state.names
        targets = np.unique(owner[target])
        if len(targets) > 1:
            raise InputError("the tracks of one entry of `instead` must belong to one character")
        number = int(targets[0])
        if number in taken:
            raise InputError("`instead` cannot be the character that the tracks are different from")
        before = {names.get(n, "") for n in np.unique(owner[rows]).tolist() if n != me} - {""}
        called = sorted(before | ({names[number]} if names.get(number) else set()))
        if len(called) > 1:
            raise InputError(
                f"they have different names, {' and '.join(called)}: merge them instead"
            )
        self.pins.append((number, np.setdiff1d(np.union1d(target, rows), others)))
        self.compared.append((target, rows))
        self.checked = np.union1d(self.checked, rows)

    def apply(self, new: Iterator[int]) -> None:
        """Apply it to the state only, without the log; ``new`` yields ids for new characters."""
        self.pins = [(number or next(new), rows) for number, rows in self.pins]
        for number, rows in self.pins:
            self.state.pin[rows] = number
        self.state.names |= dict(self.names)
        self.state.different += [(self.one, rows) for rows in self.different]
        self.state.same += self.compared
        self.state.checked[self.checked] = True
        self.state.mixed += self.mixed

    def pieces(self) -> list[list[Rows]]:
        """Return the groups of tracks that it brings together, by their current character."""
        owner = self.state.owner
        pinned = np.concatenate([self.one[:0], *(rows for _, rows in self.pins)])
        together = [rows for number, rows in self.pins if not number]
        for number in sorted({number for number, _ in self.pins} - {0}):
            stay = np.setdiff1d(self.state.members(number), pinned)
            together.append(np.concatenate([stay, *(rows for n, rows in self.pins if n == number)]))
        return [
            [rows[owner[rows] == number] for number in np.unique(owner[rows]).tolist()]
            for rows in together
        ]
