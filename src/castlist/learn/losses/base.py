"""What every loss is to training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Terms(NamedTuple):
    """The loss of one batch, and named numbers of it to log."""

    total: Tensor
    parts: dict[str, Tensor]


class Loss(nn.Module, ABC):
    """What training makes small.

    A loss may have parameters of its own. Single numbers, such as a margin, are trained as b̂ is:
    frozen first, then slowly (sec. 3.4). Weights, such as a classifier's, are trained as the MLP's.

    Attributes
    ----------
    generator : torch.Generator or None
        Draws whatever the loss draws; PyTorch's own if None. Training seeds it every epoch.
    """

    generator: torch.Generator | None = None

    @abstractmethod
    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Compute the loss of one batch.

        Parameters
        ----------
        embeddings : Tensor of shape (N, D)
        labels : Tensor of int, shape (N,)
            Identities, numbered over the whole training set.
        b : Tensor
            The model's squared radius, for losses that have one.
        """

    def values(self) -> list[nn.Parameter]:
        """Return the single numbers, trained as b̂ is."""
        return [p for p in self.parameters() if p.ndim == 0]

    def weights(self) -> list[nn.Parameter]:
        """Return the weights, trained as the MLP's."""
        return [p for p in self.parameters() if p.ndim > 0]
