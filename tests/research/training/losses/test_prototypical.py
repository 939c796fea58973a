from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from castlist.research.training.losses.prototypical import PrototypicalLoss


def naive(f, labels, b, gamma, normalise):
    """L_proto as the text prints it, one sample and one centroid at a time."""
    people = sorted(set(labels.tolist()))
    mine = {k: [i for i in range(len(f)) if labels[i] == k] for k in people}
    centre = {k: sum(f[i] for i in mine[k]) / len(mine[k]) for k in people}
    if normalise:
        centre = {k: c / np.linalg.norm(c) for k, c in centre.items()}
    total = 0.0
    for i in range(len(f)):
        k = int(labels[i])
        own = math.exp(-((f[i] - centre[k]) ** 2).sum() + b)
        rest = sum(math.exp(-((f[i] - centre[v]) ** 2).sum() + gamma) for v in people if v != k)
        total -= math.log(own / (own + rest)) / len(mine[k])
    return total / len(f)


@pytest.mark.parametrize("ball", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize(("n", "people"), [(30, 5), (12, 12), (9, 1)])
def test_it_is_the_papers_equation(n, people, normalise, ball):
    generator = torch.Generator().manual_seed(n)
    f = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    f = torch.nn.functional.normalize(f, dim=1) if normalise else f
    labels = torch.randint(people, (n,), generator=generator) * 3 - 4
    b = torch.tensor(0.3, dtype=torch.float64)
    total = PrototypicalLoss(ball, 0.05, normalise)(f, labels, b).total.item()
    gamma = 9 * 0.3 + 0.05 if ball else 0.0
    expected = naive(f.numpy(), labels.numpy(), 0.3 if ball else 0.0, gamma, normalise)
    assert total == pytest.approx(expected, abs=1e-12)


def test_far_centroids_do_not_overflow():
    f = torch.tensor([[0.0], [1e3], [2e3]], requires_grad=True)
    total = PrototypicalLoss()(f, torch.tensor([0, 0, 1]), torch.tensor(0.0)).total
    total.backward()
    assert torch.isfinite(total)
    assert torch.isfinite(f.grad).all()


def test_the_ball_version_only_ever_wants_a_smaller_b():
    # b and γ enter as b − γ = −8b − ε alone: docs/research/paper-notes.md.
    b = torch.tensor(0.3, requires_grad=True)
    PrototypicalLoss(ball=True)(torch.randn(9, 4), torch.arange(9) % 3, b).total.backward()
    assert b.grad > 0
