"""Links between tracks: must-links and cannot-links from corrections, and shared frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.state import State
from castlist.errors import InputError
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
#: Id → groups of tracks that are pinned to it; each group is must-linked.
Groups = dict[int, list[Rows]]
_LISTED = 100  # pairs; a long video in few characters has very many


@dataclass(frozen=True)
class Links:
    """Corrections as links between tracks.

    Attributes
    ----------
    rows : ndarray of int
        The tracks that take part in clustering.
    must : ndarray of int, shape (m, 2)
        Tracks pinned to one character.
    cannot : ndarray of int, shape (k, 2)
        Tracks pinned to two characters, or marked as two people; one per must-linked group.
    avoid : ndarray of int, shape (p, 2)
        Tracks that share a frame, unless waived.
    apart : ndarray of int, shape (q, 2)
        Pairs of tracks that are two people or share a frame, and of which at most one is pinned.
    """

    rows: Rows
    must: Rows
    cannot: Rows
    avoid: Rows
    apart: Rows

    @classmethod
    def of(cls, state: State, overlaps: Rows) -> Links:
        """Return the links of a state; all tracks pinned to one character are must-linked."""
        groups = {number: [rows] for number, rows in _pinned(state).items()}
        shared = _shared(state, overlaps)
        rows = np.flatnonzero(~state.not_face)
        return cls(rows, _within(groups), _between(state, groups), shared, _apart(state, shared))

    @classmethod
    def around(
        cls, state: State, overlaps: Rows, members: Rows, balls: Callable[[Rows], Rows]
    ) -> Links:
        """Return the links of a state such that a character attracts tracks like most of its own.

        The tracks that a person assigned to a character may be far apart: a person with two
        appearances, or an outlier. If all were must-linked, nothing would be near all of them, and
        an outlier by itself would attract others like it. So the pinned tracks of each large ball
        are must-linked, and those outside take no part: they stay where they are pinned.

        Parameters
        ----------
        state : State
            The corrections.
        overlaps : ndarray of int, shape (m, 2)
            Tracks that share a frame.
        members : ndarray of int
            The id of each track's character, to find its large balls; 0 for none.
        balls : callable
            Returns the ball of each of the given tracks.
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
            for pair in product(_delegates([i], state, groups), _delegates([j], state, groups))
        ]
        return cls(
            np.flatnonzero(part), _within(groups), _between(state, groups), _pairs(avoid),
            _apart(state, shared),
        )  # fmt: skip

    def among(self) -> dict[str, Rows]:
        """Return the links as positions among the tracks that take part."""
        return {
            "must_link": np.searchsorted(self.rows, self.must),
            "cannot_link": np.searchsorted(self.rows, self.cannot),
            "avoid_link": np.searchsorted(self.rows, self.avoid),
        }


def _pinned(state: State) -> dict[int, Rows]:
    """Return the tracks pinned to each id, without those that are not a face."""
    pin = np.where(state.not_face, 0, state.pin)
    return {number: np.flatnonzero(pin == number) for number in np.unique(pin[pin > 0]).tolist()}


def _shared(state: State, overlaps: Rows) -> Rows:
    """Return the pairs of tracks that share a frame, without waived ones."""
    shared = not_waived(overlaps, state.waived)
    return shared[~state.not_face[shared].any(axis=1)]


def _within(groups: Groups) -> Rows:
    """Return must-links that connect each group."""
    return _pairs(
        pair for some in groups.values() for rows in some for pair in pairwise(rows.tolist())
    )


def _between(state: State, groups: Groups) -> Rows:
    """Return cannot-links between groups of different characters, and of different people."""
    first = [[int(rows[0]) for rows in some] for some in groups.values()]
    apart = [pair for one, other in combinations(first, 2) for pair in product(one, other)]
    for a, b in state.different_pairs():
        apart += product(
            _delegates(a.tolist(), state, groups), _delegates(b.tolist(), state, groups)
        )
    return _pairs(apart)


