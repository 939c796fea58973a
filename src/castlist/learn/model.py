"""BallModel: the MLP φ, the ball's squared radius b, and τ = 4b."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.errors import InputError
from castlist.learn.neighbours import average_neighbours
from castlist.learn.settings import TrainSettings


class BallModel(nn.Module):
    """Maps features to embeddings in which every character fills a ball of one size.

    Parameters
    ----------
    dims : sequence of int
        Length of a feature, of every hidden layer, and of an embedding.
    normalise : bool
        Put embeddings on the unit sphere.
    b_hat : float
        Where b̂ starts; b = softplus(b̂).
    residual : bool
        Add the MLP's output to its (standardised) input, and start as the identity: for features
        that keep people apart already. The paper's MLP starts at random.
    rounds, reach, nearest : int, float and float
        How often an embedding is replaced by the mean of its neighbours in its video, the cosine
        above which two are neighbours, and the most neighbours of one, as a multiple of √n, 0 for
        all (``learn/neighbours.py``). The paper averages nothing.
    describer : str
        Name of the base CNN whose features it takes.

    Attributes
    ----------
    operating : float or None
        A τ chosen on validation, used instead of 4b.
    mean, scale : Tensor
        Features are standardised by these first; 0 and 1 until :meth:`standardise_by` is called.
    settings, validation : dict
        How it was trained, and how well it did; saved with it.
    """

    mean: Tensor
    scale: Tensor

    def __init__(
        self,
        dims: Sequence[int] = (256, *TrainSettings.hidden, TrainSettings.embedding),
        *,
        normalise: bool = True,
        b_hat: float = TrainSettings.b_hat,
        residual: bool = False,
        rounds: int = TrainSettings.rounds,
        reach: float = TrainSettings.reach,
        nearest: float = TrainSettings.nearest,
        describer: str = "",
    ) -> None:
        super().__init__()
        self.dims = tuple(int(d) for d in dims)
        if len(self.dims) < 2 or min(self.dims) < 1:
            raise InputError(f"dims must be two or more positive numbers, not {list(dims)}")
        if residual and self.dims[0] != self.dims[-1]:
            raise InputError(
                f"a residual model has embeddings as long as features, not {self.dims[-1]} and "
                f"{self.dims[0]}"
            )
        if rounds and not normalise:
            raise InputError("neighbours are averaged on the unit sphere only")
        self.normalise = normalise
        self.residual = residual
        self.rounds, self.reach, self.nearest = int(rounds), float(reach), float(nearest)
        self.operating: float | None = None
        self.describer = describer
        self.settings: dict[str, Any] = {}
        self.validation: dict[str, Any] = {}
        layers = [nn.Linear(a, b) for a, b in zip(self.dims, self.dims[1:], strict=False)]
        if residual:
            nn.init.zeros_(layers[-1].weight)
            nn.init.zeros_(layers[-1].bias)
        self.linears = nn.ModuleList(layers)
        self.b_hat = nn.Parameter(torch.tensor(float(b_hat)))
        self.register_buffer("mean", torch.zeros(self.dims[0]))
        self.register_buffer("scale", torch.ones(self.dims[0]))

    @property
    def b(self) -> Tensor:
        """The squared ball radius, softplus(b̂), as a tensor with gradient."""
        return F.softplus(self.b_hat)

    @property
    def threshold(self) -> float:
        """τ: 4b (sec. 3.3), or the operating τ if there is one."""
        return 4 * self.b.item() if self.operating is None else self.operating

    @property
    def takes_evidence(self) -> bool:
        """Whether it takes evidence of pairs of tracks besides their features: it averages some."""
        return self.rounds > 0

    @property
    def n_weights(self) -> int:
        """Number of weights of the MLP."""
        return sum(p.numel() for p in self.linears.parameters())

    def standardise_by(self, mean: ArrayLike, scale: ArrayLike) -> None:
        """Set the mean and scale that features are standardised by.

        On unit-norm features the MLP's usual start maps everything to nearly one point, and
        training never leaves it; features of unit variance train.
        """
        self.mean.copy_(torch.as_tensor(np.asarray(mean, np.float32)))
        self.scale.copy_(torch.as_tensor(np.asarray(scale, np.float32)))

    def forward(self, features: Tensor) -> Tensor:
        """Map the features of one set of faces or tracks to embeddings, with gradient."""
        return self._averaged(self.alone(features))

    def alone(self, features: Tensor) -> Tensor:
        """Map features to embeddings, each by itself."""
        start = x = (features - self.mean) / self.scale
        for linear in self.linears[:-1]:
            x = linear(x).relu_()
        x = self.linears[-1](x)
        if self.residual:
            x = x + start
        return F.normalize(x, dim=1) if self.normalise else x

    @torch.no_grad()
    def embed(
        self,
        features: ArrayLike,
        sets: ArrayLike | None = None,
        *,
        together: ArrayLike | None = None,
        apart: ArrayLike | None = None,
        batch: int = 8192,
    ) -> NDArray[np.float32]:
        """Map features to embeddings.

        Parameters
        ----------
        features : array-like of shape (n, dims[0])
            Usually one mean feature a track.
        sets : array-like of shape (n,), optional
            Which video a track is from, for models that average neighbours; all of one if not
            given.
        together, apart : array-like of int, shape (m, 2), optional
            Pairs of rows that are one person, or two, by other evidence than their features: for
            models that average neighbours. Pairs of two videos do not count.
        batch : int
            Rows at once.
        """
        rows = np.asarray(features)
        if rows.ndim != 2 or rows.shape[1] != self.dims[0]:
            raise InputError(
                f"this model takes {self.dims[0]}-d features"
                + (f" of {self.describer}" if self.describer else "")
                + f", not an array of shape {rows.shape}"
            )
        if not np.isfinite(rows).all():
            row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise InputError(f"the feature in row {row} is not finite")
        out = np.empty((len(rows), self.dims[-1]), np.float32)
        for start in range(0, len(rows), batch):
            block = torch.from_numpy(np.ascontiguousarray(rows[start : start + batch], np.float32))
            out[start : start + batch] = self.alone(block.to(self.mean.device)).cpu().numpy()
        if not self.rounds:
            return out
        of = np.zeros(len(rows), np.int64) if sets is None else np.asarray(sets)
        if of.shape != (len(rows),):
            raise InputError(f"sets must have one value for each of the {len(rows)} rows")
        for one in np.unique(of):
            own = np.flatnonzero(of == one)
            points = torch.from_numpy(out[own]).to(self.mean.device)
            links = (_within(own, pairs, len(rows)) for pairs in (together, apart))
            out[own] = self._averaged(points, *links).cpu().numpy()
        return out

    def _averaged(
        self, points: Tensor, together: Tensor | None = None, apart: Tensor | None = None
    ) -> Tensor:
        return average_neighbours(points, self.reach, self.rounds, self.nearest, together, apart)


def _within(own: NDArray[np.int64], pairs: ArrayLike | None, n: int) -> Tensor | None:
    """Return those of some pairs of rows that are both among some rows, as places in these."""
    if pairs is None:
        return None
    place = np.full(n, -1)
    place[own] = np.arange(len(own))
    found = place[np.asarray(pairs, np.int64).reshape(-1, 2)]
    return torch.from_numpy(found[(found >= 0).all(axis=1)])
