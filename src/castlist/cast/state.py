"""The state of a cast: who each track is, and what was said, as a fold over events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from castlist.cast.events import Edit

Rows = NDArray[np.int64]
#: From the numbers of anchors to rows of the tracks at hand.
Find = Callable[[Iterable[int]], Rows]
Groups = tuple[Rows, Rows]


@dataclass(frozen=True)
class Change:
    """Tracks that go from one character to another; -1 is that of what shows no face."""

    before: int
    after: int
    tracks: Rows


@dataclass
class State:
    """Who each track is, and what was said of it.

    Attributes
    ----------
    base : ndarray of int, shape (n_tracks,)
        The id of the character that the machine put each track in.
    pin : ndarray of int, shape (n_tracks,)
        The id of the character that a person put it in; 0 if nobody did.
    not_face : ndarray of bool, shape (n_tracks,)
        Whether it shows no face at all.
    names : dict
        Id → name.
    background : dict
        Id → whether a person said that it is background, or that it is not.
    different : list of pairs of arrays
        Tracks that were called two people.
    same : list of pairs of arrays
        Tracks that were seen side by side and called one person.
    checked : ndarray of bool, shape (n_tracks,)
        Tracks that were in doubt and are where they belong.
    mixed : list of arrays
        Tracks that show several people.
    waived : set of pairs
        Tracks that share a frame and may be one person all the same.
    """

    base: Rows
    pin: Rows
    not_face: NDArray[np.bool_]
    checked: NDArray[np.bool_]
    names: dict[int, str] = field(default_factory=dict)
    background: dict[int, bool] = field(default_factory=dict)
    different: list[Groups] = field(default_factory=list)
    same: list[Groups] = field(default_factory=list)
    mixed: list[Rows] = field(default_factory=list)
    waived: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of(cls, labels: Rows) -> State:
        """Begin with a clustering of which nobody has said anything."""
        n = len(labels)
        base = np.asarray(labels, np.int64).copy()
        return cls(base, np.zeros(n, np.int64), np.zeros(n, bool), np.zeros(n, bool))

    @property
    def owner(self) -> Rows:
        """The id of each track's character: the last word about it, else the machine's."""
        return np.where(self.pin > 0, self.pin, self.base)

    @property
    def labels(self) -> Rows:
        """The id of each track's character; -1 for those that show no face."""
        return np.where(self.not_face, -1, self.owner)

    def members(self, character: int) -> Rows:
        """Return the tracks of a character that are faces."""
        return np.flatnonzero((self.owner == character) & ~self.not_face)

    def corrected_ids(self) -> set[int]:
        """Return the ids of which a person said something."""
        pinned = np.unique(self.pin[self.pin > 0]).tolist()
        named = [number for number, name in self.names.items() if name]
        return {*pinned, *named, *self.background}

    def different_pairs(self) -> Iterator[Groups]:
        """Give the tracks that were called two people, and that no later word made one."""
        owner = self.owner
        for one, other in self.different:
            a, b = (rows[~self.not_face[rows]] for rows in (one, other))
            for i in np.unique(owner[a]).tolist():
                for j in np.unique(owner[b]).tolist():
                    if i != j:
                        yield a[owner[a] == i], b[owner[b] == j]

    def apply(self, words: Edit, find: Find) -> None:
        """Let a word hold: of tracks that are not there, nothing does."""
        for pin in words.pins:
            self.pin[find(pin.tracks)] = pin.id
        for name in words.names:
            self.names[name.id] = name.name
        for mark in words.background:
            self.background[mark.id] = mark.background
        self.not_face[find(words.not_face)] = True
        self.not_face[find(words.face)] = False
        self.checked[find(words.checked)] = True
        for kept, pairs in ((self.different, words.different), (self.same, words.same)):
            found = ((find(one), find(other)) for one, other in pairs)
            kept += [(one, other) for one, other in found if len(one) and len(other)]
        self.mixed += [rows for rows in map(find, words.mixed) if len(rows)]
        for i, j in words.waived:
            a, b = find([i]).tolist(), find([j]).tolist()
            self.waived |= {(min(x, y), max(x, y)) for x in a for y in b if x != y}


def changes(before: Rows, after: Rows) -> tuple[Change, ...]:
    """Return which tracks have another character, those of most tracks first.

    Parameters
    ----------
    before, after : ndarray of int, shape (n_tracks,)
        The id of each track's character; -1 for what shows no face.
    """
    moved = np.flatnonzero(before != after)
    pairs, code = np.unique(np.stack([before[moved], after[moved]]), axis=1, return_inverse=True)
    found = [
        Change(int(pairs[0, k]), int(pairs[1, k]), moved[np.ravel(code) == k])
        for k in range(pairs.shape[1])
    ]
    return tuple(sorted(found, key=lambda change: -len(change.tracks)))
