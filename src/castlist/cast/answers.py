"""Answers to questions: what follows from *same*, *different*, *instead* and *mixed*."""

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
    """What an answer says, worked out on the cast as it is.

    The character of ``one`` takes in those of ``same``. Where an answer calls some tracks of a
    character the same and others of it different, only those named come: it is several people.

    Attributes
    ----------
    state : State
        The cast.
    one : ndarray of int
        The tracks that were asked about.
    same, different, mixed : lists of arrays
        The groups they were compared with.
    instead : list of arrays
        For each of ``different``, tracks of whom it is; empty if that was not said.
    pins : list of (int, array)
        Who is pinned to which id; 0 for a new one.
    names : list of (int, str)
        Names that come with characters.
    compared : list of pairs of arrays
        Groups that are one person.
    checked : ndarray of int
        Tracks that were in doubt and are where they belong.
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
    def everybody(self) -> Rows:
        """All tracks that it names."""
        return np.concatenate([self.one, *self.same, *self.different, *self.mixed, *self.instead])

    def check(self) -> None:
        """Work out what follows, or refuse an answer that contradicts itself."""
        owner, names = self.state.owner, self.state.names
        if not (self.same or self.different or self.mixed):
            raise InputError("nobody was compared")
        groups = [*self.same, *self.different]
        sides = np.concatenate([self.one, *groups])
        told = np.concatenate([sides[:0], *self.mixed])
        if (
            len(np.unique(sides)) < len(sides)
            or any(
                np.isin(target, np.concatenate([self.one, *self.same, rows])).any()
                for rows, target in zip(self.different, self.instead, strict=True)
            )
            or (groups and np.isin(told, sides).any())
        ):
            raise InputError("a track cannot be on two sides of a question")
        mine = np.unique(owner[self.one])
        if len(mine) > 1:
            raise InputError("the tracks asked about are of several characters; ask of one")
        me = int(mine[0])
        apart = np.concatenate([self.one[:0], *self.different])
        whole: set[int] = set()  # characters that come as a whole
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
            raise InputError(f"they are called {' and '.join(called)}: merge them instead")
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
        """Let tracks be who they are instead; ``others`` are somebody else instead."""
        owner, names = self.state.owner, self.state.names
        targets = np.unique(owner[target])
        if len(targets) > 1:
            raise InputError("who it is instead must be one character")
        number = int(targets[0])
        if number in taken:
            raise InputError("who it is instead cannot be the one it is not")
        before = {names.get(n, "") for n in np.unique(owner[rows]).tolist() if n != me} - {""}
        called = sorted(before | ({names[number]} if names.get(number) else set()))
        if len(called) > 1:
            raise InputError(f"they are called {' and '.join(called)}: merge them instead")
        there = np.setdiff1d(self.state.members(number), others)
        gone = np.concatenate([rows[:0], *(pinned for _, pinned in self.pins)])
        self.pins.append((number, np.setdiff1d(np.union1d(there, rows), gone)))
        self.compared.append((target, rows))
        self.checked = np.union1d(self.checked, rows)

    def apply(self, new: Iterator[int]) -> None:
        """Let it hold in the state alone, without a log; ``new`` gives ids of new characters."""
        self.pins = [(number or next(new), rows) for number, rows in self.pins]
        for number, rows in self.pins:
            self.state.pin[rows] = number
        self.state.names |= dict(self.names)
        self.state.different += [(self.one, rows) for rows in self.different]
        self.state.same += self.compared
        self.state.checked[self.checked] = True
        self.state.mixed += self.mixed

    def pieces(self) -> list[list[Rows]]:
        """Return for each pinned character the parts that come together, by where they are now."""
        owner = self.state.owner
        return [
            [rows[owner[rows] == number] for number in np.unique(owner[rows]).tolist()]
            for _, rows in self.pins
        ]
