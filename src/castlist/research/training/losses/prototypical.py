"""The loss of prototypical networks, plain or with the ball's b and γ (paper, sec. 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from castlist.research.training.losses.base import Loss, Terms, centroids
from castlist.research.training.train_settings import TrainSettings


class PrototypicalLoss(Loss):
    """Cross-entropy of a softmax over −d² to every centroid of the batch (L_proto, sec. 3.4).

    Parameters
    ----------
    ball : bool
        Add b to the logit of the own centroid, and γ = 9b + ε to those of all others. The plain
        loss adds nothing.
    epsilon : float
        Margin ε in γ.
    normalise : bool
        Whether embeddings, and so centroids, have unit length. The paper found that worse
        (sec. 5.3).
    """

    def __init__(
        self,
        ball: bool = False,
        epsilon: float = TrainSettings.epsilon,
        normalise: bool = False,
    ) -> None:
        super().__init__()
        self.ball = ball
        self.epsilon = epsilon
        self.normalise = normalise

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch. Labels may be any integers."""
        identities, own, counts = torch.unique(labels, return_inverse=True, return_counts=True)
        centres = centroids(embeddings, own, len(identities), self.normalise)
        # −d² without the square of the sample, which is the same for every centroid and cancels.
        logits = torch.addmm(-centres.square().sum(1), embeddings, centres.T, alpha=2)
        if self.ball:  # only the difference of b and γ matters
            difference = -(8 * b + self.epsilon)
            logits = logits.scatter_add(1, own[:, None], difference.expand(len(own), 1))
        # The text weights a sample by 1 / |C_k|, inside a mean over all N samples.
        weight = 1 / counts.to(logits.dtype)
        total = F.cross_entropy(logits, own, weight, reduction="sum") / len(own)
        return Terms(total, {})
