"""BallModel: the MLP φ, the ball's squared radius b, and τ = 4b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import InputError
from castlist.learn.neighbours import average_neighbours, unit
from castlist.learn.train_settings import TrainSettings
from castlist.parallel import in_threads


class BallModel:
    """Maps features to embeddings in which every character fills a ball of one size.

    Parameters
    ----------
    dims : sequence of int
        Length of a feature, of every hidden layer, and of an embedding.
    normalise : bool
        Put embeddings on the unit sphere.
    b_hat : float
        b̂; b = softplus(b̂).
    residual : bool
        Add the MLP's output to its (standardised) input, and start as the identity: for features
        that keep people apart already. The paper's MLP starts at random.
    rounds, reach, nearest : int, float and float
        How often an embedding is replaced by the mean of its neighbours in its video, the cosine
        above which two are neighbours, and the most neighbours of one, as a multiple of √n, 0 for
        all (``learn/neighbours.py``). The paper averages nothing.
    describer : str
        Name of the base CNN whose features it takes.
    seed : int
        Draws the weights of a model that is not trained yet.

    Attributes
    ----------
    weights, biases : list of ndarray of float32
        Of every layer: shape (outputs, inputs), and (outputs,).
    mean, scale : ndarray of float32
        Features are standardised by these first; 0 and 1 until :meth:`standardise_by` is called.
    operating : float or None
        A τ chosen on validation, used instead of 4b.
    settings, validation : dict
        How it was trained, and how well it did; saved with it.
    """

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
        seed: int = 0,
    ) -> None:
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
        self.b_hat = float(b_hat)
        self.mean = np.zeros(self.dims[0], np.float32)
        self.scale = np.ones(self.dims[0], np.float32)
        rng = np.random.default_rng(seed)
        self.weights: list[NDArray[np.float32]] = []
        self.biases: list[NDArray[np.float32]] = []
        for into, out in pairwise(self.dims):
            bound = np.float32(into**-0.5)  # as PyTorch draws them
            self.weights.append(bound * (2 * rng.random((out, into), np.float32) - 1))
            self.biases.append(bound * (2 * rng.random(out, np.float32) - 1))
        if residual:
            self.weights[-1][:], self.biases[-1][:] = 0, 0

    @property
    def b(self) -> float:
        """The squared ball radius, softplus(b̂)."""
        return float(np.logaddexp(np.float32(0), np.float32(self.b_hat)))

    @property
    def threshold(self) -> float:
        """τ: 4b (sec. 3.3), or the operating τ if there is one."""
        return 4 * self.b if self.operating is None else self.operating

    @property
    def takes_evidence(self) -> bool:
        """Whether it takes evidence of pairs of tracks besides their features: it averages some."""
        return self.rounds > 0

    @property
    def n_weights(self) -> int:
        """Number of weights of the MLP."""
        return sum(one.size for one in (*self.weights, *self.biases))

    def standardise_by(self, mean: ArrayLike, scale: ArrayLike) -> None:
        """Set the mean and scale that features are standardised by.

        On unit-norm features the MLP's usual start maps everything to nearly one point, and
        training never leaves it; features of unit variance train.
        """
        self.mean[:], self.scale[:] = mean, scale

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return all that is trained or measured, by its name in a model file."""
        named: dict[str, NDArray[np.float32]] = {
            "b_hat": np.array(self.b_hat, np.float32),
            "mean": self.mean,
            "scale": self.scale,
        }
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            named |= {f"linears.{i}.weight": weight, f"linears.{i}.bias": bias}
        return named

    def set_tensors(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        """Take what :meth:`tensors` of such a model returned.

        Raises
        ------
        ValueError
            A tensor is missing, there is another, or one is of another shape or type.
        """
        own = self.tensors()
        if own.keys() != tensors.keys():
            raise ValueError(f"no tensors {sorted(own.keys() ^ tensors.keys())}")
        for name, value in tensors.items():
            if value.shape != own[name].shape or value.dtype != np.float32:
                raise ValueError(f"{name!r} is {value.dtype} of shape {value.shape}")
        self.b_hat = float(tensors["b_hat"])
        self.standardise_by(tensors["mean"], tensors["scale"])
        for i in range(len(self.weights)):
            self.weights[i] = np.array(tensors[f"linears.{i}.weight"])
            self.biases[i] = np.array(tensors[f"linears.{i}.bias"])

    def alone(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map features to embeddings, each by itself."""
        start = x = (features - self.mean) / self.scale
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = np.maximum(x @ weight.T + bias, 0)
        x = x @ self.weights[-1].T + self.biases[-1]
        if self.residual:
            x = x + start
        return np.asarray(unit(x) if self.normalise else x, np.float32)

    def embed(
        self,
        features: ArrayLike,
        sets: ArrayLike | None = None,
        *,
        together: ArrayLike | None = None,
        apart: ArrayLike | None = None,
        batch: int = 8192,
    ) -> NDArray[np.float32]:
        """Map features to embeddings; the number of threads does not change them.

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
        starts = range(0, len(rows), batch)
        for start, some in in_threads(
            starts, lambda start: self.alone(np.asarray(rows[start : start + batch], np.float32))
        ):
            out[start : start + batch] = some
        if not self.rounds:
            return out
        of = np.zeros(len(rows), np.int64) if sets is None else np.asarray(sets)
        if of.shape != (len(rows),):
            raise InputError(f"sets must have one value for each of the {len(rows)} rows")
        for one in np.unique(of):
            own = np.flatnonzero(of == one)
            links = (_within(own, pairs, len(rows)) for pairs in (together, apart))
            out[own] = average_neighbours(out[own], self.reach, self.rounds, self.nearest, *links)
        return out


def _within(own: NDArray[np.int64], pairs: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    """Return those of some pairs of rows that are both among some rows, as places in these."""
    if pairs is None:
        return None
    place = np.full(n, -1)
    place[own] = np.arange(len(own))
    found = place[np.asarray(pairs, np.int64).reshape(-1, 2)]
    return found[(found >= 0).all(axis=1)]
