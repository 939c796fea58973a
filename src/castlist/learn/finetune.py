"""Fine-tuning a model on one video, with what the video itself says (paper, supplement A)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.tracks import by_content, embed_tracks
from castlist.errors import InputError
from castlist.extras import require
from castlist.learn.model import BallModel
from castlist.learn.train_settings import TrainSettings
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet


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
        ones, as chosen on validation (docs/research/neighbours.md).
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
    require("torch", "fine-tuning")
    from castlist.learn.tuning import tune

    settings = settings or FinetuneSettings.of(model)
    embed_tracks(tracks, model)  # says so if the features are not the model's
    order = by_content(tracks, tracks.mean_features())
    tracks, place = tracks[order], np.argsort(order)
    apart = tracks.overlaps() if different is None else _placed(different, place)
    alike = np.empty((0, 2), np.int64) if same is None else _placed(same, place)
    if not len(apart) and not len(alike):
        return copy.deepcopy(model)
    return tune(model, tracks, settings, alike, apart, progress)


def _placed(pairs: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Call the tracks of pairs by their places, and put the pairs in the order of those."""
    placed = np.sort(place[pairs], axis=1)
    return placed[np.lexsort(placed.T[::-1])]
