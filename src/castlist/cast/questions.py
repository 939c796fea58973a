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

#: Number of tracks that a strip shows.
SHOWN = 6
#: Doubts per question: one per number key.
DOUBTS = 9
#: Number of characters that tracks in doubt are compared with.
CHOICES = 4
#: A question is asked only if at least this number of its doubts is expected to be wrong.
WORTH_ASKING = 0.4
#: Least probability at which characters are compared, or parts of one doubted.
LEAST = 0.02
#: Maximum number of tracks by which a character is divided into parts, spread over it.
_MOST = 400
#: Number of characters that are examined for parts that may be another person.
_LOOSEST = 24
_BLOCK = 256  # characters compared with all others per step, to bound memory


@dataclass(frozen=True)
class Strip:
    """Tracks of a character that a question shows.

    Attributes
    ----------
    character : int
        Its id.
    tracks : ndarray of int
        All of its tracks that the question is about.
    shown : ndarray of int
        The few that are shown.
    """

    character: int
    tracks: Rows
    shown: Rows


@dataclass(frozen=True)
class Compared:
    """Tracks in doubt, and the characters that they may belong to.

    Attributes
    ----------
    other : Strip
        The tracks in doubt: a character, or a part of one.
    ones : tuple of Strip
        The candidates, most likely first. For a part, the first is the rest of its own character.
    likely : tuple of float
        The probability of each candidate.
    """

    other: Strip
    ones: tuple[Strip, ...]
    likely: tuple[float, ...]

    @property
    def inside(self) -> bool:
        """Whether the tracks belong to the first candidate now."""
        return self.other.character == self.ones[0].character


