"""The data of training: a split without common identities, and batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.tracks import TrackSet

#: Number of synthetic casts per batch.
CASTS = 8
#: Number of identities in the smallest cast.
MIN_CAST_SIZE = 3
#: Maximum number of tracks per identity of a cast.
MAX_TRACKS = 60
#: Exponent of the Pareto distribution of the number of tracks per identity.
SKEW = 0.8


@dataclass(frozen=True)
class Split:
    """Row numbers of the training and validation tracks. No identity is in both."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]


def split_identities(
    tracks: TrackSet, fraction: float = 0.05, seed: int = 0, exclude: Collection[str] = ()
) -> Split:
    """Return a split that reserves some identities for validation (paper, sec. 5.1: 5 %).

    Parameters
    ----------
    tracks : TrackSet
        Labelled tracks. Tracks without an identity are left out.
    fraction : float
        Share of the identities to reserve; at least one identity is.
    seed : int
        Seed of the draw.
    exclude : collection of str
        Identities to leave out of both parts, such as those of a test set.
    """
    if not 0 < fraction < 1:
        raise InputError(f"the validation fraction must be between 0 and 1, not {fraction}")
    usable = np.flatnonzero(tracks.labelled & ~np.isin(tracks.identity, sorted(exclude)))
    identities, code = np.unique(tracks.identity[usable], return_inverse=True)
    n_validation = max(1, round(fraction * len(identities)))
    if len(identities) - n_validation < 2:
        raise InputError(
            f"{len(identities)} identities are too few to train on two and validate on "
            f"{n_validation} (labelled tracks: {int(tracks.labelled.sum())}, "
            f"excluded identities: {len(exclude)})"
        )
    reserved = np.random.default_rng(seed).permutation(len(identities))[:n_validation]
    validation = np.isin(code, reserved)
    return Split(train=usable[~validation], validation=usable[validation])


def uniform_batches(
    tracks: TrackSet,
    labels: NDArray[np.int64],
    size: int,
    rng: np.random.Generator,
    average_half: bool = False,
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Yield all tracks once, in batches of features and labels drawn uniformly (sec. 4).

    Uniform draws preserve the skew of the data within a batch. Batches have equal sizes, as near to
    ``size`` as possible. A track is represented by one random face, or with ``average_half`` by the
    mean of a random half of its faces (sec. 5.2, where that was worse).
    """
    for batch in np.array_split(rng.permutation(len(tracks)), max(1, round(len(tracks) / size))):
        yield draw_faces(tracks, labels, batch, rng, average_half)


def cast_batches(
    labels: NDArray[np.int64], cast_size: int, rng: np.random.Generator
) -> Iterator[list[NDArray[np.int64]]]:
    """Yield batches of synthetic casts until about as many tracks are drawn as there are.

    The number of identities of a cast is drawn log-uniformly, up to ``cast_size``. Their numbers of
    tracks are skewed like those of characters: most have a few tracks, a few have most of them.

    Yields
    ------
    list of ndarray of int
        Row numbers of the tracks, one array per cast.
    """
    order = np.argsort(labels, kind="stable")
    names, start, count = np.unique(labels[order], return_index=True, return_counts=True)
    weight = np.sqrt(count) / np.sqrt(count).sum()
    most = min(cast_size, len(names))
    drawn = 0
    while drawn < len(labels):
        batch = []
        for _ in range(CASTS):
            size = int(np.exp(rng.uniform(np.log(min(MIN_CAST_SIZE, most)), np.log(most + 0.99))))
            chosen = rng.choice(len(names), size, replace=False, p=weight)
            wanted = 1 + (2 * rng.pareto(SKEW, size)).astype(np.int64)
            own = [
                rng.choice(
                    order[start[k] : start[k] + count[k]], min(n, count[k], MAX_TRACKS), False
                )
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
    average_half: bool = False,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return features and labels of a batch of tracks, as of :func:`uniform_batches`."""
    batch = np.sort(batch)  # the order within a batch does not matter; this one reads disks forward
    features, starts, counts = tracks.require_features(), tracks.offsets[batch], tracks.face_counts
    if average_half:
        some, offsets = random_half(starts, counts[batch], rng)
        return features.select(some).means(offsets), labels[batch]
    faces = starts + (rng.random(len(batch)) * counts[batch]).astype(np.int64)
    return features.take(faces), labels[batch]


def random_half(
    starts: NDArray[np.int64], counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a random half of each run of faces, rounded up.

    Parameters
    ----------
    starts, counts : ndarray of int
        First face and number of faces of each run.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    faces : ndarray of int
        The chosen faces, run by run.
    offsets : ndarray of int
        Where each run begins in ``faces``, and where the last one ends.
    """
    run = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(run)) - (np.cumsum(counts) - counts)[run]
    shuffled = np.lexsort((rng.random(len(run)), run))  # each run in a random order
    kept = (counts + 1) // 2
    some = np.sort(shuffled[place < kept[run]])
    return starts[run[some]] + place[some], np.concatenate([[0], np.cumsum(kept)])
