"""Questions to a person, in the order in which answers settle the most tracks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.special import expit

from castlist.cast.replay import State
from castlist.cluster.linkage import labels_after

Rows = NDArray[np.int64]

#: Characters that one question compares with another.
CANDIDATES = 6
#: Tracks of a strip.
SHOWN = 6
#: A character of more tracks is looked at by so many of them, spread over it.
_MOST = 400

# How likely two characters are one person: weights of the evidence, and where it begins. Fitted on
# recast validation (benchmarks/bench_review.py --fit).
_WEIGHTS, _ODDS = np.array([8.2, -1.1, 0.45, -1.7]), -6.4
# How likely two parts of one character are one person, fitted alike: of the cosine of their mean
# features, and the logarithms of how many tracks the smaller and the larger have.
_INSIDE, _ODDS_INSIDE = np.array([11.3, -1.1, 0.5]), -3.6
#: Ways for a character to come apart that are looked at, and for how many characters.
_WAYS, _LOOSEST = 8, 24


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
    """Whether somebody is the same person as one of several others.

    Attributes
    ----------
    mixed : bool
        Whether both are in one character now, which may be two people.
    one : Strip
        Who.
    others : tuple of Strip
        Whom it may be the same as, the likeliest first.
    likely : tuple of float
        How likely each is the same person.
    settles : float
        Tracks that an answer is expected to settle.
    """

    mixed: bool
    one: Strip
    others: tuple[Strip, ...]
    likely: tuple[float, ...]
    settles: float


def questions(
    points: NDArray[np.floating],
    looks: NDArray[np.floating],
    state: State,
    overlaps: Rows,
    quality: NDArray[np.floating],
    most: int = 20,
) -> list[Question]:
    """Return the questions worth asking now, best first.

    Parameters
    ----------
    points : ndarray of shape (n_tracks, dim)
        Embeddings.
    looks : ndarray of shape (n_tracks, dim)
        Mean features of unit length: embeddings of tracks that were clustered together are alike,
        and say less of whether they should have been.
    state : State
        Who is who, and what was said.
    overlaps : ndarray of shape (m, 2)
        Tracks that share a frame.
    quality : ndarray of shape (n_tracks,)
        Which tracks are better to look at.
    most : int
        How many.
    """
    face = ~state.not_face
    numbers, code = np.unique(state.owner[face], return_inverse=True)
    if not len(numbers):
        return []
    place = np.full(len(face), -1)
    place[face] = code
    strips = []
    for k, number in enumerate(numbers.tolist()):
        own = np.flatnonzero(place == k)
        strips.append(Strip(number, own, _spread(own, quality)))
    asked = _between(points, state, overlaps, place, strips, most)
    for strip in _loosest(looks, strips):
        asked += _inside(looks, state, strip, quality)
    return sorted(asked, key=lambda q: -q.settles)[:most]


def evidence(
    points: NDArray[np.floating], rows: list[Rows], shared: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return what speaks for every two characters being one person.

    The cosine of their mean embeddings, the logarithms of how many tracks the smaller and the
    larger have, and of one plus how many pairs of them share a frame.
    """
    sizes = np.log([len(own) for own in rows])
    means = np.stack([points[own].mean(axis=0) for own in rows])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    smaller, larger = np.minimum.outer(sizes, sizes), np.maximum.outer(sizes, sizes)
    return np.stack([means @ means.T, smaller, larger, np.log1p(shared)], axis=-1)


def come_apart(
    looks: NDArray[np.floating], rows: Rows, known: Callable[[Rows, Rows], bool] | None = None
) -> list[tuple[Rows, Rows, float]]:
    """Return ways for a character to come apart: a part, the rest, and the cosine of their means.

    The parts are those of average linkage before its last merges, farther and farther back until
    there are enough that are not ``known`` to be one person.
    """
    if len(rows) < 2:
        return []
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MOST)).astype(int))]
    tree = linkage(looks[some], "average")
    ways: dict[bytes, tuple[Rows, Rows, float]] = {}
    for count in range(2, len(some) + 1):
        if len(ways) >= _WAYS:
            break
        part = labels_after(tree, len(some), len(some) - count)
        means = np.stack([looks[some[part == k]].mean(axis=0) for k in range(count)])
        nearest = (looks[rows] @ means.T).argmax(axis=1) if len(some) < len(rows) else part
        for k in range(len(means)):
            inside = nearest == k
            if inside.any() and 2 * inside.sum() <= len(rows):
                key = inside.tobytes()
                if key in ways or (known is not None and known(rows[inside], rows[~inside])):
                    continue
                a, b = looks[rows[inside]].mean(axis=0), looks[rows[~inside]].mean(axis=0)
                cosine = float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-9))
                ways[key] = rows[inside], rows[~inside], cosine
    return list(ways.values())


