"""Made track sets: vectors drawn from a formula, to test and time with. They are not faces.

A person is a point of a small *who* space, drawn once. A track adds a point of a larger *how*
space (what pose, light and make-up do to a face), drawn once a track and louder than *who*; a face
adds a little of it again. Both spaces are mixed into the feature by one fixed random map, a little
noise is added, and the feature is scaled to length 1, as a describer's is. Distances between raw
features are mostly *how*; a model that learns to leave it out finds people it never saw.
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
class MadeWorld:
    """The fixed part of made data: how *who* and *how* are mixed into features."""

    dim: int = 256
    who: int = 24
    how: int = 48
    loudness: float = 1.8  # of a track's how, relative to who
    jitter: float = 0.5  # of a face's own how, relative to its track's
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
        """Return the first people of this world: the same number is the same person always."""
        return np.random.default_rng([self.seed, 3]).normal(size=(count, self.who))


def long_tail(identities: int, tracks: int, spread: float = 2.0) -> NDArray[np.int64]:
    """Return how many tracks each identity has: many have one or two, a few have thousands.

    Shares are the quantiles of a log-normal. The default spread puts about as many identities
    into a batch of 2,000 as the paper reports (table of batch sizes: some 450, and some 90 of
    them with more than 5 tracks).
    """
    if not 1 <= identities <= tracks:
        raise InputError(f"cannot give {tracks} tracks to {identities} identities, one each")
    quantiles = (np.arange(identities) + 0.5) / identities
    shares = np.exp(spread * np.asarray(norm.isf(quantiles)))
    extra = shares / shares.sum() * (tracks - identities)
    counts: NDArray[np.int64] = 1 + np.floor(extra).astype(np.int64)
    # What rounding left over goes to the largest remainders.
    left = tracks - int(counts.sum())
    counts[np.argsort(np.floor(extra) - extra, kind="stable")[:left]] += 1
    return counts


def made_tracks(
    identities: int = 1200,
    tracks: int = 60_000,
    faces: int = 8,
    *,
    world: MadeWorld | None = None,
    seed: int = 0,
    video: str = "made",
    first_identity: int = 0,
) -> TrackSet:
    """Draw a labelled, long-tailed track set.

    Parameters
    ----------
    identities, tracks, faces : int
        How many people, tracks in all, and faces a track.
    world : MadeWorld, optional
        How features come about. Sets of one world can train and test each other.
    seed : int
        Draws the tracks.
    video : str
        Name of the made video.
    first_identity : int
        Number of the first person: sets with other numbers have other people.
    """
    world = world or MadeWorld()
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
