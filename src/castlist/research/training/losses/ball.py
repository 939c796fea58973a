"""The Ball Cluster Learning loss (paper, sec. 3.1 and 3.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from castlist.errors import InputError
from castlist.research.training.losses.base import Loss, Terms, centroid_distances, centroids
from castlist.research.training.train_settings import TrainSettings


class BallLoss(Loss):
    """α L_sim + L_dis: each identity in a ball of squared radius b, others beyond γ = 9b + ε.

    The parts are ``similar`` (L_sim), ``dissimilar`` (L_dis) and ``nearest_other``, the mean
    squared distance of a sample to the nearest centroid of another identity.

    Parameters
    ----------
    alpha : float
        Weight of L_sim.
    epsilon : float
        Margin ε in γ.
    normalise : bool
        Whether embeddings, and so centroids, have unit length.
    skip_singletons : bool
        Average L_sim only over samples whose identity has another sample in the batch. A single
        sample is its own centroid; many of them, as in a long tail, make L_sim small.
    """

    def __init__(
        self,
        alpha: float = TrainSettings.alpha,
        epsilon: float = TrainSettings.epsilon,
        normalise: bool = True,
        skip_singletons: bool = TrainSettings.skip_singletons,
    ) -> None:
        super().__init__()
        if alpha < 0 or epsilon < 0:
            raise InputError(f"alpha and epsilon must not be negative: {alpha}, {epsilon}")
        self.alpha = alpha
        self.epsilon = epsilon
        self.normalise = normalise
        self.skip_singletons = skip_singletons

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch. Labels may be any integers."""
        identities, own = torch.unique(labels, return_inverse=True)
        centres = centroids(embeddings, own, len(identities), self.normalise)
        # Finding the nearest centroid takes all N × K distances, but no gradient. The gradient
        # flows through two distances per sample.
        with torch.no_grad():
            scores = torch.addmm(centres.square().sum(1), embeddings, centres.T, alpha=-2)
            scores.scatter_(1, own[:, None], torch.inf)
            other = scores.argmin(1)
        outside = (centroid_distances(embeddings, centres, own) - b).clamp_min(0)
        if self.skip_singletons:
            counted = torch.bincount(own)[own] > 1
            similar = (outside * counted).sum() / counted.sum().clamp_min(1)
        else:
            similar = outside.mean()
        if len(centres) < 2:  # no other identity
            dissimilar = nearest = 0 * similar.detach()
        else:
            distance = centroid_distances(embeddings, centres, other)
            dissimilar = (9 * b + self.epsilon - distance).clamp_min(0).mean()
            nearest = distance.detach().mean()
        return Terms(
            self.alpha * similar + dissimilar,
            {"similar": similar, "dissimilar": dissimilar, "nearest_other": nearest},
        )
