"""The contrastive loss with a trained margin (paper, sec. 3.4)."""

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


class ContrastiveLoss(Loss):
    """d²/2 for a pair of one person, [m − d]₊²/2 for a pair of two.

    Parameters
    ----------
    margin_hat : float
        Initial value of m̂. The margin is m = softplus(m̂), and m̂ is trained.
    """

    def __init__(self, margin_hat: float = 1.0) -> None:  # not in the text: the released loss
        super().__init__()
        self.margin_hat = nn.Parameter(torch.tensor(float(margin_hat)))

    @property
    def margin(self) -> Tensor:
        """The margin m, with gradient."""
        return F.softplus(self.margin_hat)

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch; b is not used."""
        pairs = draw_pairs(labels, self.generator)
        same = pair_distances(embeddings, pairs.same) / 2
        # The gradient of a root at 0 is not finite; below the clamp there is none.
        distance = pair_distances(embeddings, pairs.different).clamp_min(1e-12).sqrt()
        different = (self.margin - distance).clamp_min(0).square() / 2
        total = mean_or_zero(torch.cat([same, different]))
        parts = {"same": mean_or_zero(same), "different": mean_or_zero(different)}
        return Terms(total, {**parts, "margin": self.margin})