@dataclass(frozen=True)
class Question:
    """Doubts that are answered together.

    Attributes
    ----------
    pairs : tuple of Compared
        The doubts. Parts of characters come before whole ones, so that wrong parts have left a
        character before it is compared.
    settles : float
        Number of tracks that an answer is expected to correct.
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
    """Return the questions that are worth asking, the most useful first.

    Questions whose doubts are hardly ever justified are left out, so there may be none.

    Parameters
    ----------
    points : ndarray of shape (n_tracks, dim)
        Embeddings.
    facts : Facts
        Other facts about the tracks.
    state : State
        The characters and corrections.
    most : int
        Maximum number of questions.
    skipped : sequence of pairs of arrays
        Groups of tracks that are not compared.
    """
    face = ~state.not_face
    face[list(mixed_tracks(state))] = False  # they have to be cut first
    numbers, code = np.unique(state.owner[face], return_inverse=True)
    if not len(numbers):
        return []
    place = np.full(len(face), -1)
    place[face] = code
    ordered = np.flatnonzero(face)[np.argsort(code, kind="stable")]
    members = np.split(ordered, np.cumsum(np.bincount(code))[:-1])
    everyone = Groups.of(points, facts, place)
    shared = shared_frames(place, place, facts.overlaps, state.waived)
    likely = np.empty(shared.shape)
    for start in range(0, len(numbers), _BLOCK):
        block = slice(start, start + _BLOCK)
        likely[block] = likely_between(between(everyone.some(block), everyone, shared[block]))
    # Characters with different names are two people, and not compared. Characters with the same
    # name in two videos are compared however different they look.
    names = np.array([state.names.get(number, "") for number in numbers.tolist()], np.str_)
    both = np.outer(names != "", names != "")
    likely[both] = np.where((names[:, None] == names[None, :])[both], likely[both].clip(0.9), 0)
    likely[_settled(state, place, len(numbers), skipped)] = 0
    # Characters that are several people are divided before they are compared with others.
    mixed = [k for rows in state.mixed if (k := _only(place[rows])) is not None]
    likely[mixed], likely[:, mixed] = 0, 0
    np.fill_diagonal(likely, 0)
    checked = state.checked.copy()
    for one, other in skipped:
        checked[other[np.isin(state.owner[other], state.owner[one])]] = True
    parts = possible_splits(points, facts, members, everyone, checked, state.same, mixed)
    doubts = sorted([*parts, *possible_merges(likely, members)], key=lambda doubt: -doubt.settles)
    made = []
    for start in range(0, min(len(doubts), most * DOUBTS), DOUBTS):
        some = doubts[start : start + DOUBTS]
        if sum(doubt.wrong for doubt in some) < WORTH_ASKING:
            break
        some = _with_others(points, facts, state, some, place, everyone)
        made.append(_question(some, members, numbers, facts))
    return made


def _question(doubts: list[Doubt], members: list[Rows], numbers: Rows, facts: Facts) -> Question:
    """Return the question of some doubts; strips show no other parts in doubt."""
    parts = [doubt.rows for doubt in doubts if doubt.inside]
    apart = np.concatenate([members[0][:0], *parts])

    def strip(k: int, rows: Rows) -> Strip:
        return Strip(int(numbers[k]), rows, _spread(rows, facts.faces))

    def rest(k: int) -> Strip:
        return strip(k, np.setdiff1d(members[k], apart))

    # Doubts about one character are adjacent, and parts come first.
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
    everyone: Groups,
) -> list[Doubt]:
    """Return the doubts, with other candidates for those that are parts of a character."""
    inside = [doubt for doubt in doubts if doubt.inside]
    if not inside or len(everyone.sizes) < 2:
        return doubts
    parts = np.full(len(place), -1)
    for k, doubt in enumerate(inside):
        parts[doubt.rows] = k
    shared = shared_frames(parts, place, facts.overlaps, state.waived)
    likely = likely_between(between(Groups.of(points, facts, parts), everyone, shared))
    own = np.array([doubt.place for doubt in inside])
    likely[np.arange(len(inside)), own] = -1
    best = np.argsort(-likely, axis=1, kind="stable")[:, : min(CHOICES, len(everyone.sizes)) - 1]
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
    """Return the single tracks that were marked as several people and are not cut yet."""
    return {int(rows[0]) for rows in state.mixed if len(rows) == 1}


def _settled(state: State, place: Rows, n: int, skipped: Sequence[Pair]) -> NDArray[np.bool_]:
    """Return which pairs of characters were marked as different, or skipped.

    For a group that was divided since, the character with most of its tracks counts.
    """
    apart = np.zeros((n, n), bool)
    for pair in [*state.different, *skipped]:
        a, b = (_most(place[rows]) for rows in pair)
        if a is not None and b is not None and a != b:
            apart[a, b] = True
    return np.asarray(apart | apart.T)


def _only(places: Rows) -> int | None:
    """Return the character that all of several tracks are in; None if there is none."""
    return int(places[0]) if len(places) > 1 and places[0] >= 0 and np.ptp(places) == 0 else None


def _most(places: Rows) -> int | None:
    """Return the character that more than half of the tracks are in; None if there is none."""
    known, counts = np.unique(places[places >= 0], return_counts=True)
    best = int(counts.argmax()) if len(counts) else 0
    return int(known[best]) if len(known) and 2 * counts[best] > len(places) else None


def _spread(rows: Rows, quality: NDArray[np.floating]) -> Rows:
    """Return a few tracks to show: the best of each of several parts of the video."""
    parts = np.array_split(rows, min(SHOWN, len(rows)))
    return np.array([part[quality[part].argmax()] for part in parts])


@dataclass(frozen=True)
class Doubt:
    """Tracks that may be in the wrong character.

    Characters are given by position, not by id.

    Attributes
    ----------
    place : int
        The character they are in now.
    rows : ndarray of int
        The tracks: all of the character, or a part of it.
    ones : tuple of int
        The candidates, most likely first. For a part, the first is the rest of its own character.
    likely : tuple of float
        The probability of each candidate.
    wrong : float
        The probability that they are in the wrong character now, and belong to a candidate.
    """

    place: int
    rows: Rows
    ones: tuple[int, ...]
    likely: tuple[float, ...]
    wrong: float

    @property
    def settles(self) -> float:
        """Number of tracks that an answer is expected to correct."""
        return self.wrong * len(self.rows)

    @property
    def inside(self) -> bool:
        """Whether it is a part of the first candidate."""
        return self.ones[0] == self.place


def possible_merges(likely: NDArray[np.float64], members: list[Rows]) -> list[Doubt]:
    """Return the characters that may be the same person as a larger one.

    Parameters
    ----------
    likely : ndarray of shape (n, n)
        The probability that each pair of characters is one person.
    members : list of n arrays
        The tracks of each character.
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
    everyone: Groups,
    checked: NDArray[np.bool_],
    compared: Sequence[tuple[Rows, Rows]],
    mixed: Sequence[int] = (),
) -> list[Doubt]:
    """Return the parts of the least coherent characters that may be another person.

    Parts contain no ``checked`` tracks, and do not separate groups that were ``compared`` and found
    to be one person. Characters marked as ``mixed`` are certainly several people; the question is
    only which parts. At most half of the tracks of a character are in doubt at once, so that they
    are compared with most of it.
    """
    found = []
    several = [k for k in mixed if len(members[k]) > 1]
    for k in dict.fromkeys([*several, *_loosest(facts.mean_features, members, everyone)]):
        rows = members[k]
        parts = parts_of(facts.mean_features, rows)
        others = [
            np.delete(x, k, axis=0) for x in (everyone.mean_embeddings, everyone.mean_features)
        ]
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


def parts_of(mean_features: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
    """Return the parts into which a character may be divided, as masks of its tracks.

    They are the clusters of average linkage with at most half of the tracks.
    """
    from scipy.cluster.hierarchy import linkage  # slow to import, and only needed for questions

    if len(rows) < 2:
        return np.zeros((0, len(rows)), bool)
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST)).astype(int))
    n = len(some)
    parts = np.zeros((2 * n - 1, n), bool)
    parts[np.arange(n), np.arange(n)] = True
    for k, (a, b) in enumerate(linkage(mean_features[rows[some]], "average")[:, :2].astype(int)):
        parts[n + k] = parts[a] | parts[b]
    if n < len(rows):  # the others follow the most similar of these
        parts = parts[:, (mean_features[rows] @ mean_features[rows[some]].T).argmax(axis=1)]
    sizes = parts.sum(axis=1)
    return np.asarray(parts[(sizes > 0) & (2 * sizes <= len(rows))])


def _loosest(
    mean_features: NDArray[np.floating], members: list[Rows], everyone: Groups
) -> list[int]:
    """Return the characters with the track farthest from their mean: others are coherent."""
    rows = np.concatenate(members)
    mean = np.repeat(everyone.mean_features, everyone.sizes, axis=0)
    fit = np.einsum("ij,ij->i", mean_features[rows], mean)
    worst = np.minimum.reduceat(fit, np.cumsum(everyone.sizes) - everyone.sizes)
    several = [k for k in np.argsort(worst, kind="stable").tolist() if len(members[k]) > 1]
    return several[:_LOOSEST]