def _delegates(rows: Sequence[int], state: State, groups: Groups) -> list[int]:
    """Return representatives of tracks: for a pinned one, one of each group of its character."""
    loose = [row for row in rows if not state.pin[row]]
    numbers = {int(state.pin[row]) for row in rows} - {0}
    return [*loose, *(int(group[0]) for number in numbers for group in groups[number])]


def _apart(state: State, shared: Rows) -> Rows:
    """Return the pairs that are kept apart and of which at most one is pinned."""
    marked = [_pairs(product(a.tolist(), b.tolist())) for a, b in state.different_pairs()]
    pairs = np.concatenate([shared, *marked])
    return np.asarray(pairs[(state.pin[pairs] > 0).sum(axis=1) <= 1])


def _pairs(pairs: Iterable[tuple[int, int]]) -> Rows:
    return np.unique(np.array(list(pairs), np.int64).reshape(-1, 2), axis=0)


class OverlappingTracksError(InputError):
    """Tracks that share a frame cannot become one person unless that is waived.

    Attributes
    ----------
    pairs : list of (str, str)
        Ids of the tracks.
    seconds : float
        The first time at which two of them share a frame.
    """

    def __init__(self, pairs: list[tuple[str, str]], seconds: float) -> None:
        self.pairs = pairs
        self.seconds = seconds
        first = (
            f"{len(pairs)} pairs of these tracks share a frame, the first "
            if len(pairs) > 1
            else "1 pair of these tracks shares a frame, "
        )
        super().__init__(
            f"{first}at {seconds:.1f} s: "
            "faces in one frame are different people; waive that for a mirror, a split screen or a "
            "photograph"
        )


def not_waived(pairs: Rows, waived: set[tuple[int, int]]) -> Rows:
    """Return the pairs of tracks, each in ascending order, that are not waived."""
    if not waived or not len(pairs):
        return pairs
    known = np.array(sorted(waived), np.int64)
    width = int(max(pairs.max(), known.max())) + 1
    return pairs[~np.isin(pairs @ [width, 1], known @ [width, 1])]


def pairs_between(
    groups: list[Rows], overlaps: Rows, waived: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the pairs of tracks of different groups that share a frame and are not waived."""
    group = np.full(int(overlaps.max(initial=-1)) + 1, -1)
    for i, rows in enumerate(groups):
        group[rows[rows < len(group)]] = i
    a, b = group[overlaps].T
    pairs = not_waived(overlaps[(a >= 0) & (b >= 0) & (a != b)], waived)
    return [(i, j) for i, j in pairs.tolist()]


def overlap_error(tracks: TrackSet, pairs: list[tuple[int, int]]) -> OverlappingTracksError:
    """Return the error for tracks that share a frame, the earliest pair first."""
    seconds, first = min((_together_at(tracks, *pair), pair) for pair in pairs)
    ids = tracks.ids
    ordered = [first, *(pair for pair in pairs if pair != first)]
    return OverlappingTracksError([(str(ids[i]), str(ids[j])) for i, j in ordered], seconds)


def overlap_summary(tracks: TrackSet, pairs: Rows) -> dict[str, Any]:
    """Return the number of pairs that share a frame, and the first of them, as plain values.

    Parameters
    ----------
    tracks : TrackSet
        The tracks.
    pairs : ndarray of int, shape (m, 2)
        Rows of the pairs that share a frame.
    """
    first = []
    for i, j in pairs[:_LISTED].tolist():
        time = _together_at(tracks, i, j)
        known = None if np.isnan(time) else round(time, 3)
        first.append({"tracks": [str(tracks.ids[i]), str(tracks.ids[j])], "time": known})
    return {"count": len(pairs), "pairs": first}


def _together_at(tracks: TrackSet, i: int, j: int) -> float:
    """Return the first time at which two tracks share a frame, in seconds."""
    faces, others = (slice(tracks.offsets[row], tracks.offsets[row + 1]) for row in (i, j))
    shared = np.isin(tracks.frame[faces], tracks.frame[others])
    return float(tracks.time[faces][shared].min())
