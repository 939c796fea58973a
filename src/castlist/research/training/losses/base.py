"""What losses share: their interface, centroids of a batch, and pairs of its samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

#: Maximum number of positive pairs of a batch, per sample.
PAIRS_PER_SAMPLE = 4


class Terms(NamedTuple):
    """The loss of one batch, and its parts by name for the log."""

    total: Tensor
    parts: dict[str, Tensor]


class Loss(nn.Module, ABC):
    """Base class of all losses.

    A loss may have parameters of its own. Scalars, such as a margin, are trained like b̂: they are
    frozen at first and have a lower learning rate (sec. 3.4 and 4). Weights, such as a
    classifier's, are trained like the MLP's.

    Attributes
    ----------
    generator : torch.Generator or None
        Source of the loss's random draws; None for PyTorch's global one. Training seeds it at the
        start of every epoch.
    """

    generator: torch.Generator | None = None

    @abstractmethod
    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch.

        Parameters
        ----------
        embeddings : Tensor of shape (N, D)
            One row per sample.
        labels : Tensor of int, shape (N,)
            Identities, numbered over the whole training set.
        b : Tensor
            The model's squared radius. Some losses do not use it.
        """

    def scalars(self) -> list[nn.Parameter]:
        """Return the scalar parameters, which are trained like b̂."""
        return [p for p in self.parameters() if p.ndim == 0]

    def weights(self) -> list[nn.Parameter]:
        """Return all other parameters, which are trained like the MLP's."""
        return [p for p in self.parameters() if p.ndim > 0]


def centroids(embeddings: Tensor, own: Tensor, n_identities: int, normalise: bool) -> Tensor:
    """Return the centroid of each identity (Eq. 1).

    With ``normalise``, an identity whose embeddings add up to 0 has no centroid on the sphere. It
    gets the origin, which is equally far from all of its samples, and no gradient.

    Parameters
    ----------
    embeddings : Tensor of shape (N, D)
        One row per sample.
    own : Tensor of int, shape (N,)
        Identity of each sample, from 0 to ``n_identities`` − 1.
    n_identities : int
        Number of identities K.
    normalise : bool
        Whether centroids are normalised to unit length.
    """
    sums = embeddings.new_zeros(n_identities, embeddings.shape[1]).index_add(0, own, embeddings)
    if not normalise:
        return sums / torch.bincount(own, minlength=n_identities)[:, None]
    squares = sums.square().sum(1, keepdim=True)
    tiny = squares < 1e-12
    # The gradient of a root at 0 is not finite, so the root of 1 is taken there.
    return torch.where(tiny, torch.zeros_like(sums), sums) / squares.masked_fill(tiny, 1.0).sqrt()


def centroid_distances(embeddings: Tensor, centres: Tensor, which: Tensor) -> Tensor:
    """Return the squared distance of each embedding to the centroid that ``which`` names."""
    return (embeddings - centres.index_select(0, which)).square().sum(1)


class Pairs(NamedTuple):
    """Pairs of one person (``same``) and of two (``different``): two rows of sample numbers."""

    same: Tensor
    different: Tensor


def draw_pairs(labels: Tensor, generator: torch.Generator | None = None) -> Pairs:
    """Return the positive pairs of a batch, up to the maximum, and as many negative pairs."""
    same = positive_pairs(labels, PAIRS_PER_SAMPLE * len(labels), generator)
    return Pairs(same, negative_pairs(labels, same.shape[1], generator))


# Pairs are numbered and drawn as numbers, so that no N × N array is needed. To compute a pair from
# its number, samples are sorted by label: each person's samples are then one run of places.


def positive_pairs(labels: Tensor, most: int, generator: torch.Generator | None = None) -> Tensor:
    """Return all pairs of samples of one person, or ``most`` of them drawn uniformly."""
    order, start, _ = _runs(labels)
    before = torch.arange(len(labels)) - start  # a sample pairs with each one before it in its run
    ends = before.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    if total > most:
        number = torch.randperm(total, generator=generator)[:most].sort().values
    else:
        number = torch.arange(total)
    first = torch.searchsorted(ends, number, right=True)
    second = start[first] + number - (ends - before)[first]
    return order[torch.stack([first, second])]


def negative_pairs(labels: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw ``count`` pairs of samples of two people; none if there is only one person.

    They are drawn uniformly with replacement; a batch has so many that repetitions are rare.
    """
    order, start, size = _runs(labels)
    ends = (len(labels) - size).cumsum(0)  # a sample pairs with all that are not in its run
    total = int(ends[-1]) if len(ends) else 0
    if not total:
        return torch.zeros((2, 0), dtype=torch.long)
    number = torch.randint(total, (count,), generator=generator)
    first = torch.searchsorted(ends, number, right=True)
    second = number - (ends - (len(labels) - size))[first]
    second = torch.where(second < start[first], second, second + size[first])  # skip the own run
    return order[torch.stack([first, second])]


def _runs(labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return samples sorted by label, and per place the start and the length of its run."""
    ordered, order = torch.sort(labels, stable=True)
    _, run, sizes = torch.unique_consecutive(ordered, return_inverse=True, return_counts=True)
    return order, (sizes.cumsum(0) - sizes)[run], sizes[run]


def pair_distances(embeddings: Tensor, pairs: Tensor) -> Tensor:
    """Return the squared distance of each pair."""
    first, second = (embeddings.index_select(0, row) for row in pairs)
    return (first - second).square().sum(1)


def mean_or_zero(values: Tensor) -> Tensor:
    """Return the mean; 0 with a finite gradient if there are no values."""
    return values.sum() / max(1, len(values))
