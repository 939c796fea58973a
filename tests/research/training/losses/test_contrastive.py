from __future__ import annotations

import math

import pytest
import torch

from castlist.research.training.losses.base import draw_pairs
from castlist.research.training.losses.contrastive import ContrastiveLoss

NO_B = torch.tensor(0.0)


def naive(f, pairs, margin):
    total = 0.0
    for i, j in pairs.same.T.tolist():
        total += ((f[i] - f[j]) ** 2).sum() / 2
    for i, j in pairs.different.T.tolist():
        total += max(0.0, margin - math.sqrt(((f[i] - f[j]) ** 2).sum())) ** 2 / 2
    return total / (pairs.same.shape[1] + pairs.different.shape[1])


@pytest.mark.parametrize("margin_hat", [1.0, -1.0, 3.0])
def test_it_is_the_formula_over_the_pairs(margin_hat):
    f = torch.randn(30, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(30) % 7
    loss = ContrastiveLoss(margin_hat).double()
    loss.generator = torch.Generator().manual_seed(5)
    terms = loss(f, labels, NO_B)
    pairs = draw_pairs(labels, torch.Generator().manual_seed(5))
    margin = math.log(1 + math.exp(margin_hat))
    assert terms.parts["margin"].item() == pytest.approx(margin)
    assert terms.total.item() == pytest.approx(naive(f.numpy(), pairs, margin))


def test_two_people_in_one_place_have_a_finite_gradient():
    f = torch.ones(4, 3, requires_grad=True)
    loss = ContrastiveLoss()
    terms = loss(f, torch.tensor([0, 0, 1, 1]), NO_B)
    terms.total.backward()
    assert torch.isfinite(f.grad).all()
    assert loss.margin_hat.grad > 0
    assert loss.scalars() == [loss.margin_hat]
