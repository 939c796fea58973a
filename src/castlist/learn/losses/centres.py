"""Centroids of a batch's identities, and distances to them (paper, Eq. 1)."""

from __future__ import annotations

import torch
from torch import Tensor


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
