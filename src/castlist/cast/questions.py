"""Questions to a person, in the order in which answers settle the most tracks, of leads first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from castlist.cast.doubts import CANDIDATES, Doubt, may_be_one, may_be_two
from castlist.cast.evidence import Facts, Groups, between, likely_between, shared_frames
from castlist.cast.state import State

Rows = NDArray[np.int64]
Pair = tuple[Rows, Rows]

#: Tracks of a strip.
SHOWN = 6
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
class Question:
    """Which of several others are the same person as somebody.

    Attributes
    ----------
    one : Strip
        Who.
    others : tuple of Strip
        Those it may be: other characters, or parts of its own that may be somebody else. Those
        first where an answer settles the most.
    instead : tuple of Strip or None
        Of a part of its own: who it is likeliest if it is not.
    likely : tuple of float
        How likely each is the same person.
    settles : float
        Tracks that an answer is expected to settle.
    """

    one: Strip
    others: tuple[Strip, ...]
    instead: tuple[Strip | None, ...]
    likely: tuple[float, ...]
    settles: float


def questions(
    points: NDArray[np.floating],
    facts: Facts,
    state: State,
    most: int = 20,
    skipped: Sequence[Pair] = (),
) -> list[Question]:
    """Return the questions worth asking now, best first.

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
    doubts = may_be_one(likely, members, numbers)
    checked = state.checked.copy()
    for one, other in skipped:
        checked[other[np.isin(state.owner[other], state.owner[one])]] = True
    told = checked, state.same, mixed
    for k, found in may_be_two(points, facts, members, numbers, everybody, *told).items():
        doubts[k] += found
    chosen = [sorted(some, key=lambda doubt: -doubt.worth)[:CANDIDATES] for some in doubts]
    worth = np.array([sum(doubt.worth for doubt in some) for some in chosen])
    made: list[Question] = []
    asked: set[tuple[int, int]] = set()  # nothing is asked twice, from both sides
    for k in np.argsort(-worth, kind="stable").tolist():
        me = int(numbers[k])
        new = [doubt for doubt in chosen[k] if (doubt.character, me) not in asked]
        if new and len(made) < most:
            made.append(_question(me, members[k], new, facts))
            asked |= {(me, doubt.character) for doubt in new if doubt.character != me}
    return [_with_instead(points, facts, state, one, place, numbers, everybody) for one in made]


def _question(number: int, rows: Rows, chosen: list[Doubt], facts: Facts) -> Question:
    """Show somebody without the parts that are in doubt, and whom they are compared with."""
    apart = [doubt.rows for doubt in chosen if doubt.character == number]
    rest = np.setdiff1d(rows, np.concatenate([rows[:0], *apart]))
    if not len(rest):  # all of it is in doubt: compare the first part with the others
        first = max(apart, key=len)
        rest = first
        chosen = [doubt for doubt in chosen if doubt.rows is not first]
    return Question(
        Strip(number, rest, _spread(rest, facts.faces)),
        tuple(Strip(d.character, d.rows, _spread(d.rows, facts.faces)) for d in chosen),
        (None,) * len(chosen),
        tuple(doubt.likely for doubt in chosen),
        sum(doubt.settles for doubt in chosen),
    )


def _with_instead(
    points: NDArray[np.floating],
    facts: Facts,
    state: State,
    question: Question,
    place: Rows,
    numbers: Rows,
    everybody: Groups,
) -> Question:
    """Say of parts of somebody who else they are likeliest."""
    me = question.one.character
    within = [i for i, other in enumerate(question.others) if other.character == me]
    if not within or len(numbers) < 2:
        return question
    parts = np.full(len(place), -1)
    for k, i in enumerate(within):
        parts[question.others[i].tracks] = k
    shared = shared_frames(parts, place, facts.overlaps, state.waived)
    likely = likely_between(between(Groups.of(points, facts, parts), everybody, shared))
    likely[:, numbers == me] = -1
    instead: list[Strip | None] = [None] * len(question.others)
    for i, k in zip(within, likely.argmax(axis=1).tolist(), strict=True):
        rows = np.flatnonzero(place == k)
        instead[i] = Strip(int(numbers[k]), rows, _spread(rows, facts.faces))
    return replace(question, instead=tuple(instead))


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
