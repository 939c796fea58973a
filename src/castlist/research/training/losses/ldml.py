"""Logistic Discriminant Metric Learning (paper, sec. 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.research.training.losses.base import (
    Loss,
    Terms,
    draw_pairs,
    mean_or_zero,
    pair_distances,
)


class LDMLLoss(Loss):
    """Binary cross-entropy of p = σ(β − d²), the probability that a pair shows one person.

    Parameters
    ----------
    beta : float
        Initial value of β, which is trained.
    """

    def __init__(self, beta: float = 0.5) -> None:  # not in the text: the authors' released loss
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(float(beta)))

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch; b is not used."""
        pairs = draw_pairs(labels, self.generator)
        same = F.softplus(pair_distances(embeddings, pairs.same) - self.beta)  # −log p
        different = F.softplus(self.beta - pair_distances(embeddings, pairs.different))
        # The text's sum over all pairs of a batch is dominated by negative pairs, and β would fall
        # until no pair counts as one person. Here both kinds are equally many.
        total = mean_or_zero(torch.cat([same, different]))
        parts = {"same": mean_or_zero(same), "different": mean_or_zero(different)}
        return Terms(total, {**parts, "beta": self.beta})
