"""The loss of prototypical networks, plain and with the ball's b and γ (paper, sec. 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from castlist.learn.losses.base import Loss, Terms
from castlist.learn.losses.centres import centroids
from castlist.learn.train_settings import TrainSettings


class PrototypicalLoss(Loss):
    """Cross-entropy of a softmax over −d² to every centroid of the batch (Eq. for L_proto).

    Parameters
    ----------
    ball : bool
        Add b to the logit of the own centroid and γ = 9b + ε to the others'; plain has neither.
    epsilon : float
        Margin between 9b and γ.
    normalise : bool
        Whether embeddings, and so centroids, are on the unit sphere.
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
        """Compute the loss of one batch; labels are any integers."""
        identities, own, counts = torch.unique(labels, return_inverse=True, return_counts=True)
        centres = centroids(embeddings, own, len(identities), self.normalise)
        # −d² without the sample's own square, which is the same for every centroid and cancels.
        logits = torch.addmm(-centres.square().sum(1), embeddings, centres.T, alpha=2)
        if self.ball:  # b for the own and γ for the others: only the difference matters
            lead = -(8 * b + self.epsilon)
            logits = logits.scatter_add(1, own[:, None], lead.expand(len(own), 1))
        # 1 / |C_k| inside a mean over N, as the text has it.
        weight = 1 / counts.to(logits.dtype)
        total = F.cross_entropy(logits, own, weight, reduction="sum") / len(own)
        return Terms(total, {})
