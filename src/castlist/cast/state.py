"""The state of a cast: the character of each track, and all corrections, as a fold over events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from castlist.cast.events import Edit

Rows = NDArray[np.int64]
#: Maps anchor numbers to rows of the current tracks.
Find = Callable[[Iterable[int]], Rows]
Groups = tuple[Rows, Rows]


@dataclass(frozen=True)
class Change:
    """Tracks that move from one character to another; -1 stands for tracks that are not a face."""

    before: int
    after: int
    tracks: Rows


@dataclass
class State:
    """The character of each track, and its corrections.

    Attributes
    ----------
    base : ndarray of int, shape (n_tracks,)
        The id of the character that clustering assigned to each track.
    pin : ndarray of int, shape (n_tracks,)
        The id of the character that a person assigned to it; 0 for none.
    not_face : ndarray of bool, shape (n_tracks,)
        Whether the track is marked as not a face.
    face : ndarray of bool, shape (n_tracks,)
        Whether that mark was removed.
    names : dict
        Id → name.
    background : dict
        Id → whether a person marked it as background, or as not background.
    different : list of pairs of arrays
        Groups of tracks that show two people, according to a person.
    same : list of pairs of arrays
        Groups of tracks that were compared and show one person.
    checked : ndarray of bool, shape (n_tracks,)
        Whether the track was in doubt and is confirmed where it is.
    mixed : list of arrays
        Groups of tracks that show several people.
    waived : set of pairs
        Tracks that share a frame and may still be one person.
    not_named : list of pairs of str and array
        A name, and tracks that do not show the person of that name.
    """

    base: Rows
    pin: Rows
    not_face: NDArray[np.bool_]
    face: NDArray[np.bool_]
    checked: NDArray[np.bool_]
    names: dict[int, str] = field(default_factory=dict)
    background: dict[int, bool] = field(default_factory=dict)
    different: list[Groups] = field(default_factory=list)
    same: list[Groups] = field(default_factory=list)
    mixed: list[Rows] = field(default_factory=list)
    waived: set[tuple[int, int]] = field(default_factory=set)
    not_named: list[tuple[str, Rows]] = field(default_factory=list)

    @classmethod
    def of(cls, labels: Rows) -> State:
        """Return the state of a clustering without corrections."""
        n = len(labels)
        base = np.asarray(labels, np.int64).copy()
        not_face, face, checked = (np.zeros(n, bool) for _ in range(3))
        return cls(base, np.zeros(n, np.int64), not_face, face, checked)

    @property
    def owner(self) -> Rows:
        """The id of each track's character: the last correction of it, else as clustered."""
        return np.where(self.pin > 0, self.pin, self.base)

    @property
    def labels(self) -> Rows:
        """The id of each track's character; -1 for tracks that are not a face."""
        return np.where(self.not_face, -1, self.owner)

    def members(self, character: int) -> Rows:
        """Return the tracks of a character that are faces."""
        return np.flatnonzero((self.owner == character) & ~self.not_face)

    def corrected_ids(self) -> set[int]:
        """Return the ids that a person named, marked or assigned tracks to."""
        pinned = np.unique(self.pin[self.pin > 0]).tolist()
        named = [number for number, name in self.names.items() if name]
        return {*pinned, *named, *self.background}

    def different_pairs(self) -> Iterator[Groups]:
        """Yield groups that show two people, unless a later correction made them one."""
        owner = self.owner
        for one, other in self.different:
            a, b = (rows[~self.not_face[rows]] for rows in (one, other))
            for i in np.unique(owner[a]).tolist():
                for j in np.unique(owner[b]).tolist():
                    if i != j:
                        yield a[owner[a] == i], b[owner[b] == j]

    def apply(self, edit: Edit, find: Find) -> None:
        """Apply an edit; it has no effect on tracks that were not found."""
        for pin in edit.pins:
            self.pin[find(pin.tracks)] = pin.id
        for name in edit.names:
            self.names[name.id] = name.name
        for mark in edit.background:
            self.background[mark.id] = mark.background
        for rows, face in ((find(edit.not_face), False), (find(edit.face), True)):
            self.not_face[rows], self.face[rows] = not face, face
        self.checked[find(edit.checked)] = True
        for kept, pairs in ((self.different, edit.different), (self.same, edit.same)):
            found = ((find(one), find(other)) for one, other in pairs)
            kept += [(one, other) for one, other in found if len(one) and len(other)]
        self.mixed += [rows for rows in map(find, edit.mixed) if len(rows)]
        self.not_named += [(one.name, find(one.tracks)) for one in edit.not_named]
        for i, j in edit.waived:
            a, b = find([i]).tolist(), find([j]).tolist()
            self.waived |= {(min(x, y), max(x, y)) for x in a for y in b if x != y}


def changes(before: Rows, after: Rows) -> tuple[Change, ...]:
    """Return the tracks whose character differs, grouped, the largest group first.

    Parameters
    ----------
    before, after : ndarray of int, shape (n_tracks,)
        The id of each track's character; -1 for tracks that are not a face.
    """
    moved = np.flatnonzero(before != after)
    pairs, code = np.unique(np.stack([before[moved], after[moved]]), axis=1, return_inverse=True)
    found = [
        Change(int(pairs[0, k]), int(pairs[1, k]), moved[np.ravel(code) == k])
        for k in range(pairs.shape[1])
    ]
    return tuple(sorted(found, key=lambda change: -len(change.tracks)))