def shared_frames(place: Rows, overlaps: Rows, waived: set[tuple[int, int]]) -> NDArray[np.int64]:
    """Count the pairs of tracks of every two characters that share a frame and are not waived."""
    n = int(place.max()) + 1
    counts = np.zeros((n, n), np.int64)
    if waived:
        overlaps = np.array([p for p in overlaps.tolist() if tuple(p) not in waived], np.int64)
    a, b = place[overlaps.reshape(-1, 2)].T
    known = (a >= 0) & (b >= 0)
    np.add.at(counts, (a[known], b[known]), 1)
    return np.asarray(counts + counts.T)


def _between(
    points: NDArray[np.floating],
    state: State,
    overlaps: Rows,
    place: Rows,
    strips: list[Strip],
    most: int,
) -> list[Question]:
    """Ask whose tracks a smaller character's are, of those that are larger."""
    n = len(strips)
    shared = shared_frames(place, overlaps, state.waived)
    told = evidence(points, [strip.tracks for strip in strips], shared)
    likely = expit(told @ _WEIGHTS + _ODDS)
    likely[_settled(state, place, n)] = 0
    # Who two names were given to is not asked about: they are two people.
    named = np.array([bool(state.names.get(strip.character)) for strip in strips])
    likely[np.outer(named, named)] = 0
    sizes = np.array([len(strip.tracks) for strip in strips])
    rank = np.lexsort((np.arange(n), -sizes)).argsort()
    likely[rank[:, None] <= rank[None, :]] = 0  # only those before it, by size
    # The likeliest of all, of whom at most one is right.
    best = np.argsort(-likely, axis=1, kind="stable")[:, :CANDIDATES]
    chance = np.take_along_axis(likely, best, axis=1)
    settles = np.minimum(chance.sum(axis=1), 1.0) * sizes
    asked = []
    for k in np.argsort(-settles, kind="stable")[:most].tolist():
        others = best[k][chance[k] > 0].tolist()
        if others:
            some = tuple(chance[k][chance[k] > 0].tolist())
            candidates = tuple(strips[j] for j in others)
            asked.append(Question(False, strips[k], candidates, some, float(settles[k])))
    return asked


def _inside(
    looks: NDArray[np.floating], state: State, strip: Strip, quality: NDArray[np.floating]
) -> list[Question]:
    """Ask whether a character is two people."""
    asked = []
    ways = come_apart(looks, strip.tracks, lambda one, rest: _said_same(state, one, rest))
    for one, rest, cosine in ways:
        told = np.array([cosine, np.log(len(one)), np.log(len(rest))])
        likely = float(expit(told @ _INSIDE + _ODDS_INSIDE))
        parts = [Strip(strip.character, part, _spread(part, quality)) for part in (one, rest)]
        settles = (1 - likely) * len(one)
        asked.append(Question(True, parts[0], (parts[1],), (likely,), settles))
    return sorted(asked, key=lambda q: -q.settles)[:1]


def _loosest(looks: NDArray[np.floating], strips: list[Strip]) -> list[Strip]:
    """Return the characters with a track that is far from their mean: others do not come apart."""
    worst = []
    for strip in strips:
        own = looks[strip.tracks]
        mean = own.mean(axis=0)
        norms = np.linalg.norm(own, axis=1) * np.linalg.norm(mean)
        worst.append(float((own @ mean / np.maximum(norms, 1e-9)).min()))
    return [strips[k] for k in np.argsort(worst, kind="stable")[:_LOOSEST].tolist()]


def _said_same(state: State, one: Rows, rest: Rows) -> bool:
    """Say whether a person said that tracks of both parts are one."""
    return any(np.isin(one, rows).any() and np.isin(rest, rows).any() for rows in state.compared)


def _settled(state: State, place: Rows, n: int) -> NDArray[np.bool_]:
    """Return which pairs of characters a person said to be two people."""
    apart = np.zeros((n, n), bool)
    for a, b in state.two_people():
        apart[place[a[0]], place[b[0]]] = True
    return np.asarray(apart | apart.T)


def _spread(rows: Rows, quality: NDArray[np.floating]) -> Rows:
    """Choose a few tracks to look at: the best of each of several parts of the video."""
    parts = np.array_split(rows, min(SHOWN, len(rows)))
    return np.array([part[quality[part].argmax()] for part in parts])
