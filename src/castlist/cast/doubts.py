"""What may be wrong in a cast: characters that are one person, and parts that are another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from castlist.cast.evidence import Facts, Groups, inside, likely_inside

Rows = NDArray[np.int64]

#: Others that one question compares with somebody: one a number key.
CANDIDATES = 9
#: A character of more tracks is taken apart by so many of them, spread over it.
_MOST = 400
#: How many characters are looked at for parts that are somebody else.
_LOOSEST = 24
# What an answer is worth, chosen on recast validation. Leads come first: pieces count by how far
# the larger is beyond so many tracks. And somebody who is there twice is worse than a track among
# hundreds that is not theirs: that counts so little.
_A_LEAD = 10
_A_STRAY = 0.035


@dataclass(frozen=True)
class Doubt:
    """Tracks that may be with the wrong people.

    Attributes
    ----------
    character : int
        Where they are now.
    rows : ndarray of int
        Which.
    likely : float
        How likely they are the same person as somebody.
    settles : float
        How many tracks are expected to come right if that is asked.
    worth : float
        The same, of leads more than of others: by this, questions are ordered.
    """

    character: int
    rows: Rows
    likely: float
    settles: float
    worth: float


def may_be_one(
    likely: NDArray[np.float64], members: list[Rows], numbers: Rows
) -> list[list[Doubt]]:
    """Return for each character who else may be the same person."""
    sizes = np.array([len(rows) for rows in members])
    larger = np.maximum.outer(sizes, sizes)
    settles = likely * np.minimum.outer(sizes, sizes)
    # Of those that are larger, at most one is right.
    above = sizes[None, :] > sizes[:, None]
    settles /= np.where(above, np.maximum((likely * above).sum(axis=1, keepdims=True), 1), 1)
    worth = settles * larger / (larger + _A_LEAD)
    best = np.argsort(-worth, axis=1, kind="stable")[:, :CANDIDATES]
    return [
        [
            Doubt(int(numbers[j]), members[j], *(float(x[k, j]) for x in (likely, settles, worth)))
            for j in best[k].tolist()
            if likely[k, j] > 0
        ]
        for k in range(len(numbers))
    ]


def may_be_two(
    points: NDArray[np.floating],
    facts: Facts,
    members: list[Rows],
    numbers: Rows,
    everybody: Groups,
    checked: NDArray[np.bool_],
    compared: Sequence[tuple[Rows, Rows]],
    mixed: Sequence[int] = (),
) -> dict[int, list[Doubt]]:
    """Return for the loosest characters the parts of them that may be somebody else.

    None of the ``checked`` tracks is in them, and no part has most of one side of those that were
    ``compared``, and called one, but not of the other. Characters that a person called ``mixed``
    are looked at first: that they come apart is certain, and only where is asked.
    """
    found = {}
    several = [k for k in mixed if len(members[k]) > 1]
    for k in dict.fromkeys([*several, *_loosest(facts.looks, members, everybody)]):
        rows = members[k]
        parts = parts_of(facts.looks, rows)
        others = [np.delete(x, k, axis=0) for x in (everybody.towards, everybody.looks)]
        likely = likely_inside(inside(points, facts, rows, parts, others))
        settles = (1 - likely) * parts.sum(axis=1)
        settles[(parts & checked[rows]).any(axis=1)] = 0
        for sides in compared:
            mine = [np.isin(rows, side) for side in sides]
            if all(side.any() for side in mine):
                one, other = (2 * (parts & side).sum(axis=1) > side.sum() for side in mine)
                settles[one != other] = 0
        chosen = []
        for _ in range(CANDIDATES):
            if not settles.any():
                break
            best = int(settles.argmax())
            tracks = float(settles[best])
            chosen.append(
                Doubt(int(numbers[k]), rows[parts[best]], float(likely[best]), tracks,
                      tracks if k in several else _A_STRAY * tracks)
            )  # fmt: skip
            settles[(parts & parts[best]).any(axis=1)] = 0
        found[k] = chosen
    return found


def parts_of(looks: NDArray[np.floating], rows: Rows) -> NDArray[np.bool_]:
    """Return ways for a character to come apart: for each, which of its tracks come off.

    They are the clusters of average linkage that hold at most half of the tracks.
    """
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
