"""What is true of every loss."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from castlist.research import TrainSettings
from castlist.research.training.losses.ball import BallLoss
from castlist.research.training.losses.base import Loss
from castlist.research.training.losses.registry import LOSSES, make_loss
from castlist.research.training.train_settings import LOSS_NAMES

B = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)


def make(name, **settings):
    return make_loss(TrainSettings(loss=name, **settings), 12, 3).double()


def test_settings_know_the_losses_there_are():
    assert list(LOSSES) == list(LOSS_NAMES)
    for name in LOSSES:
        assert isinstance(make(name), Loss)


def test_settings_reach_the_loss():
    ball = make("ball", alpha=2.0, epsilon=0.5, skip_singletons=True)
    assert isinstance(ball, BallLoss)
    assert (ball.alpha, ball.epsilon, ball.normalise, ball.skip_singletons) == (
        2.0,
        0.5,
        True,
        True,
    )
    assert not make("ball", normalise=False).normalise
    assert not make("prototypical").normalise
    assert make("prototypical", normalise=True).normalise
    assert (make("prototypical").ball, make("prototypical-ball").ball) == (False, True)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_the_value(name):
    loss = make(name)
    start = torch.randn(14, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    labels = torch.arange(14) % 5

    def total(x, b, *parameters):
        loss.generator = torch.Generator().manual_seed(0)  # the same pairs each time
        f = F.normalize(x, dim=1) if LOSS_NAMES[name] else x
        return loss(f, labels, b).total

    assert torch.autograd.gradcheck(total, (start.requires_grad_(), B, *loss.parameters()))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "labels",
    [[3, 3, 3], [0, 1, 2], [5], [4, 4], [4, 7]],
    ids=["one person", "all alone", "one sample", "one pair", "two people"],
)
def test_poor_batches_give_finite_values_and_gradients(name, labels):
    loss = make(name)
    x = torch.randn(len(labels), 3, dtype=torch.float64, requires_grad=True)
    terms = loss(x, torch.tensor(labels), B)
    terms.total.backward()
    assert torch.isfinite(terms.total)
    assert torch.isfinite(x.grad).all()
    assert all(torch.isfinite(part) and part.ndim == 0 for part in terms.parts.values())


@pytest.mark.parametrize("name", LOSSES)
def test_the_same_generator_gives_the_same_value(name):
    x, labels = torch.randn(60, 3, dtype=torch.float64), torch.arange(60) % 4
    loss, found = make(name), []
    for _ in range(2):
        loss.generator = torch.Generator().manual_seed(8)
        before = torch.random.get_rng_state()
        found.append(loss(x, labels, B).total.item())
        assert torch.equal(torch.random.get_rng_state(), before)
    assert found[0] == found[1]
