from __future__ import annotations

import numpy as np
import pytest
import torch

from castlist import InputError
from castlist.research.training.losses.base import positive_pairs
from castlist.research.training.losses.triplet import TripletLoss, semi_hard

NO_B = torch.tensor(0.0)


def naive_negative(f, labels, a, p):
    """The nearest of those farther than the positive; if there is none, the farthest."""
    distance = ((f - f[a]) ** 2).sum(1)
    others = [n for n in range(len(f)) if labels[n] != labels[a]]
    farther = [n for n in others if distance[n] > distance[p]]
    if farther:
        return min(farther, key=lambda n: distance[n])
    return max(others, key=lambda n: distance[n])


@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])  # of a person: some have no farther negative
def test_negatives_follow_the_rule(spread):
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=60)
    f = rng.normal(size=(8, 3))[labels] + spread * rng.normal(size=(60, 3))
    who = torch.from_numpy(labels)
    anchor, positive = positive_pairs(who, 1000)
    found = semi_hard(torch.from_numpy(f), who, anchor, positive).tolist()
    pairs = zip(anchor.tolist(), positive.tolist(), strict=True)
    assert found == [naive_negative(f, labels, a, p) for a, p in pairs]


@pytest.mark.parametrize("margin", [0.0, 0.2, 5.0])
def test_it_is_the_mean_over_positive_pairs(margin):
    # Two samples a person: whichever is the anchor, the naive sum knows it from the draw.
    f = torch.randn(20, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.arange(20) % 10
    loss = TripletLoss(margin)
    loss.generator = torch.Generator().manual_seed(5)
    terms = loss(f, labels, NO_B)
    i, j = positive_pairs(labels, 1000)
    turned = torch.rand(10, generator=torch.Generator().manual_seed(5)) < 0.5
    total, x = 0.0, f.numpy()
    for k in range(10):
        a, p = (int(j[k]), int(i[k])) if turned[k] else (int(i[k]), int(j[k]))
        n = naive_negative(x, labels.numpy(), a, p)
        near, far = ((x[a] - x[p]) ** 2).sum(), ((x[a] - x[n]) ** 2).sum()
        total += max(0.0, near - far + margin) / 10
    assert terms.total.item() == pytest.approx(total)


def test_either_of_a_pair_is_the_anchor():
    # From one side of the pair the nearest farther negative violates, from the other none does.
    f = torch.tensor([[0.0], [1.0], [2.05]], dtype=torch.float64)
    loss = TripletLoss()
    loss.generator = torch.Generator().manual_seed(0)
    found = {round(loss(f, torch.tensor([0, 0, 1]), NO_B).total.item(), 4) for _ in range(40)}
    assert found == {0.0, 0.0975}  # 1 − 2.05² + 0.2 < 0; 1 − 1.05² + 0.2


def test_embeddings_that_are_not_numbers_give_a_loss_that_is_not():
    f = torch.full((4, 2), torch.nan)
    assert torch.isnan(TripletLoss()(f, torch.tensor([0, 0, 1, 1]), NO_B).total)


def test_a_bad_margin_is_refused():
    with pytest.raises(InputError, match="must not be negative"):
        TripletLoss(-0.1)
