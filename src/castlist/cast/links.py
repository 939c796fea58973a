"""Links: what was said, as must-links and cannot-links between tracks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from castlist.cast.shared_frames import not_waived
from castlist.cast.state import State

Rows = NDArray[np.int64]
#: Of each id, groups of tracks that are pinned to it: each group is must-linked.
Groups = dict[int, list[Rows]]


@dataclass(frozen=True)
class Links:
    """What was said, as links between tracks.

    Attributes
    ----------
    rows : ndarray of int
        The tracks that take part.
    must : ndarray of int, shape (m, 2)
        Tracks pinned to one character.
    cannot : ndarray of int, shape (k, 2)
        Tracks pinned to two characters, or called two people: of several that are must-linked, one.
    avoid : ndarray of int, shape (p, 2)
        Tracks that share a frame, unless that was waived.
    apart : ndarray of int, shape (q, 2)
        Of tracks called two people, or that share a frame, those of which one is pinned and the
        other is not, as they are.
    """

    rows: Rows
    must: Rows
    cannot: Rows
    avoid: Rows
    apart: Rows

    @classmethod
    def of(cls, state: State, overlaps: Rows) -> Links:
        """Read them off what was said: all tracks pinned to one character are must-linked."""
        groups = {number: [rows] for number, rows in _pinned(state).items()}
        shared = _shared(state, overlaps)
        rows = np.flatnonzero(~state.not_face)
        return cls(rows, _within(groups), _between(state, groups), shared, _apart(state, shared))

    @classmethod
    def around(
        cls, state: State, overlaps: Rows, members: Rows, balls: Callable[[Rows], Rows]
    ) -> Links:
        """Read them off what was said, so that a character attracts by what most of it looks like.

        A person may have put into a character what the machine finds far apart: somebody in two
        looks, or a stray among many. Must-linked as a whole, nothing would be near all of it; and
        a stray by itself would bring others like it. So the pinned tracks of each large ball are
        must-linked, and those outside take no part. They stay where they are pinned.

        Parameters
        ----------
        state : State
            What was said.
        overlaps : ndarray of int, shape (m, 2)
            Tracks that share a frame.
        members : ndarray of int
            The id of each track's character, to know what most of it looks like; 0 for none.
        balls : callable
            Says in which ball each of some tracks is.
        """
        face = ~state.not_face
        groups: Groups = {}
        for number, rows in _pinned(state).items():
            whole = np.union1d(rows, np.flatnonzero((members == number) & face))
            _, ball, sizes = np.unique(balls(whole), return_inverse=True, return_counts=True)
            large = [whole[ball == k] for k in np.flatnonzero(2 * sizes >= sizes.max()).tolist()]
            own = [np.intersect1d(part, rows) for part in large]
            groups[number] = [part for part in own if len(part)]
        part = face & (state.pin == 0)
        for some in groups.values():
            part[np.concatenate([np.empty(0, np.int64), *some])] = True
        shared = _shared(state, overlaps)
        avoid = [
            pair
            for i, j in shared[(state.pin[shared] == 0).any(axis=1)].tolist()
            for pair in product(_standing([i], state, groups), _standing([j], state, groups))
        ]
        return cls(
            np.flatnonzero(part), _within(groups), _between(state, groups), _pairs(avoid),
            _apart(state, shared),
        )  # fmt: skip

    def among(self) -> dict[str, Rows]:
        """Return the links by the places of tracks among those that take part."""
        return {
            "must_link": np.searchsorted(self.rows, self.must),
            "cannot_link": np.searchsorted(self.rows, self.cannot),
            "avoid_link": np.searchsorted(self.rows, self.avoid),
        }


def _pinned(state: State) -> dict[int, Rows]:
    """Return the tracks that are pinned to each id, and are faces."""
    pin = np.where(state.not_face, 0, state.pin)
    return {number: np.flatnonzero(pin == number) for number in np.unique(pin[pin > 0]).tolist()}


def _shared(state: State, overlaps: Rows) -> Rows:
    """Return the tracks that share a frame, unless that was waived."""
    shared = not_waived(overlaps, state.waived)
    return shared[~state.not_face[shared].any(axis=1)]


def _within(groups: Groups) -> Rows:
    """Return the links that make each group one."""
    return _pairs(
        pair for some in groups.values() for rows in some for pair in pairwise(rows.tolist())
    )


def _between(state: State, groups: Groups) -> Rows:
    """Return links between groups of two characters, and between those called two people."""
    first = [[int(rows[0]) for rows in some] for some in groups.values()]
    apart = [pair for one, other in combinations(first, 2) for pair in product(one, other)]
    for a, b in state.two_people():
        apart += product(_standing(a.tolist(), state, groups), _standing(b.tolist(), state, groups))
    return _pairs(apart)


def _standing(rows: Sequence[int], state: State, groups: Groups) -> list[int]:
    """Return who stands for some tracks: for a pinned one, one of each group of its character."""
    loose = [row for row in rows if not state.pin[row]]
    numbers = {int(state.pin[row]) for row in rows} - {0}
    return [*loose, *(int(group[0]) for number in numbers for group in groups[number])]


def _apart(state: State, shared: Rows) -> Rows:
    """Return who is kept apart, of pairs of which one is pinned and the other is not."""
    said = [_pairs(product(a.tolist(), b.tolist())) for a, b in state.two_people()]
    pairs = np.concatenate([shared, *said])
    return np.asarray(pairs[(state.pin[pairs] > 0).sum(axis=1) == 1])


def _pairs(pairs: Iterable[tuple[int, int]]) -> Rows:
    return np.unique(np.array(list(pairs), np.int64).reshape(-1, 2), axis=0)
