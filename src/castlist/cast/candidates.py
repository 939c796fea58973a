"""What may be wrong in a cast: characters that are one person, and parts that are another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.cast.evidence import Facts, Groups, inside, likely_inside

Rows = NDArray[np.int64]

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


def may_be_one(likely: NDArray[np.float64], members: list[Rows]) -> list[Doubt]:
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


def may_be_two(
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
