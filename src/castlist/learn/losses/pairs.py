"""Pairs of a batch's samples: of one person, and of two.

Samples are put in order of their labels, so that a person's are one run of places. A pair then has
a number, and is worked out from it: pairs are drawn as numbers, and no N × N array is made.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

#: Positive pairs of a batch at most, for each of its samples.
PAIRS_A_SAMPLE = 4


class Pairs(NamedTuple):
    """Two rows of sample numbers each: ``same`` of one person, ``different`` of two."""

    same: Tensor
    different: Tensor


def draw_pairs(labels: Tensor, generator: torch.Generator | None = None) -> Pairs:
    """Return the positive pairs, up to the usual number, and as many negative ones."""
    same = positive_pairs(labels, PAIRS_A_SAMPLE * len(labels), generator)
    return Pairs(same, negative_pairs(labels, same.shape[1], generator))


def positive_pairs(labels: Tensor, most: int, generator: torch.Generator | None = None) -> Tensor:
    """Return all pairs of one person's samples, or ``most`` of them, drawn uniformly."""
    order, start, _ = _runs(labels)
    # A sample makes a pair with each one before it in its run.
    before = torch.arange(len(labels)) - start
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
    """Draw pairs of two people's samples uniformly, each on its own; none if there is one person.

    They are so many that two draws are hardly ever the same.
    """
    order, start, size = _runs(labels)
    ends = (len(labels) - size).cumsum(0)  # a sample makes a pair with all that are not in its run
    total = int(ends[-1]) if len(ends) else 0
    if not total:
        return torch.zeros((2, 0), dtype=torch.long)
    number = torch.randint(total, (count,), generator=generator)
    first = torch.searchsorted(ends, number, right=True)
    second = number - (ends - (len(labels) - size))[first]
    second = torch.where(second < start[first], second, second + size[first])  # jump over the run
    return order[torch.stack([first, second])]


def pair_distances(embeddings: Tensor, pairs: Tensor) -> Tensor:
    """Squared distances inside pairs."""
    first, second = (embeddings.index_select(0, row) for row in pairs)
    return (first - second).square().sum(1)


def mean_or_zero(values: Tensor) -> Tensor:
    """Mean of values; of none 0, with no gradient where a mean's would not be a number."""
    return values.sum() / max(1, len(values))


def _runs(labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Put samples in order of labels; of each place, say where its run starts and its length."""
    ordered, order = torch.sort(labels, stable=True)
    _, run, sizes = torch.unique_consecutive(ordered, return_inverse=True, return_counts=True)
    return order, (sizes.cumsum(0) - sizes)[run], sizes[run]
