"""Characters of single videos as units: put together across videos, never taken apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from castlist.cast.balls import Balls
from castlist.cast.current import CurrentCast
from castlist.cast.shared_frames import not_waived
from castlist.cluster.linkage import Linkage, complete_linkage

Rows = NDArray[np.int64]
#: :func:`complete_linkage`, here or on other machines.
Link = Callable[..., Linkage]

#: Of so many tracks the middle of a character is sure: another of the same person is near it,
#: within this share of τ. (Chosen on validation: `benchmarks/bench_join.py --choose`.)
SURE, NEAR = 8, 0.6
_BLOCK = 1024  # rows of distances at a time


@dataclass(frozen=True)
class Conflict:
    """Two characters whose names say otherwise than their faces: for a person to decide.

    Attributes
    ----------
    names : tuple of str
        What the two are called.
    numbers : tuple of int
        Their characters in the joined cast.
    """

    names: tuple[str, str]
    numbers: tuple[int, int]

    def __str__(self) -> str:
        one, other = self.numbers
        if self.names[0] == self.names[1]:
            return f"{one} and {other} are both called {self.names[0]}, and do not look alike"
        return f"{one} and {other} look alike, and are called {' and '.join(self.names)}"


@dataclass(frozen=True)
class Units:
    """The characters of some videos.

    Attributes
    ----------
    of_track : ndarray of int, shape (n_tracks,)
        The unit of each track.
    names : list of str
        What each is called, if it is.
    video : list of int
        Which video each is of.
    balls : Balls
        Where each is.
    cannot : ndarray of int, shape (m, 2)
        Units that are two people: they share a frame, or somebody said so.
    """

    of_track: Rows
    names: list[str]
    video: list[int]
    balls: Balls
    cannot: Rows

    def by_size(self) -> list[int]:
        """Return the units, those of the most tracks first."""
        sizes = np.bincount(self.of_track, minlength=len(self.names))
        return [int(unit) for unit in np.argsort(-sizes, kind="stable")]

    def apart(self) -> dict[int, set[int]]:
        """Return for each unit those that it is kept apart from."""
        found: dict[int, set[int]] = {}
        for one, other in self.cannot.tolist():
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
        return found


def units_of(casts: Sequence[CurrentCast], points: Sequence[NDArray[np.float32]]) -> Units:
    """Take the characters of some videos as they are, with what was corrected."""
    of_track, faces, names, cannot = [], [], [], []
    video: list[int] = []
    count = 0
    for film, cast in enumerate(casts):
        state = cast.state
        numbers, code = np.unique(state.owner, return_inverse=True)
        unit = code + count
        names += [state.names.get(number, "") for number in numbers.tolist()]
        video += [film] * len(numbers)
        said = [(int(a[0]), int(b[0])) for a, b in state.two_people()]
        apart = np.concatenate(
            [not_waived(cast.overlaps, state.waived), np.array(said, np.int64).reshape(-1, 2)]
        )
        pairs = unit[apart[~state.not_face[apart].any(axis=1)]]
        cannot.append(pairs[pairs[:, 0] != pairs[:, 1]])
        of_track.append(unit)
        faces.append(~state.not_face)
        count += len(numbers)
    empty = np.empty((0, 2), np.int64)
    whole = np.concatenate(of_track) if of_track else np.empty(0, np.int64)
    some = [x for x in points if len(x)]
    where = np.concatenate(some) if some else np.empty((0, 0), np.float32)
    face = np.concatenate(faces) if faces else np.empty(0, bool)
    return Units(
        whole, names, video, Balls.of(where, np.where(face, whole, -1)),
        np.unique(np.sort(np.concatenate([empty, *cannot]), axis=1), axis=0),
    )  # fmt: skip


def two_names(names: Sequence[str]) -> Rows:
    """Return the pairs of units that are called differently."""
    called = np.array(names, np.str_)
    named = np.flatnonzero(called != "")
    i, j = np.triu_indices(len(named), 1)
    differ = called[named[i]] != called[named[j]]
    return np.stack([named[i[differ]], named[j[differ]]], axis=1)


def surely_two(balls: Balls, threshold: float) -> Rows:
    """Return the pairs of balls of many tracks that are not near, though within τ."""
    sure = np.flatnonzero(balls.sizes >= SURE)
    middles, pairs = balls.middles[sure], [np.empty((0, 2), np.int64)]
    for start in range(0, len(sure), _BLOCK):
        far = 2 - 2 * middles[start : start + _BLOCK] @ middles.T
        i, j = np.nonzero((far > NEAR * threshold) & (far <= threshold))
        pairs.append(np.stack([i + start, j], axis=1)[i + start < j])
    return sure[np.concatenate(pairs)]


def put_together(units: Units, threshold: float, link: Link = complete_linkage) -> Rows:
    """Return the group of each unit: complete linkage of their balls' middles at τ.

    Who has another name, or two of many tracks that are not near, are not put together; and who is
    kept apart from a larger one of a group leaves it. (If that were a cannot-link, one stray track
    could keep a lead from its own.)
    """
    rows = units.balls.numbers  # units that have a face
    place = np.full(len(units.names), -1)
    place[rows] = np.arange(len(rows))
    names = place[two_names(units.names)]
    groups = np.full(len(units.names), -1)
    if len(rows):
        two = np.concatenate([names[(names >= 0).all(axis=1)], surely_two(units.balls, threshold)])
        made = link(units.balls.middles, threshold, cannot_link=two)
        groups[rows] = made.labels
    apart = units.apart()
    last = int(groups.max(initial=-1))
    kept: dict[int, set[int]] = {}
    for unit in units.by_size():
        group = int(groups[unit])
        if group < 0 or apart.get(unit, set()) & kept.get(group, set()):
            last += 1
            group = groups[unit] = last
        kept.setdefault(int(group), set()).add(unit)
    return groups


def place_units(
    units: Units, balls: Balls, threshold: float, first: int
) -> tuple[Rows, list[Conflict]]:
    """Return the character of each unit: that of the ball it belongs to, or a new one.

    That is the largest ball whose radius b = τ / 4 reaches it, or the nearest within τ (if both
    have many tracks, near it). New ones are numbered from ``first``. The largest units choose
    first. Who is kept apart from somebody in a ball, or has another name, does not go into it.
    """
    place = np.zeros(len(units.names), np.int64)
    conflicts = []
    next_number = first
    row = {unit: k for k, unit in enumerate(units.balls.numbers.tolist())}
    homes, far = balls.homes(units.balls.middles, threshold / 4)
    apart = units.apart()
    called = dict(zip(balls.names.tolist(), balls.numbers.tolist(), strict=True))
    for unit in units.by_size():
        if unit not in row:  # no face among its tracks
            place[unit], next_number = next_number, next_number + 1
            continue
        k, name = row[unit], units.names[unit]
        ball = int(homes[k])
        sure = min(units.balls.sizes[k], balls.sizes[ball]) >= SURE
        reach = threshold * NEAR if sure else threshold
        number = int(balls.numbers[ball]) if far[k] <= reach else 0
        theirs = str(balls.names[ball]) if number else ""
        if number and name and theirs and name != theirs:
            conflicts.append(Conflict((theirs, name), (number, next_number)))
            number = 0
        if number and any(place[other] == number for other in apart.get(unit, ())):
            number = 0
        if not number:
            number, next_number = next_number, next_number + 1
        place[unit] = number
        if name and called.get(name, number) != number:
            conflicts.append(Conflict((name, name), (called[name], number)))
    return place, conflicts


def conflicts_of(units: Units, place: Rows, threshold: float) -> list[Conflict]:
    """Find named units of two videos where names say otherwise than faces.

    Of one video, a person who gave two names saw both.
    """
    middles = dict(zip(units.balls.numbers.tolist(), units.balls.middles, strict=True))
    named = sorted((k for k in middles if units.names[k]), key=lambda k: int(place[k]))
    found: dict[tuple[int, int], Conflict] = {}
    for a, b in combinations(named, 2):
        numbers = int(place[a]), int(place[b])
        if numbers[0] == numbers[1] or units.video[a] == units.video[b]:
            continue
        names = units.names[a], units.names[b]
        if names[0] == names[1] or 2 - 2 * float(middles[a] @ middles[b]) <= threshold:
            found.setdefault(numbers, Conflict(names, numbers))
    return list(found.values())
