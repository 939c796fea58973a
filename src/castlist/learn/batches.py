"""What training sees: an identity-disjoint split, then uniform batches of one face a track."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.tracks import TrackSet


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
    tracks: TrackSet, labels: NDArray[np.int64], size: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Go through all tracks once, in batches drawn uniformly, one random face a track (sec. 4).

    Uniform draws keep the skew of the data inside a batch. Batches are of equal size, as near
    to ``size`` as that allows.
    """
    features = tracks.require_features()
    n = len(tracks)
    order = rng.permutation(n)
    faces = tracks.offsets[:-1] + (rng.random(n) * tracks.face_counts).astype(np.int64)
    for batch in np.array_split(order, max(1, round(n / size))):
        batch.sort()  # within a batch order means nothing; on disk it means a forward read
        yield features.take(faces[batch]), labels[batch]
