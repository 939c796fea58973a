"""The triplet loss with FaceNet's semi-hard negatives (paper, sec. 3.4)."""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from castlist.errors import InputError
from castlist.research.training.losses.base import (
    PAIRS_PER_SAMPLE,
    Loss,
    Terms,
    mean_or_zero,
    pair_distances,
    positive_pairs,
)


class TripletLoss(Loss):
    """Mean of [d²(anchor, positive) − d²(anchor, negative) + m]₊ over positive pairs.

    Parameters
    ----------
    margin : float
        The margin m, which is not trained.
    """

    def __init__(self, margin: float = 0.2) -> None:  # not in the text: FaceNet, sec. 3.3
        super().__init__()
        if margin < 0:
            raise InputError(f"the margin must not be negative: {margin}")
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch; b is not used."""
        pairs = positive_pairs(labels, PAIRS_PER_SAMPLE * len(labels), self.generator)
        if not pairs.shape[1] or bool((labels == labels[0]).all()):
            zero = 0 * embeddings.sum()
            return Terms(zero, {"same": zero, "different": zero})
        # Either sample of a pair may be the anchor.
        swapped = torch.rand(pairs.shape[1], generator=self.generator) < 0.5
        anchor, positive = torch.where(swapped, pairs.flip(0), pairs)
        negative = semi_hard(embeddings.detach(), labels, anchor, positive)
        same = pair_distances(embeddings, torch.stack([anchor, positive]))
        different = pair_distances(embeddings, torch.stack([anchor, negative]))
        total = mean_or_zero((same - different + self.margin).clamp_min(0))
        return Terms(total, {"same": same.mean(), "different": different.mean()})


def semi_hard(embeddings: Tensor, labels: Tensor, anchor: Tensor, positive: Tensor) -> Tensor:
    """Return a negative for each positive pair: a sample of another identity.

    The rule is FaceNet's, as in ``triplet_semihard_loss`` of TensorFlow Addons: the nearest
    negative that is farther from the anchor than the positive; if there is none, the farthest one.
    """
    # d² without the square of the anchor, which is the same in all comparisons.
    scores = torch.addmm(embeddings.square().sum(1), embeddings, embeddings.T, alpha=-2)
    chosen = _nearest_beyond(
        scores.numpy(), labels.numpy(), anchor.numpy(), scores[anchor, positive].numpy()
    )
    return torch.from_numpy(chosen)


@njit(cache=True, nogil=True)
def _nearest_beyond(
    scores: NDArray[np.floating],
    labels: NDArray[np.int64],
    anchor: NDArray[np.int64],
    beyond: NDArray[np.floating],
) -> NDArray[np.int64]:
    chosen = np.empty(len(anchor), np.int64)
    for pair in range(len(anchor)):
        row, own = scores[anchor[pair]], labels[anchor[pair]]
        near, far = np.inf, -np.inf
        nearest, farthest = -1, anchor[pair]  # the anchor itself if all scores are NaN
        for other in range(len(row)):
            if beyond[pair] < row[other] < near and labels[other] != own:
                near, nearest = row[other], other
        if nearest < 0:
            for other in range(len(row)):
                if row[other] > far and labels[other] != own:
                    far, farthest = row[other], other
        chosen[pair] = nearest if nearest >= 0 else farthest
    return chosen
