"""Fine-tuning a model on one video, with what the video itself says (paper, supplement A)."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from math import inf

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from castlist.cluster.tracks import by_content, embed_tracks
from castlist.errors import CastlistError, InputError
from castlist.learn.model import BallModel
from castlist.learn.settings import TrainSettings
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet

#: Tracks of a video that one update looks at, where neighbours are averaged.
_MOST_TRACKS = 3000


@dataclass(frozen=True)
class FinetuneSettings:
    """Settings of :func:`castlist.finetune`; the defaults are the paper's.

    :meth:`of` gives those that suit a model.

    Attributes
    ----------
    iterations : updates of the weights; of a model that averages neighbours, for each video.
    rate, momentum : of SGD.
    epsilon : margin beyond τ for two people.
    pairs : pairs of each kind an update is made from.
    seed : which pairs, and which faces of them.
    """

    iterations: int = 2000  # supplement A
    rate: float = 0.0003  # supplement A
    momentum: float = TrainSettings.momentum
    epsilon: float = TrainSettings.epsilon
    pairs: int = 128  # not in the text, which has about 1,000 pairs an episode in all
    seed: int = 0

    @classmethod
    def of(cls, model: BallModel) -> FinetuneSettings:
        """Return the usual ones for a model.

        Where neighbours are averaged an update is of a whole video, and there are fewer and larger
        ones, as chosen on validation (docs/neighbours.md).
        """
        return cls(iterations=100, rate=0.03) if model.rounds else cls()

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.pairs < 1:
            raise InputError(
                f"iterations and pairs must be at least 1: {self.iterations}, {self.pairs}"
            )
        good = 0 < self.rate < inf and 0 <= self.epsilon < inf and 0 <= self.momentum < 1
        if not good or self.seed < 0:
            raise InputError(
                "rate must be positive, epsilon and seed 0 or more, momentum in [0, 1): "
                f"{self.rate}, {self.epsilon}, {self.seed}, {self.momentum}"
            )


def finetune(
    model: BallModel,
    tracks: TrackSet,
    settings: FinetuneSettings | None = None,
    *,
    same: NDArray[np.int64] | None = None,
    different: NDArray[np.int64] | None = None,
    progress: Progress = silent,
) -> BallModel:
    """Make a model cast-specific, without labels.

    Two faces of one track are one person, and must not come to be farther apart than they were or
    than τ; two tracks that share a frame are two people, and must come to be farther apart than
    τ + ε. Neither b nor τ changes.

    Parameters
    ----------
    model : BallModel
        Trained with any loss; it is not changed.
    tracks : TrackSet
        The tracks of one video, or of several. Where no two share a frame there is nothing to learn
        from, and a copy of the model comes back.
    settings : FinetuneSettings, optional
        By default :meth:`FinetuneSettings.of` the model.
    same : ndarray of shape (m, 2), optional
        Pairs of tracks that a person said are one; they are wanted within τ.
    different : ndarray of shape (m, 2), optional
        Pairs of tracks that are two people, instead of those that share a frame.
    progress : callable
        Told how far it is.
    """
    settings = settings or FinetuneSettings.of(model)
    tuned = copy.deepcopy(model)
    embed_tracks(tracks, model)  # says so if the features are not the model's
    order = by_content(tracks, tracks.mean_features())
    tracks, place = tracks[order], np.argsort(order)
    apart = tracks.overlaps() if different is None else _placed(different, place)
    alike = np.empty((0, 2), np.int64) if same is None else _placed(same, place)
    if not len(apart) and not len(alike):
        return tuned
    pairs: _Pairs = (_PairsInCompany if model.rounds else _PairsAlone)(
        model, tracks, settings, alike, apart
    )
    tau = model.threshold
    optimiser = torch.optim.SGD(
        tuned.linears.parameters(), lr=settings.rate, momentum=settings.momentum
    )
    tuned.train()
    iterations = settings.iterations * (len(np.unique(tracks.video)) if model.rounds else 1)
    for done in range(iterations):
        near, before, far = pairs.distances(tuned)
        together = (near - before.clamp_max(tau)).clamp_min(0)
        separate = (tau + settings.epsilon - far).clamp_min(0)
        loss = torch.stack([part.mean() for part in (together, separate) if len(part)]).sum()
        if not torch.isfinite(loss):
            raise CastlistError(f"fine-tuning, iteration {done}: the loss is not finite")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if (done + 1) % 20 == 0 or done + 1 == iterations:
            progress("fine-tuning", done + 1, iterations)
    tuned.settings = {**model.settings, "finetune": asdict(settings)}
    return tuned.eval()


#: Squared distances of pairs of one person now and before, and of pairs of two people now.
_Distances = tuple[Tensor, Tensor, Tensor]


class _Pairs(ABC):
    """Draws faces of tracks and measures them."""

    def __init__(
        self, model: BallModel, tracks: TrackSet, settings: FinetuneSettings,
        alike: NDArray[np.int64], apart: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self.model = model
        self.alike, self.apart = alike, apart
        described = tracks.described()
        self.video = described.video
        self.faces = described.require_features().take(np.arange(described.n_faces))
        self.starts, self.counts = described.offsets[:-1], described.face_counts
        self.n_pairs = settings.pairs
        self.rng = np.random.default_rng(settings.seed)

    @abstractmethod
    def distances(self, tuned: BallModel) -> _Distances:
        """Draw pairs and return their squared distances."""

    def one_face(self, track: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw a face of each track."""
        drawn = (self.rng.random(track.shape) * self.counts[track]).astype(np.int64)
        return np.asarray(self.starts[track] + drawn)

    def another_face(self, track: NDArray[np.int64], face: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw another face of each track; where there is one only, that."""
        step = 1 + (self.rng.random(len(track)) * (self.counts[track] - 1)).astype(np.int64)
        place = face - self.starts[track]
        return np.asarray(self.starts[track] + (place + step) % self.counts[track])


class _PairsAlone(_Pairs):
    """For a model that embeds each face by itself, as the paper's: some pairs of each kind."""

    def __init__(
        self, model: BallModel, tracks: TrackSet, settings: FinetuneSettings,
        alike: NDArray[np.int64], apart: NDArray[np.int64],
    ) -> None:  # fmt: skip
        super().__init__(model, tracks, settings, alike, apart)
        self.before = torch.from_numpy(model.embed(self.faces))
        self.long = np.flatnonzero(self.counts > 1)

    def distances(self, tuned: BallModel) -> _Distances:
        """Draw tracks and two faces of each, and pairs of tracks and a face of each."""
        track = self.rng.choice(self.long, self.n_pairs) if len(self.long) else self.long
        first = self.one_face(track)
        same = np.stack([first, self.another_face(track, first)])
        same = np.concatenate([same, self.one_face(self._some(self.alike))], axis=1)
        faces = np.concatenate([same, self.one_face(self._some(self.apart))], axis=1)
        now = _between(*tuned(torch.from_numpy(self.faces[faces.ravel()])).chunk(2))
        before = _between(*self.before[torch.from_numpy(same)])
        return now[: same.shape[1]], before, now[same.shape[1] :]

    def _some(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw pairs of tracks, as two rows."""
        drawn = self.rng.integers(len(pairs), size=self.n_pairs) if len(pairs) else slice(0)
        return pairs[drawn].T


class _PairsInCompany(_Pairs):
    """For a model that averages neighbours: all pairs of a video, whose tracks are all drawn."""

    def distances(self, tuned: BallModel) -> _Distances:
        """Draw a video, and two faces of each of its tracks."""
        pairs = np.concatenate([self.apart, self.alike])
        video = self.video[pairs[self.rng.integers(len(pairs)), 0]]
        track = np.flatnonzero(self.video == video)
        here = [p[(self.video[p] == video).all(axis=1)] for p in (self.apart, self.alike)]
        if len(track) > _MOST_TRACKS:  # memory grows with their square
            everything = np.concatenate(here)
            count = min(len(everything), _MOST_TRACKS // 2)
            chosen = np.zeros(len(self.video), bool)
            chosen[everything[self.rng.choice(len(everything), count, replace=False)]] = True
            track = np.flatnonzero(chosen)
            here = [p[chosen[p].all(axis=1)] for p in here]
        first = self.one_face(track)
        second = self.another_face(track, first)
        a, b = (torch.from_numpy(self.faces[faces]) for faces in (first, second))
        now_a, now_b = tuned(a), tuned(b)
        long = torch.from_numpy(self.counts[track] > 1)
        (i, j), (k, m) = (torch.from_numpy(np.searchsorted(track, p)).T for p in here)
        with torch.no_grad():
            before_a, before_b = self.model(a), self.model(b)
        same = torch.cat([_between(now_a, now_b)[long], _between(now_a[k], now_b[m])])
        before = torch.cat([_between(before_a, before_b)[long], _between(before_a[k], before_b[m])])
        return same, before, _between(now_a[i], now_b[j])


def _placed(pairs: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Call the tracks of pairs by their places, and put the pairs in the order of those."""
    placed = np.sort(place[pairs], axis=1)
    return placed[np.lexsort(placed.T[::-1])]


def _between(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum(1)
