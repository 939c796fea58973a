from __future__ import annotations

import math

import pytest
import torch

from castlist.research.training.losses.base import draw_pairs
from castlist.research.training.losses.ldml import LDMLLoss

NO_B = torch.tensor(0.0)


def naive(f, pairs, beta):
    total = 0.0
    for i, j in pairs.same.T.tolist():
        total -= math.log(1 / (1 + math.exp(((f[i] - f[j]) ** 2).sum() - beta)))
    for i, j in pairs.different.T.tolist():
        total -= math.log(1 - 1 / (1 + math.exp(((f[i] - f[j]) ** 2).sum() - beta)))
    return total / (pairs.same.shape[1] + pairs.different.shape[1])


@pytest.mark.parametrize("beta", [0.5, -1.0, 3.0])
def test_it_is_the_binary_cross_entropy_of_the_pairs(beta):
    f = torch.randn(30, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(30) % 7
    loss = LDMLLoss(beta).double()
    loss.generator = torch.Generator().manual_seed(5)
    terms = loss(f, labels, NO_B)
    pairs = draw_pairs(labels, torch.Generator().manual_seed(5))
    assert terms.total.item() == pytest.approx(naive(f.numpy(), pairs, beta))
    assert terms.parts["beta"].item() == beta
    # As many of a kind: each has half the say.
    assert terms.total.item() == pytest.approx(
        (terms.parts["same"].item() + terms.parts["different"].item()) / 2
    )


def test_far_pairs_do_not_overflow():
    f = torch.tensor([[0.0], [1e4], [2e4]], requires_grad=True)
    terms = LDMLLoss()(f, torch.tensor([0, 0, 1]), NO_B)
    terms.total.backward()
    assert torch.isfinite(terms.total)
    assert torch.isfinite(f.grad).all()


def test_beta_is_trained_as_b_is():
    loss = LDMLLoss()
    assert loss.scalars() == [loss.beta]
    assert loss.weights() == []
