"""The Ball Cluster Learning loss (paper, sec. 3.1 and 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from castlist.errors import InputError
from castlist.learn.settings import TrainSettings


class BallTerms(NamedTuple):
    """The loss and what it is made of."""

    total: Tensor
    similar: Tensor
    dissimilar: Tensor
    nearest_other: Tensor  # mean squared distance to the nearest centroid of somebody else


class BallLoss(nn.Module):
    """α L_sim + L_dis: every identity inside a ball of squared radius b, others beyond 9b + ε.

    Parameters
    ----------
    alpha : float
        Weight of L_sim.
    epsilon : float
        Margin between 9b and γ.
    normalise : bool
        Whether embeddings, and so centroids, are on the unit sphere.
    """

    def __init__(
        self,
        alpha: float = TrainSettings.alpha,
        epsilon: float = TrainSettings.epsilon,
        normalise: bool = TrainSettings.normalise,
    ) -> None:
        super().__init__()
        if alpha < 0 or epsilon < 0:
            raise InputError(f"alpha and epsilon must not be negative: {alpha}, {epsilon}")
        self.alpha = alpha
        self.epsilon = epsilon
        self.normalise = normalise

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> BallTerms:
        """Compute the loss of one batch.

        Parameters
        ----------
        embeddings : Tensor of shape (N, D)
        labels : Tensor of int, shape (N,)
            Identities, as any integers.
        b : Tensor
            The squared radius.
        """
        identities, own = torch.unique(labels, return_inverse=True)
        centres = centroids(embeddings, own, len(identities), self.normalise)
        # Which centroid is nearest needs all N × K distances, but no gradient: that flows only
        # through the two distances per sample that the loss is made of.
        with torch.no_grad():
            scores = torch.addmm(centres.square().sum(1), embeddings, centres.T, alpha=-2)
            scores.scatter_(1, own[:, None], torch.inf)
            other = scores.argmin(1)
        similar = (squared_distance(embeddings, centres, own) - b).clamp_min(0).mean()
        if len(centres) < 2:  # nobody to be kept apart from
            zero = 0 * similar
            return BallTerms(self.alpha * similar + zero, similar, zero, zero.detach())
        distance = squared_distance(embeddings, centres, other)
        gamma = 9 * b + self.epsilon
        dissimilar = (gamma - distance).clamp_min(0).mean()
        return BallTerms(
            self.alpha * similar + dissimilar, similar, dissimilar, distance.detach().mean()
        )


def centroids(embeddings: Tensor, own: Tensor, n_identities: int, normalise: bool) -> Tensor:
    """Centroid of each identity (Eq. 1); ``own`` numbers identities 0 to K − 1.

    On the sphere, an identity whose embeddings add up to 0 has no centroid; it gets the origin,
    which is equally far from all of its samples, and no gradient.
    """
    sums = embeddings.new_zeros(n_identities, embeddings.shape[1]).index_add(0, own, embeddings)
    if not normalise:
        return sums / torch.bincount(own, minlength=n_identities)[:, None]
    squares = sums.square().sum(1, keepdim=True)
    tiny = squares < 1e-12
    # The root is taken of 1 where the sum is 0: a root's gradient at 0 is not finite.
    return torch.where(tiny, torch.zeros_like(sums), sums) / squares.masked_fill(tiny, 1.0).sqrt()


def squared_distance(embeddings: Tensor, centres: Tensor, which: Tensor) -> Tensor:
    """Squared distance of each embedding to its chosen centroid."""
    return (embeddings - centres.index_select(0, which)).square().sum(1)
