"""Logistic Discriminant Metric Learning (paper, sec. 3.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.learn.losses.base import Loss, Terms
from castlist.learn.losses.pairs import draw_pairs, mean_or_zero, pair_distances


class LDMLLoss(Loss):
    """Binary cross-entropy of p = σ(β − d²), the probability that a pair is of one person.

    Parameters
    ----------
    beta : float
        Where β starts; it is trained.
    """

    def __init__(self, beta: float = 0.5) -> None:  # not in the text; the authors' released loss
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(float(beta)))

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Compute the loss of one batch; b is not used."""
        pairs = draw_pairs(labels, self.generator)
        same = F.softplus(pair_distances(embeddings, pairs.same) - self.beta)  # −log p
        different = F.softplus(self.beta - pair_distances(embeddings, pairs.different))
        # A plain mean over the pairs. The text's sum over all pairs of a batch is nearly all about
        # negative ones, and β would fall until nobody is alike; here as many are drawn as there
        # are positive ones, so that each kind has half the say.
        total = mean_or_zero(torch.cat([same, different]))
        parts = {"same": mean_or_zero(same), "different": mean_or_zero(different)}
        return Terms(total, {**parts, "beta": self.beta})
