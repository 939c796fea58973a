"""Questions to a person, in the order in which answers settle the most tracks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from castlist.cast.evidence import (
    Facts,
    Groups,
    between,
    inside,
    likely_between,
    likely_inside,
    shared_frames,
)
from castlist.cast.state import State

Rows = NDArray[np.int64]
Pair = tuple[Rows, Rows]

#: Tracks of a strip.
SHOWN = 6
#: Doubts that one question asks about: one a number key.
DOUBTS = 9
#: Characters that tracks in doubt are compared with at once.
CHOICES = 4
#: Nothing is asked any more if fewer than so many of a question's doubts are expected to be wrong.
WORTH_ASKING = 0.4
#: Nobody is compared who is less likely the same person, or another, than that.
LEAST = 0.02
#: A character of more tracks is taken apart by so many of them, spread over it.
_MOST = 400
#: How many characters are looked at for parts that are somebody else.
_LOOSEST = 24
_BLOCK = 256  # characters compared with all others at once, so that memory stays small


@dataclass(frozen=True)
class Strip:
    """Some tracks of a character to look at.

    Attributes
    ----------
    character : int
        Its number.
    tracks : ndarray of int
        All of its tracks that the question is about.
    shown : ndarray of int
        The few that are looked at.
    """

    character: int
    tracks: Rows
    shown: Rows


@dataclass(frozen=True)
class Compared:
    """Who some tracks are: one of several characters, or somebody else.

    Attributes
    ----------
    other : Strip
        The tracks in doubt: a character, or a part of one.
    ones : tuple of Strip
        Who they may be, the likeliest first. Of a part, the first is the rest of its own character.
    likely : tuple of float
        How likely they are each of them.
    """

    other: Strip
    ones: tuple[Strip, ...]
    likely: tuple[float, ...]

    @property
    def inside(self) -> bool:
        """Whether they are with the first of them now."""
        return self.other.character == self.ones[0].character


@dataclass(frozen=True)
class Question:
    """Some doubts that are answered at once.

    Attributes
    ----------
    pairs : tuple of Compared
        Parts of characters come before whole ones: so that what a part is not is gone from a
        character before that is compared.
    settles : float
        Tracks that an answer is expected to settle.
    """

    pairs: tuple[Compared, ...]
    settles: float


def questions(
    points: NDArray[np.floating],
    facts: Facts,
    state: State,
    most: int = 20,
    skipped: Sequence[Pair] = (),
) -> list[Question]:
    """Return the questions worth asking now, best first.

    Nothing is asked that is hardly ever wrong; if all is, there are none.

    Parameters
    ----------
    points : ndarray of shape (n_tracks, dim)
        Embeddings.
    facts : Facts
        What else is known of the tracks.
    state : State
        Who is who, and what was said.
    most : int
        How many.
    skipped : sequence of pairs of arrays
        Tracks that are not to be compared now.
    """
    face = ~state.not_face
    face[list(mixed_tracks(state))] = False  # they are to be cut
    numbers, code = np.unique(state.owner[face], return_inverse=True)
    if not len(numbers):
        return []
    place = np.full(len(face), -1)
    place[face] = code
    ordered = np.flatnonzero(face)[np.argsort(code, kind="stable")]
    members = np.split(ordered, np.cumsum(np.bincount(code))[:-1])
    everybody = Groups.of(points, facts, place)
    shared = shared_frames(place, place, facts.overlaps, state.waived)
    likely = np.empty(shared.shape)
    for start in range(0, len(numbers), _BLOCK):
        block = slice(start, start + _BLOCK)
        likely[block] = likely_between(between(everybody.some(block), everybody, shared[block]))
    # Who two names were given to is not asked about: they are two people. Who has one name in two
    # videos is: it was given to both.
    names = np.array([state.names.get(number, "") for number in numbers.tolist()], np.str_)
    both = np.outer(names != "", names != "")
    likely[both] = np.where((names[:, None] == names[None, :])[both], likely[both].clip(0.9), 0)
    likely[_settled(state, place, len(numbers), skipped)] = 0
    # Who is several people is not compared with others before they come apart.
    mixed = [k for rows in state.mixed if (k := _only(place[rows])) is not None]
    likely[mixed], likely[:, mixed] = 0, 0
    np.fill_diagonal(likely, 0)
    checked = state.checked.copy()
    for one, other in skipped:
        checked[other[np.isin(state.owner[other], state.owner[one])]] = True
    parts = possible_splits(points, facts, members, everybody, checked, state.same, mixed)
    doubts = sorted([*parts, *possible_merges(likely, members)], key=lambda doubt: -doubt.settles)
    made = []
    for start in range(0, min(len(doubts), most * DOUBTS), DOUBTS):
        some = doubts[start : start + DOUBTS]
        if sum(doubt.wrong for doubt in some) < WORTH_ASKING:
            break
        some = _with_others(points, facts, state, some, place, everybody)
        made.append(_question(some, members, numbers, facts))
    return made


def _question(doubts: list[Doubt], members: list[Rows], numbers: Rows, facts: Facts) -> Question:
    """Show tracks in doubt, and whom they are compared with, without other parts in doubt."""
    parts = [doubt.rows for doubt in doubts if doubt.inside]
    apart = np.concatenate([members[0][:0], *parts])

    def strip(k: int, rows: Rows) -> Strip:
        return Strip(int(numbers[k]), rows, _spread(rows, facts.faces))

    def rest(k: int) -> Strip:
        return strip(k, np.setdiff1d(members[k], apart))

    # Those of one person stand together, those inside a character first.
    order = sorted(doubts, key=lambda doubt: (not doubt.inside, doubt.ones[0]))
    pairs = tuple(
        Compared(
            strip(doubt.place, doubt.rows) if doubt.inside else rest(doubt.place),
            tuple(rest(k) for k in doubt.ones),
            doubt.likely,
        )
        for doubt in order
    )
    return Question(pairs, sum(doubt.settles for doubt in doubts))


def _with_others(
    points: NDArray[np.floating],
    facts: Facts,
    state: State,
    doubts: list[Doubt],
    place: Rows,
    everybody: Groups,
) -> list[Doubt]:
    """Say of parts of characters who else they may be."""
    inside = [doubt for doubt in doubts if doubt.inside]
    if not inside or len(everybody.sizes) < 2:
        return doubts
    parts = np.full(len(place), -1)
    for k, doubt in enumerate(inside):
        parts[doubt.rows] = k
    shared = shared_frames(parts, place, facts.overlaps, state.waived)
    likely = likely_between(between(Groups.of(points, facts, parts), everybody, shared))
    own = np.array([doubt.place for doubt in inside])
    likely[np.arange(len(inside)), own] = -1
    best = np.argsort(-likely, axis=1, kind="stable")[:, : min(CHOICES, len(everybody.sizes)) - 1]
    found = []
    rows = iter(range(len(inside)))
    for doubt in doubts:
        if doubt.inside:
            k = next(rows)
            ones = best[k].tolist()
            chance = (*doubt.likely, *likely[k, ones].tolist())
            doubt = replace(doubt, ones=(doubt.place, *ones), likely=chance)
        found.append(doubt)
    return found


def mixed_tracks(state: State) -> set[int]:
    """Return the single tracks that show several people, as a person said, and are not cut yet."""
    return {int(rows[0]) for rows in state.mixed if len(rows) == 1}


def _settled(state: State, place: Rows, n: int, skipped: Sequence[Pair]) -> NDArray[np.bool_]:
    """Return which pairs of characters a person said to be two people, or skipped.

    Of a group that came apart since, that is said of the character where most of it is.
    """
    apart = np.zeros((n, n), bool)
    for pair in [*state.different, *skipped]:
        a, b = (_most(place[rows]) for rows in pair)
        if a is not None and b is not None and a != b:
            apart[a, b] = True
    return np.asarray(apart | apart.T)


def _only(places: Rows) -> int | None:
    """Return the character that all of some tracks are in."""
    return int(places[0]) if len(places) > 1 and places[0] >= 0 and np.ptp(places) == 0 else None


def _most(places: Rows) -> int | None:
    """Return the character that more than half of some tracks are in."""
    known, counts = np.unique(places[places >= 0], return_counts=True)
    best = int(counts.argmax()) if len(counts) else 0
    return int(known[best]) if len(known) and 2 * counts[best] > len(places) else None


def _spread(rows: Rows, quality: NDArray[np.floating]) -> Rows:
    """Choose a few tracks to look at: the best of each of several parts of the video."""
    parts = np.array_split(rows, min(SHOWN, len(rows)))
    return np.array([part[quality[part].argmax()] for part in parts])


@dataclass(frozen=True)
class Doubt:
    """Tracks that may be with the wrong people.

    Characters are given by their place among all, not by their number.

    Attributes
    ----------
    place : int
        The character they are in now.
    rows : ndarray of int
        Which: all of its tracks, or a part of them.
    ones : tuple of int
        Who they may be, the likeliest first. Of a part, the first is the rest of its own character.
    likely : tuple of float
        How likely they are each of them.
    wrong : float
        How likely they are with the wrong people now, and one of those is the right one.
    """

    place: int
    rows: Rows
    ones: tuple[int, ...]
    likely: tuple[float, ...]
    wrong: float

    @property
    def settles(self) -> float:
        """How many tracks are expected to come right if that is asked."""
        return self.wrong * len(self.rows)

    @property
    def inside(self) -> bool:
        """Whether it is a part of the character that it is compared with."""
        return self.ones[0] == self.place


def possible_merges(likely: NDArray[np.float64], members: list[Rows]) -> list[Doubt]:
    """Return the characters that may be the same person as a larger one, likeliest first.

    Parameters
    ----------
    likely : ndarray of shape (n, n)
        How likely every two characters are one person.
    members : list of n arrays
        Their tracks.
    """
    n = len(members)
    if n < 2:
        return []
    sizes = np.array([len(rows) for rows in members])
    rank = np.empty(n, np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(n)
    asked = (rank[None, :] < rank[:, None]) & (likely >= LEAST)
    larger = np.where(asked, likely, 0.0)
    best = np.argsort(-larger, axis=1, kind="stable")[:, :CHOICES]
    found = np.take_along_axis(larger, best, axis=1)
    made = []
    for k in np.flatnonzero(found[:, 0] > 0).tolist():
        known = found[k] > 0
        ones, chance = tuple(best[k][known].tolist()), tuple(found[k][known].tolist())
        made.append(Doubt(k, members[k], ones, chance, min(sum(chance), 1.0)))
    return made


def possible_splits(
    points: NDArray[np.floating],
    facts: Facts,
    members: list[Rows],
    everybody: Groups,
    checked: NDArray[np.bool_],
    compared: Sequence[tuple[Rows, Rows]],
    mixed: Sequence[int] = (),
) -> list[Doubt]:
    """Return the parts of the loosest characters that may be somebody else.

    None of the ``checked`` tracks is in them, and no part has most of one side of those that were
    ``compared``, and called one, but not of the other. Characters that a person called ``mixed``
    come apart for certain, and only where is asked. Of one character at most half of the tracks
    are in doubt at once, so that they are compared with most of it.
    """
    found = []
    several = [k for k in mixed if len(members[k]) > 1]
    for k in dict.fromkeys([*several, *_loosest(facts.looks, members, everybody)]):
        rows = members[k]
        parts = parts_of(facts.looks, rows)
        others = [np.delete(x, k, axis=0) for x in (everybody.towards, everybody.looks)]
        likely = likely_inside(inside(points, facts, rows, parts, others))
        sizes = parts.sum(axis=1)
        settles = (1 - likely) * sizes
        if k not in several:
            settles[1 - likely < LEAST] = 0
        settles[(parts & checked[rows]).any(axis=1)] = 0
        for sides in compared:
            mine = [np.isin(rows, side) for side in sides]
            if all(side.any() for side in mine):
                one, other = (2 * (parts & side).sum(axis=1) > side.sum() for side in mine)
                settles[one != other] = 0
        left = len(rows) // 2
        while settles.any():
            best = int(settles.argmax())
            left -= int(sizes[best])
            same = float(likely[best])
            wrong = 1.0 if k in several else 1 - same
            found.append(Doubt(k, rows[parts[best]], (k,), (same,), wrong))
            settles[(parts & parts[best]).any(axis=1) | (sizes > left)] = 0
    return found


def parts_of(looks: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
    """Return ways for a character to come apart: for each, which of its tracks come off.

    They are the clusters of average linkage that hold at most half of the tracks.
    """
    from scipy.cluster.hierarchy import linkage  # slow to load, and only questions need it

    if len(rows) < 2:
        return np.zeros((0, len(rows)), bool)
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST)).astype(int))
    n = len(some)
    parts = np.zeros((2 * n - 1, n), bool)
    parts[np.arange(n), np.arange(n)] = True
    for k, (a, b) in enumerate(linkage(looks[rows[some]], "average")[:, :2].astype(int)):
        parts[n + k] = parts[a] | parts[b]
    if n < len(rows):  # the others go with whom they resemble most
        parts = parts[:, (looks[rows] @ looks[rows[some]].T).argmax(axis=1)]
    sizes = parts.sum(axis=1)
    return np.asarray(parts[(sizes > 0) & (2 * sizes <= len(rows))])


def _loosest(looks: NDArray[np.floating], members: list[Rows], everybody: Groups) -> list[int]:
    """Return the characters with a track that is far from their mean: others do not come apart."""
    rows = np.concatenate(members)
    mean = np.repeat(everybody.looks, everybody.sizes, axis=0)
    fit = np.einsum("ij,ij->i", looks[rows], mean)
    worst = np.minimum.reduceat(fit, np.cumsum(everybody.sizes) - everybody.sizes)
    several = [k for k in np.argsort(worst, kind="stable").tolist() if len(members[k]) > 1]
    return several[:_LOOSEST]
