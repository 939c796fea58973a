"""Neighbours: a track's embedding becomes the mean of those near it, in the same video.

Complete linkage looks at the two tracks of a character that are farthest apart, and among hundreds
there are always two bad ones. Averaged with its neighbours, a blurred track of somebody who has
good ones as well stands where the good ones do; somebody with one track stays where they are.

What is known of two tracks besides their faces goes in here: tracks that share a frame are not
averaged, and tracks at one place of one camera set-up are, also if the face is turned away in one.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Rows of a matrix of cosines at once, where no gradient needs all of them.
_ROWS = 512
_ROUNDING = 1e-6  # of a cosine: the same one, computed in blocks of another size
#: What is added to the cosine of two points that are one person by other evidence.
_TOGETHER = 1.0


def average_neighbours(
    points: Tensor,
    reach: float,
    rounds: int,
    nearest: float = 0.0,
    together: Tensor | None = None,
    apart: Tensor | None = None,
) -> Tensor:
    """Replace every point of the unit sphere by a mean of its neighbours, itself among them.

    z_i ← unit(Σ_j [s_ij − reach]₊ z_j), repeated ``rounds`` times, where the similarity s_ij is the
    cosine, and one more for pairs of ``together``. It is differentiable: a model is trained through
    it.

    Parameters
    ----------
    points : Tensor of shape (n, D)
        Of unit length.
    reach : float
        Similarity above which two points are neighbours.
    rounds : int
        Number of rounds.
    nearest : float
        Two points are neighbours only if one of them is among the k most similar to the other,
        itself included, with k = ``nearest`` · √n. Without that bound, the means of two people who
        look alike and have many tracks move together. In a longer video a person has more tracks,
        so k grows with n. 0 is no bound.
    together : Tensor of int, shape (m, 2), optional
        Pairs that are probably one person by other evidence than their cosine.
    apart : Tensor of int, shape (m, 2), optional
        Pairs that are two people, and never neighbours.
    """
    more, never = _by_row(together, points), _by_row(apart, points)
    for _ in range(rounds):
        rows = len(points) if points.requires_grad else _ROWS
        starts = range(0, len(points), max(rows, 1))
        count = max(2, round(nearest * len(points) ** 0.5))
        bounded = bool(nearest) and count < len(points)
        least = points.new_full((len(points),), reach)
        if bounded:
            with torch.no_grad():
                last = [
                    _similarity(points, k, rows, more).topk(count, dim=1).values[:, -1]
                    for k in starts
                ]
                least = torch.cat(last) - _ROUNDING
        means = []
        for k in starts:
            similarity = _similarity(points, k, rows, more)
            near = similarity >= torch.minimum(least[k : k + rows, None], least)
            weights = (similarity - reach).clamp_min(0) * near
            means.append(_at(weights, k, rows, never, 0.0) @ points)
        points = F.normalize(torch.cat(means), dim=1) if means else points
    return points


def _similarity(points: Tensor, start: int, rows: int, more: Tensor) -> Tensor:
    """Return the similarity of some points to all."""
    cosine = points[start : start + rows] @ points.T
    if not len(more):
        return cosine
    return cosine + _at(torch.zeros_like(cosine), start, rows, more, _TOGETHER)


def _at(block: Tensor, start: int, rows: int, pairs: Tensor, value: float) -> Tensor:
    """Return some rows of a matrix with a value at some pairs."""
    if not len(pairs):
        return block
    first, last = torch.searchsorted(
        pairs[:, 0].contiguous(), torch.tensor([start, start + rows], device=pairs.device)
    )
    own = pairs[first:last]
    return block.index_put((own[:, 0] - start, own[:, 1]), block.new_tensor(value))


def _by_row(pairs: Tensor | None, points: Tensor) -> Tensor:
    """Return pairs in both directions, in order of their first point."""
    if pairs is None or not len(pairs):
        return torch.empty((0, 2), dtype=torch.int64, device=points.device)
    both = torch.cat([pairs, pairs.flip(1)]).to(points.device)
    return both[torch.argsort(both[:, 0], stable=True)]
