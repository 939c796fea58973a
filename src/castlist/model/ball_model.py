"""BallModel: the MLP φ, the ball's squared radius b, and τ = 4b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import InputError
from castlist.model.neighbours import N_QUANTILES, average_neighbours, reach_of, unit
from castlist.parallel import in_threads


class BallModel:
    """Maps features to embeddings in which every character lies in a ball of the same size.

    Parameters
    ----------
    dims : sequence of int
        Length of a feature, width of each hidden layer, and length of an embedding.
    normalise : bool
        Whether embeddings are normalised to unit length.
    b_hat : float
        Initial value of b̂, where b = softplus(b̂).
    residual : bool
        Whether the MLP's output is added to its (standardised) input. The model then starts as the
        identity, which suits features that separate people already. The paper's is not residual.
    rounds : int
        Number of neighbour-averaging rounds (``model/neighbours.py``). The paper has none.
    reach : float
        Cosine similarity above which two embeddings are neighbours; a minimum if ``false_rate`` is
        not 0.
    false_rate : float
        Maximum share of pairs of different people among pairs of neighbours, as expected from
        ``strangers``. The reach of each video is the lowest that gives it. 0 for a fixed reach.
    nearest : float
        Maximum number of neighbours of an embedding, as a multiple of √n among n embeddings; 0 for
        no maximum.
    share : float
        Two embeddings are neighbours only if their cosine is at least this share of the highest
        cosine that one of them has; 0 for no minimum.
    describer : str
        Name of the base CNN that computed the features.
    seed : int
        Seed of the initial weights.

    Attributes
    ----------
    weights, biases : list of ndarray of float32
        One array per layer, of shape (outputs, inputs) and (outputs,).
    mean, scale : ndarray of float32
        Features are first standardised by these; 0 and 1 unless :meth:`standardise_by` is called.
    strangers : ndarray of float32, shape (16,)
        Quantiles of the cosines of different people: the k-th is exceeded by 2^−k of them.
    operating : float or None
        A τ chosen on validation tracks, used instead of 4b.
    settings, validation : dict
        Training settings and validation scores, saved with the model.
    """

    def __init__(
        self,
        dims: Sequence[int] = (256, 256, 128, 64, 64),
        *,
        normalise: bool = True,
        b_hat: float = 0.1,
        residual: bool = False,
        rounds: int = 0,
        reach: float = 0.35,
        false_rate: float = 0.0,
        nearest: float = 0.0,
        share: float = 0.0,
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
            raise InputError("neighbour averaging requires embeddings on the unit sphere")
        self.normalise = normalise
        self.residual = residual
        self.rounds, self.reach, self.nearest = int(rounds), float(reach), float(nearest)
        self.share, self.false_rate = float(share), float(false_rate)
        self.strangers = np.ones(N_QUANTILES, np.float32)
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
            bound = np.float32(into**-0.5)  # PyTorch's default initialisation
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
        """The threshold τ: 4b (sec. 3.3), or ``operating`` if it is set."""
        return 4 * self.b if self.operating is None else self.operating

    @property
    def takes_evidence(self) -> bool:
        """Whether :meth:`embed` uses pairs of tracks: whether the model averages neighbours."""
        return self.rounds > 0

    @property
    def n_weights(self) -> int:
        """Number of weights and biases of the MLP."""
        return sum(one.size for one in (*self.weights, *self.biases))

    def standardise_by(self, mean: ArrayLike, scale: ArrayLike) -> None:
        """Set the mean and scale that features are standardised by.

        With unit-norm features, the MLP's initial weights map everything to nearly one point, and
        training does not recover from that. With features of unit variance it trains.
        """
        self.mean[:], self.scale[:] = mean, scale

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Return all tensors by their names in a model file."""
        named: dict[str, NDArray[np.float32]] = {
            "b_hat": np.array(self.b_hat, np.float32),
            "mean": self.mean,
            "scale": self.scale,
            "strangers": self.strangers,
        }
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            named |= {f"linears.{i}.weight": weight, f"linears.{i}.bias": bias}
        return named

    def set_tensors(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        """Set all tensors to those that :meth:`tensors` of a model of the same shape returned.

        Raises
        ------
        ValueError
            A tensor is missing, unknown, or of the wrong shape or type.
        """
        own = self.tensors()
        if own.keys() != tensors.keys():
            raise ValueError(f"missing or unknown tensors {sorted(own.keys() ^ tensors.keys())}")
        for name, value in tensors.items():
            if value.shape != own[name].shape or value.dtype != np.float32:
                raise ValueError(f"{name!r} is {value.dtype} of shape {value.shape}")
        self.b_hat = float(tensors["b_hat"])
        self.standardise_by(tensors["mean"], tensors["scale"])
        self.strangers = np.array(tensors["strangers"])
        for i in range(len(self.weights)):
            self.weights[i] = np.array(tensors[f"linears.{i}.weight"])
            self.biases[i] = np.array(tensors[f"linears.{i}.bias"])

    def embed_alone(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the embeddings of features before neighbour averaging."""
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
        """Return the embeddings of features. They do not depend on the number of threads.

        Parameters
        ----------
        features : array-like of shape (n, dims[0])
            Usually one mean feature per track.
        sets : array-like of shape (n,), optional
            The video of each row. Neighbours are averaged within a video. If not given, all rows
            are of one video.
        together, apart : array-like of int, shape (m, 2), optional
            Pairs of rows that are one person, or two, by evidence other than their features. Used
            by models that average neighbours; pairs across videos are ignored.
        batch : int
            Number of rows per matrix product.
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
            starts,
            lambda start: self.embed_alone(np.asarray(rows[start : start + batch], np.float32)),
        ):
            out[start : start + batch] = some
        if not self.rounds:
            return out
        of = np.zeros(len(rows), np.int64) if sets is None else np.asarray(sets)
        if of.shape != (len(rows),):
            raise InputError(f"sets must have one value per row: {len(rows)}, not {of.shape}")
        for one in np.unique(of):
            own = np.flatnonzero(of == one)
            links = (_within(own, pairs, len(rows)) for pairs in (together, apart))
            reach = reach_of(out[own], self.reach, self.false_rate, self.strangers)
            out[own] = average_neighbours(
                out[own], reach, self.rounds, self.nearest, self.share, *links
            )
        return out


def _within(own: NDArray[np.int64], pairs: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    """Return the pairs with both rows among ``own``, as places in ``own``."""
    if pairs is None:
        return None
    place = np.full(n, -1)
    place[own] = np.arange(len(own))
    found = place[np.asarray(pairs, np.int64).reshape(-1, 2)]
    return found[(found >= 0).all(axis=1)]
