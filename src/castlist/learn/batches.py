"""What training sees: an identity-disjoint split, then uniform batches of one face a track."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.tracks import TrackSet

#: Made casts in a batch, people of the smallest one, tracks of a person at most, and the exponent
#: of the Pareto distribution of their numbers.
CASTS, FEWEST_PEOPLE, MOST, SKEW = 8, 3, 60, 0.8


@dataclass(frozen=True)
class Split:
    """Numbers of the tracks to train on and to validate on; no identity is in both."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]


def split_identities(
    tracks: TrackSet, fraction: float = 0.05, seed: int = 0, exclude: Collection[str] = ()
) -> Split:
    """Reserve a fraction of the identities for validation (5 %, paper, sec. 5.1).

    Parameters
    ----------
    tracks : TrackSet
        Labelled tracks; those with no identity are left out.
    fraction : float
        Share of the identities, at least one.
    seed : int
        Which ones.
    exclude : collection of str
        Identities to use in neither part: those of a test set.
    """
    if not 0 < fraction < 1:
        raise InputError(f"the validation fraction must be between 0 and 1, not {fraction}")
    usable = np.flatnonzero(tracks.labelled & ~np.isin(tracks.identity, sorted(exclude)))
    identities, code = np.unique(tracks.identity[usable], return_inverse=True)
    n_validation = max(1, round(fraction * len(identities)))
    if len(identities) - n_validation < 2:
        raise InputError(
            f"{len(identities)} identities are too few to train on two and validate on "
            f"{n_validation} (tracks labelled: {int(tracks.labelled.sum())}, "
            f"identities excluded: {len(exclude)})"
        )
    reserved = np.random.default_rng(seed).permutation(len(identities))[:n_validation]
    held = np.isin(code, reserved)
    return Split(train=usable[~held], validation=usable[held])


def uniform_batches(
    tracks: TrackSet,
    labels: NDArray[np.int64],
    size: int,
    rng: np.random.Generator,
    half: bool = False,
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Go through all tracks once, in batches drawn uniformly, one random face a track (sec. 4).

    Uniform draws keep the skew of the data inside a batch. Batches are of equal size, as near
    to ``size`` as that allows. With ``half``, the mean of a random half of a track's faces stands
    for it instead (sec. 5.2, which found that worse).
    """
    for batch in np.array_split(rng.permutation(len(tracks)), max(1, round(len(tracks) / size))):
        yield draw_faces(tracks, labels, batch, rng, half)


def cast_batches(
    labels: NDArray[np.int64], people: int, rng: np.random.Generator
) -> Iterator[list[NDArray[np.int64]]]:
    """Go through as many tracks as there are, once, in batches of made casts, as of videos.

    A cast has few people or many, up to ``people``; their numbers of tracks are skewed, as those of
    characters are: most have a few tracks, a few have most of them.

    Yields
    ------
    list of ndarray of int
        The tracks of each cast.
    """
    order = np.argsort(labels, kind="stable")
    names, start, count = np.unique(labels[order], return_index=True, return_counts=True)
    weight = np.sqrt(count) / np.sqrt(count).sum()
    most = min(people, len(names))
    drawn = 0
    while drawn < len(labels):
        batch = []
        for _ in range(CASTS):
            size = int(np.exp(rng.uniform(np.log(min(FEWEST_PEOPLE, most)), np.log(most + 0.99))))
            chosen = rng.choice(len(names), size, replace=False, p=weight)
            wanted = 1 + (2 * rng.pareto(SKEW, size)).astype(np.int64)
            own = [
                rng.choice(order[start[k] : start[k] + count[k]], min(n, count[k], MOST), False)
                for k, n in zip(chosen, wanted, strict=True)
            ]
            batch.append(np.concatenate(own))
            drawn += len(batch[-1])
        yield batch


def draw_faces(
    tracks: TrackSet,
    labels: NDArray[np.int64],
    batch: NDArray[np.int64],
    rng: np.random.Generator,
    half: bool = False,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return one random face of each track of a batch, or the mean of a random half of them."""
    batch = np.sort(batch)  # within a batch order means nothing; on disk it means a forward read
    features, starts, counts = tracks.require_features(), tracks.offsets[batch], tracks.face_counts
    if half:
        some, offsets = random_half(starts, counts[batch], rng)
        return features.select(some).means(offsets), labels[batch]
    faces = starts + (rng.random(len(batch)) * counts[batch]).astype(np.int64)
    return features.take(faces), labels[batch]


def random_half(
    starts: NDArray[np.int64], counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose half of each run of faces, the larger half of an odd number.

    Returns the faces, run after run, and where each run's begin (one number more than runs).
    """
    run = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(run)) - (np.cumsum(counts) - counts)[run]
    shuffled = np.lexsort((rng.random(len(run)), run))  # each run in an order of its own
    kept = (counts + 1) // 2
    some = np.sort(shuffled[place < kept[run]])
    return starts[run[some]] + place[some], np.concatenate([[0], np.cumsum(kept)])
