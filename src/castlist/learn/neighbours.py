"""Neighbours: a track's embedding becomes the mean of those near it, in the same video.

Complete linkage looks at the two tracks of a character that are farthest apart, and among hundreds
there are always two bad ones. Averaged with its neighbours, a blurred track of somebody who has
good ones as well stands where the good ones do; somebody with one track stays where they are.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Rows of a matrix of cosines at once, where no gradient needs all of them.
_ROWS = 2048


def average_neighbours(points: Tensor, reach: float, rounds: int) -> Tensor:
    """Replace every point of the unit sphere by a mean of its neighbours, itself among them.

    z_i ← unit(Σ_j [cos(z_i, z_j) − reach]₊ z_j), so many times over. It is differentiable: a model
    is trained through it.

    Parameters
    ----------
    points : Tensor of shape (n, D)
        Of unit length.
    reach : float
        Cosine from which on two are neighbours.
    rounds : int
        How often.
    """
    for _ in range(rounds):
        blocks = (points,) if points.requires_grad else torch.split(points, _ROWS)
        points = F.normalize(
            torch.cat([(rows @ points.T - reach).clamp_min_(0) @ points for rows in blocks]), dim=1
        )
    return points
