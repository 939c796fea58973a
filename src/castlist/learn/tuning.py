"""The optimisation of fine-tuning (paper, supplement A)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from castlist.errors import CastlistError
from castlist.learn.finetune import FinetuneSettings
from castlist.learn.model import BallModel
from castlist.learn.network import BallNetwork
from castlist.progress import Progress
from castlist.tracks import TrackSet

#: Tracks of a video that one update looks at, where neighbours are averaged.
_MOST_TRACKS = 3000


def tune(
    model: BallModel, tracks: TrackSet, settings: FinetuneSettings, alike: NDArray[np.int64],
    apart: NDArray[np.int64], progress: Progress,
) -> BallModel:  # fmt: skip
    """Return a model tuned on pairs of tracks that are one person, and of two.

    The tracks are in an order that does not depend on how they were given
    (:func:`castlist.cluster.tracks.by_content`).
    """
    pairs: _Pairs = (_PairsInCompany if model.rounds else _PairsAlone)(
        model, tracks, settings, alike, apart
    )
    tau = model.threshold
    network = BallNetwork(model)
    optimiser = torch.optim.SGD(
        network.linears.parameters(), lr=settings.rate, momentum=settings.momentum
    )
    iterations = settings.iterations * (len(np.unique(tracks.video)) if model.rounds else 1)
    for done in range(iterations):
        near, before, far = pairs.distances(network)
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
    tuned = network.to_model()
    tuned.settings = {**model.settings, "finetune": asdict(settings)}
    return tuned


#: Squared distances of pairs of one person now and before, and of pairs of two people now.
_Distances = tuple[Tensor, Tensor, Tensor]


class _Pairs(ABC):
    """Draws faces of tracks and measures them."""

    def __init__(
        self, model: BallModel, tracks: TrackSet, settings: FinetuneSettings,
        alike: NDArray[np.int64], apart: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self.alike, self.apart = alike, apart
        described = tracks.described()
        self.video = described.video
        self.faces = described.require_features().take(np.arange(described.n_faces))
        self.starts, self.counts = described.offsets[:-1], described.face_counts
        self.n_pairs = settings.pairs
        self.rng = np.random.default_rng(settings.seed)

    @abstractmethod
    def distances(self, tuned: BallNetwork) -> _Distances:
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

    def distances(self, tuned: BallNetwork) -> _Distances:
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

    def __init__(
        self, model: BallModel, tracks: TrackSet, settings: FinetuneSettings,
        alike: NDArray[np.int64], apart: NDArray[np.int64],
    ) -> None:  # fmt: skip
        super().__init__(model, tracks, settings, alike, apart)
        self.start = BallNetwork(model)

    def distances(self, tuned: BallNetwork) -> _Distances:
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
            before_a, before_b = self.start(a), self.start(b)
        same = torch.cat([_between(now_a, now_b)[long], _between(now_a[k], now_b[m])])
        before = torch.cat([_between(before_a, before_b)[long], _between(before_a[k], before_b[m])])
        return same, before, _between(now_a[i], now_b[j])


def _between(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum(1)
