"""The Ball Cluster Learning loss (paper, sec. 3.1 and 3.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from castlist.errors import InputError
from castlist.learn.losses.base import Loss, Terms
from castlist.learn.losses.centres import centroids, squared_distance
from castlist.learn.train_settings import TrainSettings


class BallLoss(Loss):
    """α L_sim + L_dis: every identity inside a ball of squared radius b, others beyond 9b + ε.

    Its parts are ``similar`` (L_sim), ``dissimilar`` (L_dis) and ``nearest_other``, the mean
    squared distance to the nearest centroid of somebody else.

    Parameters
    ----------
    alpha : float
        Weight of L_sim.
    epsilon : float
        Margin between 9b and γ.
    normalise : bool
        Whether embeddings, and so centroids, are on the unit sphere.
    company : bool
        Average L_sim over the samples whose identity has another in the batch. A sample alone is
        its own centroid, and in a long tail such samples thin L_sim out.
    """

    def __init__(
        self,
        alpha: float = TrainSettings.alpha,
        epsilon: float = TrainSettings.epsilon,
        normalise: bool = True,
        company: bool = TrainSettings.company,
    ) -> None:
        super().__init__()
        if alpha < 0 or epsilon < 0:
            raise InputError(f"alpha and epsilon must not be negative: {alpha}, {epsilon}")
        self.alpha = alpha
        self.epsilon = epsilon
        self.normalise = normalise
        self.company = company

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Compute the loss of one batch; labels are any integers."""
        identities, own = torch.unique(labels, return_inverse=True)
        centres = centroids(embeddings, own, len(identities), self.normalise)
        # Which centroid is nearest needs all N × K distances, but no gradient: that flows only
        # through the two distances per sample that the loss is made of.
        with torch.no_grad():
            scores = torch.addmm(centres.square().sum(1), embeddings, centres.T, alpha=-2)
            scores.scatter_(1, own[:, None], torch.inf)
            other = scores.argmin(1)
        outside = (squared_distance(embeddings, centres, own) - b).clamp_min(0)
        if self.company:
            among = torch.bincount(own)[own] > 1
            similar = (outside * among).sum() / among.sum().clamp_min(1)
        else:
            similar = outside.mean()
        if len(centres) < 2:  # nobody to be kept apart from
            dissimilar = nearest = 0 * similar.detach()
        else:
            distance = squared_distance(embeddings, centres, other)
            dissimilar = (9 * b + self.epsilon - distance).clamp_min(0).mean()
            nearest = distance.detach().mean()
        return Terms(
            self.alpha * similar + dissimilar,
            {"similar": similar, "dissimilar": dissimilar, "nearest_other": nearest},
        )
