"""Synthetic track sets for tests and benchmarks: random vectors, not faces.

A person is a point in a small *who* space, drawn once. A track adds a point in a larger *how* space
(pose, light and make-up), drawn once per track and louder than *who*; each face adds a smaller
*how* of its own. One fixed random map mixes both spaces into the feature, noise is added, and the
feature is normalised to length 1, as a describer's is. Distances between raw features are mostly
*how*; a model that learns to ignore it separates people that it never saw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from castlist.errors import InputError
from castlist.features import Features
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class SyntheticWorld:
    """The fixed part of synthetic data: how *who* and *how* are mixed into features."""

    dim: int = 256
    who: int = 24
    how: int = 48
    loudness: float = 1.8  # of a track's *how*, relative to *who*
    jitter: float = 0.5  # of a face's own *how*, relative to its track's
    noise: float = 0.15
    seed: int = 0

    def mixing(self) -> NDArray[np.float64]:
        """Return the map from (who, how) to features: orthonormal columns, *how* louder."""
        draws = np.random.default_rng([self.seed, 1]).normal(size=(self.dim, self.who + self.how))
        columns, _ = np.linalg.qr(draws)
        gains = np.concatenate(
            [
                np.full(self.who, 1 / np.sqrt(self.who)),
                np.full(self.how, self.loudness / np.sqrt(self.how)),
            ]
        )
        return np.asarray(columns * gains)

    def people(self, count: int) -> NDArray[np.float64]:
        """Return the first people of this world; person i is the same for any count."""
        return np.random.default_rng([self.seed, 3]).normal(size=(count, self.who))


def long_tail(identities: int, tracks: int, spread: float = 2.0) -> NDArray[np.int64]:
    """Return the number of tracks per identity: many have one or two, a few have thousands.

    Shares are the quantiles of a log-normal distribution. With the default spread a batch of 2,000
    tracks has about as many identities as the paper reports in its table of batch sizes: 450, of
    which 90 have more than 5 tracks.
    """
    if not 1 <= identities <= tracks:
        raise InputError(f"cannot give {tracks} tracks to {identities} identities: each needs one")
    quantiles = (np.arange(identities) + 0.5) / identities
    shares = np.exp(spread * np.asarray(norm.isf(quantiles)))
    extra = shares / shares.sum() * (tracks - identities)
    counts: NDArray[np.int64] = 1 + np.floor(extra).astype(np.int64)
    # Distribute what rounding left over by the largest remainders.
    left = tracks - int(counts.sum())
    counts[np.argsort(np.floor(extra) - extra, kind="stable")[:left]] += 1
    return counts


def synthetic_tracks(
    identities: int = 1200,
    tracks: int = 60_000,
    faces: int = 8,
    *,
    world: SyntheticWorld | None = None,
    seed: int = 0,
    video: str = "made",
    first_identity: int = 0,
) -> TrackSet:
    """Return a labelled, long-tailed track set.

    Parameters
    ----------
    identities, tracks, faces : int
        Number of people, of tracks in all, and of faces per track.
    world : SyntheticWorld, optional
        How features are made. You can train on one set of a world and test on another.
    seed : int
        Seed of the tracks.
    video : str
        Name of the video.
    first_identity : int
        Number of the first person. Sets with disjoint numbers have disjoint people.
    """
    world = world or SyntheticWorld()
    rng = np.random.default_rng([world.seed, 2, seed])
    mixing = world.mixing()
    people = world.people(first_identity + identities)[first_identity:]
    identity = np.repeat(np.arange(identities), long_tail(identities, tracks))
    rng.shuffle(identity)
    features = np.empty((tracks * faces, world.dim), np.float32)
    at_once = 4096
    for start in range(0, tracks, at_once):
        who = people[identity[start : start + at_once]]
        n = len(who)
        how = rng.normal(size=(n, 1, world.how))
        how = how + world.jitter * rng.normal(size=(n, faces, world.how))
        latent = np.concatenate([np.repeat(who[:, None], faces, axis=1), how], axis=2)
        block = latent.reshape(n * faces, -1) @ mixing.T
        block += world.noise / np.sqrt(world.dim) * rng.normal(size=block.shape)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        features[start * faces : start * faces + len(block)] = block
    names = np.char.add("person ", np.char.mod("%05d", identity + first_identity))
    return TrackSet.from_faces(
        np.repeat(np.arange(tracks), faces),
        feature=Features(features),
        identity=np.repeat(names, faces),
        frame=np.arange(tracks * faces),
        video=video,
        describer="made",
    )
