"""Fine-tune a model on one video, without labels (paper, supplement A).

Two faces of one track show one person; two tracks that share a frame show two. The loss is made of
the squared distances d² of such pairs:

- one person: [d² − min(d²_before, τ)]₊, where d²_before is the distance before fine-tuning;
- two people: [τ + ε − d²]₊.

Faces and pairs are drawn in NumPy. PyTorch is imported when fine-tuning begins.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.tracks import by_content, embed_tracks
from castlist.errors import CastlistError, InputError
from castlist.extras import require
from castlist.model.ball_model import BallModel
from castlist.progress import Progress, silent
from castlist.research.training.train_settings import TrainSettings
from castlist.tracks import TrackSet

if TYPE_CHECKING:
    from torch import Tensor

#: Maximum number of tracks of a video per update of a model that averages neighbours: memory grows
#: with its square.
_MAX_TRACKS = 3000

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class FinetuneSettings:
    """Settings of :func:`castlist.research.finetune`. The defaults are the paper's.

    :meth:`of` returns those that suit a model.

    Attributes
    ----------
    iterations : int
        Number of updates of the weights. For a model that averages neighbours: per video.
    rate, momentum : float
        Learning rate and momentum of SGD.
    epsilon : float
        Margin ε: pairs of two people are pushed beyond τ + ε.
    constraints : str
        ``ball``: pairs of one person are kept within min(d² before, τ), and pairs of two people are
        pushed beyond τ + ε. ``threshold``: within τ and beyond τ, as the paper fine-tunes triplet
        and prototypical models.
    pairs : int
        Number of pairs of each kind per update. A model that averages neighbours uses all pairs of
        one video instead.
    seed : int
        Seed of the pairs and faces that are drawn.
    """

    iterations: int = 2000  # supplement A
    rate: float = 0.0003  # supplement A
    momentum: float = TrainSettings.momentum
    epsilon: float = TrainSettings.epsilon
    constraints: str = "ball"  # supplement A
    pairs: int = 128  # not in the text, which has about 1,000 pairs per episode in all
    seed: int = 0

    @classmethod
    def of(cls, model: BallModel) -> FinetuneSettings:
        """Return the default settings for a model.

        If the model averages neighbours, each update uses a whole video, and there are fewer and
        larger updates, chosen on validation tracks (docs/research/neighbours.md).
        """
        loss = model.settings.get("loss", "ball")
        constraints = "ball" if loss == "ball" else "threshold"
        if model.rounds:
            return cls(iterations=100, rate=0.03, constraints=constraints)
        return cls(constraints=constraints)

    def __post_init__(self) -> None:
        if self.constraints not in ("ball", "threshold"):
            raise InputError(f"constraints must be 'ball' or 'threshold', not {self.constraints!r}")
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
    same: Ints | None = None,
    different: Ints | None = None,
    progress: Progress = silent,
) -> BallModel:
    """Return a copy of a model, fine-tuned on the tracks of a video without labels.

    Two faces of one track are kept as near each other as they were, or within τ. Two tracks that
    share a frame are pushed farther apart than τ + ε. Neither b nor τ changes.

    Parameters
    ----------
    model : BallModel
        Trained with any loss. It is not changed.
    tracks : TrackSet
        The tracks of one video or of several. If no two of them share a frame, and no pairs are
        given, an unchanged copy of the model is returned.
    settings : FinetuneSettings, optional
        By default :meth:`FinetuneSettings.of` the model.
    same : ndarray of shape (m, 2), optional
        Pairs of tracks of one person, as confirmed by a user. They are pulled within τ.
    different : ndarray of shape (m, 2), optional
        Pairs of tracks of two people. By default the pairs that share a frame.
    progress : callable
        Called with the stage, the number of iterations done and the total.
    """
    require("torch", "fine-tuning")
    settings = settings or FinetuneSettings.of(model)
    embed_tracks(tracks, model)  # raises an error if the features are not the model's
    # In an order that does not depend on the order of the tracks given.
    order = by_content(tracks, tracks.mean_features())
    tracks, place = tracks[order], np.argsort(order)
    apart = tracks.overlaps() if different is None else _renumbered(different, place)
    alike = np.empty((0, 2), np.int64) if same is None else _renumbered(same, place)
    if not len(apart) and not len(alike):
        return copy.deepcopy(model)
    return _optimise(model, _Pairs(tracks, alike, apart, settings), settings, progress)


def _renumbered(pairs: Ints, place: Ints) -> Ints:
    """Return pairs of tracks with each track replaced by its place, in lexical order."""
    placed = np.sort(place[pairs], axis=1)
    return placed[np.lexsort(placed.T[::-1])]


def _optimise(
    model: BallModel, pairs: _Pairs, settings: FinetuneSettings, progress: Progress
) -> BallModel:
    import torch

    from castlist.research.training.network import BallNetwork

    before, network = BallNetwork(model), BallNetwork(model)
    optimiser = torch.optim.SGD(
        network.linears.parameters(), lr=settings.rate, momentum=settings.momentum
    )
    iterations = settings.iterations * (pairs.n_videos if model.rounds else 1)
    for done in range(iterations):
        drawn = pairs.in_one_video() if model.rounds else pairs.of_each_kind()
        faces = [torch.from_numpy(pairs.features[one]) for one in drawn.faces]
        with torch.no_grad():
            same_before = _squared_distances([before(one) for one in faces], drawn.same)
        now = [network(one) for one in faces]
        epsilon = settings.epsilon
        if settings.constraints == "threshold":  # within τ, whatever it was before; no margin
            same_before, epsilon = torch.full_like(same_before, inf), 0.0
        loss = pair_loss(
            _squared_distances(now, drawn.same), same_before,
            _squared_distances(now, drawn.different), model.threshold, epsilon,
        )  # fmt: skip
        if not torch.isfinite(loss):
            raise CastlistError(
                f"fine-tuning, iteration {done}: the loss is not finite; try a smaller rate"
            )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if (done + 1) % 20 == 0 or done + 1 == iterations:
            progress("fine-tuning", done + 1, iterations)
    tuned = network.to_model()
    tuned.settings = {**model.settings, "finetune": asdict(settings)}
    return tuned


def pair_loss(
    same: Tensor, same_before: Tensor, different: Tensor, tau: float, epsilon: float
) -> Tensor:
    """Return the loss of fine-tuning: the mean over each kind of pairs, added up.

    Parameters
    ----------
    same, same_before : Tensor of shape (n,)
        Squared distances of pairs of one person, now and before fine-tuning.
    different : Tensor of shape (m,)
        Squared distances of pairs of two people.
    tau, epsilon : float
        The threshold τ (4b in the text), and the margin ε beyond it.
    """
    too_far = (same - same_before.clamp_max(tau)).clamp_min(0)
    too_near = (tau + epsilon - different).clamp_min(0)
    return sum((one.mean() for one in (too_far, too_near) if len(one)), same.new_zeros(()))


def _squared_distances(embeddings: Sequence[Tensor], pairs: Ints) -> Tensor:
    first, second = embeddings
    return (first[pairs[0]] - second[pairs[1]]).square().sum(1)


class _Drawn(NamedTuple):
    """Two sets of faces, and pairs of one face from each set, as two rows of places in them."""

    faces: tuple[Ints, Ints]
    same: Ints
    different: Ints


class _Pairs:
    """Draws faces and pairs of faces.

    Parameters
    ----------
    tracks : TrackSet
        The tracks of one video or of several.
    alike, apart : ndarray of int, shape (m, 2)
        Pairs of tracks of one person, and of two.
    settings : FinetuneSettings
        Number of pairs, and seed.
    """

    def __init__(
        self, tracks: TrackSet, alike: Ints, apart: Ints, settings: FinetuneSettings
    ) -> None:
        described = tracks.described()
        self.features = described.require_features().take(np.arange(described.n_faces))
        self.n_videos = len(np.unique(tracks.video))
        self._alike, self._apart = alike, apart
        self._video = described.video
        self._starts, self._counts = described.offsets[:-1], described.face_counts
        self._n_pairs = settings.pairs
        self._rng = np.random.default_rng(settings.seed)

    def of_each_kind(self) -> _Drawn:
        """Draw a fixed number of pairs of each kind, for a model that embeds faces one by one.

        The kinds are two faces of one track, one face each of two tracks of one person, and one
        face each of two tracks of two people.
        """
        several = np.flatnonzero(self._counts > 1)
        track = self._rng.choice(several, self._n_pairs) if len(several) else several
        first = self._one_face(track)
        within = np.stack([first, self._another_face(track, first)])
        alike, apart = (self._one_face(self._some(pairs).T) for pairs in (self._alike, self._apart))
        faces = np.concatenate([within, alike, apart], axis=1)
        places = np.tile(np.arange(faces.shape[1]), (2, 1))
        n_same = faces.shape[1] - apart.shape[1]
        return _Drawn((faces[0], faces[1]), places[:, :n_same], places[:, n_same:])

    def in_one_video(self) -> _Drawn:
        """Draw a video, two faces of each of its tracks, and all of its pairs.

        For a model that averages neighbours, which embeds the tracks of a video together. Of a
        video with more than the maximum number of tracks, only some pairs and their tracks are
        drawn.
        """
        every = np.concatenate([self._apart, self._alike])
        video = self._video[every[self._rng.integers(len(every)), 0]]
        track = np.flatnonzero(self._video == video)
        apart, alike = (
            pairs[(self._video[pairs] == video).all(axis=1)] for pairs in (self._apart, self._alike)
        )
        if len(track) > _MAX_TRACKS:
            every = np.concatenate([apart, alike])
            count = min(len(every), _MAX_TRACKS // 2)
            chosen = np.zeros(len(self._video), bool)
            chosen[every[self._rng.choice(len(every), count, replace=False)]] = True
            track = np.flatnonzero(chosen)
            apart, alike = (pairs[chosen[pairs].all(axis=1)] for pairs in (apart, alike))
        first = self._one_face(track)
        second = self._another_face(track, first)
        within = np.tile(np.flatnonzero(self._counts[track] > 1), (2, 1))
        apart, alike = (np.searchsorted(track, pairs).T for pairs in (apart, alike))
        return _Drawn((first, second), np.concatenate([within, alike], axis=1), apart)

    def _some(self, pairs: Ints) -> Ints:
        drawn = self._rng.integers(len(pairs), size=self._n_pairs) if len(pairs) else slice(0)
        return pairs[drawn]

    def _one_face(self, track: Ints) -> Ints:
        """Draw one face of each track."""
        drawn = (self._rng.random(track.shape) * self._counts[track]).astype(np.int64)
        return np.asarray(self._starts[track] + drawn)

    def _another_face(self, track: Ints, face: Ints) -> Ints:
        """Draw another face of each track, or the same one if the track has no other."""
        step = 1 + (self._rng.random(len(track)) * (self._counts[track] - 1)).astype(np.int64)
        place = face - self._starts[track]
        return np.asarray(self._starts[track] + (place + step) % self._counts[track])
