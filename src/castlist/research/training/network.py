"""BallNetwork: a BallModel in PyTorch, for training."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.model.ball_model import BallModel
from castlist.model.neighbours import N_QUANTILES, ROUNDING, neighbour_count


class BallNetwork(nn.Module):
    """The layers and b̂ of a model, as PyTorch parameters.

    Parameters
    ----------
    model : BallModel
        Initial weights. The model itself is not changed.
    """

    mean: Tensor
    scale: Tensor
    strangers: Tensor

    def __init__(self, model: BallModel) -> None:
        super().__init__()
        self._model = model
        with torch.random.fork_rng(devices=[]):  # these weights are replaced
            layers = [nn.Linear(into, out) for into, out in pairwise(model.dims)]
        self.linears = nn.ModuleList(layers)
        self.b_hat = nn.Parameter(torch.empty(()))
        self.register_buffer("mean", torch.empty(model.dims[0]))
        self.register_buffer("scale", torch.empty(model.dims[0]))
        self.register_buffer("strangers", torch.empty(N_QUANTILES))
        self.load_state_dict({n: torch.from_numpy(t) for n, t in model.tensors().items()})

    def draw(self) -> None:
        """Draw initial weights by PyTorch. A residual network starts as the identity."""
        layers = [one for one in self.linears if isinstance(one, nn.Linear)]
        for layer in layers:
            layer.reset_parameters()
        if self._model.residual:
            nn.init.zeros_(layers[-1].weight)
            nn.init.zeros_(layers[-1].bias)

    @property
    def b(self) -> Tensor:
        """The squared ball radius, softplus(b̂), with gradient."""
        return F.softplus(self.b_hat)

    def to_model(self) -> BallModel:
        """Return a model with the current weights."""
        model = deepcopy(self._model)
        model.set_tensors({n: t.detach().cpu().numpy() for n, t in self.state_dict().items()})
        return model

    def forward(self, features: Tensor) -> Tensor:
        """Return the embeddings of the faces or tracks of one video, with gradient."""
        model = self._model
        start = x = (features - self.mean) / self.scale
        for linear in self.linears[:-1]:
            x = linear(x).relu_()
        x = self.linears[-1](x)
        if model.residual:
            x = x + start
        if model.normalise:
            x = F.normalize(x, dim=1)
        # At the model's own reach: synthetic casts are small, and with a reach chosen for each
        # of them, b varies more between seeds.
        return average_with_gradient(x, model.reach, model.rounds, model.nearest, model.share)


def average_with_gradient(
    points: Tensor, reach: float, rounds: int, nearest: float = 0.0, share: float = 0.0
) -> Tensor:
    """Average neighbours with gradient, without evidence from pairs.

    See :func:`castlist.model.neighbours.average_neighbours`.
    """
    count = neighbour_count(len(points), nearest)
    for _ in range(rounds):
        similarity = points @ points.T
        weights = (similarity - reach).clamp_min(0)
        limits = [] if count is None else [(count, 1.0)]
        if share and len(points) > 1:
            limits.append((2, share))
        for rank, part in limits:
            with torch.no_grad():
                least = part * similarity.topk(rank, dim=1).values[:, -1] - ROUNDING
                near = similarity >= torch.minimum(least[:, None], least)
            weights = weights * near
        points = F.normalize(weights @ points, dim=1)
    return points
