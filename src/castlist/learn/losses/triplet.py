"""The triplet loss with FaceNet's semi-hard negatives (paper, sec. 3.4)."""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from castlist.errors import InputError
from castlist.learn.losses.base import Loss, Terms
from castlist.learn.losses.pairs import (
    PAIRS_A_SAMPLE,
    mean_or_zero,
    pair_distances,
    positive_pairs,
)


class TripletLoss(Loss):
    """[d²(anchor, positive) − d²(anchor, negative) + m]₊, a mean over positive pairs.

    Parameters
    ----------
    margin : float
        m; it is not trained.
    """

    def __init__(self, margin: float = 0.2) -> None:  # not in the text; FaceNet, sec. 3.1
        super().__init__()
        if margin < 0:
            raise InputError(f"the margin must not be negative: {margin}")
        self.margin = margin

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Compute the loss of one batch; b is not used."""
        pairs = positive_pairs(labels, PAIRS_A_SAMPLE * len(labels), self.generator)
        if not pairs.shape[1] or bool((labels == labels[0]).all()):
            nothing = 0 * embeddings.sum()
            return Terms(nothing, {"same": nothing, "different": nothing})
        # Either sample of a pair may be the anchor.
        turned = torch.rand(pairs.shape[1], generator=self.generator) < 0.5
        anchor, positive = torch.where(turned, pairs.flip(0), pairs)
        negative = semi_hard(embeddings.detach(), labels, anchor, positive)
        same = pair_distances(embeddings, torch.stack([anchor, positive]))
        different = pair_distances(embeddings, torch.stack([anchor, negative]))
        total = mean_or_zero((same - different + self.margin).clamp_min(0))
        return Terms(total, {"same": same.mean(), "different": different.mean()})


def semi_hard(embeddings: Tensor, labels: Tensor, anchor: Tensor, positive: Tensor) -> Tensor:
    """Choose a sample of somebody else for each positive pair.

    The rule of FaceNet as ``triplet_semihard_loss`` of TensorFlow Addons made it known: the nearest
    of those that are farther from the anchor than the positive is; where there is none, the
    farthest of all.
    """
    # d² without the anchor's own square, which is the same for all that it is compared with.
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
    reach: NDArray[np.floating],
) -> NDArray[np.int64]:
    chosen = np.empty(len(anchor), np.int64)
    for pair in range(len(anchor)):
        row, mine = scores[anchor[pair]], labels[anchor[pair]]
        near, far = np.inf, -np.inf
        nearest, farthest = -1, anchor[pair]  # itself, where nothing compares: not numbers
        for other in range(len(row)):
            if reach[pair] < row[other] < near and labels[other] != mine:
                near, nearest = row[other], other
        if nearest < 0:
            for other in range(len(row)):
                if row[other] > far and labels[other] != mine:
                    far, farthest = row[other], other
        chosen[pair] = nearest if nearest >= 0 else farthest
    return chosen
