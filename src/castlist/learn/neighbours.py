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
_ROWS = 512
_ROUNDING = 1e-6  # of a cosine: the same one, computed in blocks of another size


def average_neighbours(points: Tensor, reach: float, rounds: int, nearest: float = 0.0) -> Tensor:
    """Replace every point of the unit sphere by a mean of its neighbours, itself among them.

    z_i ← unit(Σ_j [cos(z_i, z_j) − reach]₊ z_j), repeated ``rounds`` times. It is differentiable: a
    model is trained through it.

    Parameters
    ----------
    points : Tensor of shape (n, D)
        Of unit length.
    reach : float
        Cosine above which two points are neighbours.
    rounds : int
        Number of rounds.
    nearest : float
        Two points are neighbours only if one of them is among the k most similar to the other,
        itself included, with k = ``nearest`` · √n. Without that bound, the means of two people who
        look alike and have many tracks move together. In a longer video a person has more tracks,
        so k grows with n. 0 is no bound.
    """
    for _ in range(rounds):
        blocks = (points,) if points.requires_grad else torch.split(points, _ROWS)
        least = _least_cosine(points, reach, nearest)
        first = torch.split(least, [len(rows) for rows in blocks])
        points = F.normalize(
            torch.cat(
                [
                    _weights(rows @ points.T, torch.minimum(own[:, None], least), reach) @ points
                    for rows, own in zip(blocks, first, strict=True)
                ]
            ),
            dim=1,
        )
    return points


@torch.no_grad()
def _least_cosine(points: Tensor, reach: float, nearest: float) -> Tensor:
    """Return the cosine of each point to the last of its nearest ones."""
    count = max(2, round(nearest * len(points) ** 0.5))
    if not nearest or count >= len(points):
        return points.new_full((len(points),), reach)
    last = [
        (rows @ points.T).topk(count, dim=1).values[:, -1] for rows in torch.split(points, _ROWS)
    ]
    return torch.cat(last) - _ROUNDING


def _weights(cosine: Tensor, least: Tensor, reach: float) -> Tensor:
    """Return the weights of the mean: how far a cosine is above the reach, if it is not below."""
    return (cosine - reach).clamp_min(0) * (cosine >= least)
