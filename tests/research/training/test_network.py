from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from castlist import BallModel
from castlist.model.neighbours import average_neighbours
from castlist.research.training.network import BallNetwork, average_with_gradient


def points(n, dim=6, spread=1.0):
    x = np.random.default_rng(0).normal(size=(n, dim)) + spread
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("nearest", [0, 0.1, 0.9, 99])
@pytest.mark.parametrize("share", [0, 0.8])
@pytest.mark.parametrize("n", [1, 40, 700])  # of one row, one block and two
def test_both_averages_are_one_formula(n, nearest, share, rounds):
    z = points(n)
    found = average_with_gradient(torch.from_numpy(z), 0.3, rounds, nearest, share).numpy()
    np.testing.assert_allclose(
        found, average_neighbours(z, 0.3, rounds, nearest, share), atol=1e-10
    )


def test_a_model_is_trained_through_it():
    x = torch.from_numpy(points(7, dim=3, spread=0.5)).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda rows: average_with_gradient(F.normalize(rows, dim=1), 0.31, 2), x
    )


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("residual", [True, False])
def test_a_network_is_its_model_and_gives_it_back(normalise, residual):
    rounds = 2 if normalise else 0
    model = BallModel(
        (6, 9, 6), normalise=normalise, residual=residual, rounds=rounds, reach=0.3, nearest=1.4,
        share=0.5,
        b_hat=-0.7, describer="SFace", seed=4,
    )  # fmt: skip
    if residual:  # or it is the identity
        model.weights[-1] = np.random.default_rng(3).normal(size=(6, 9)).astype(np.float32)
    model.standardise_by(np.arange(6), np.arange(1, 7))
    model.strangers = np.linspace(0, 0.9, 16, dtype=np.float32)
    model.operating, model.settings = 0.7, {"seed": 3}
    network = BallNetwork(model)
    x = points(50).astype(np.float32)
    with torch.no_grad():
        found = network(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, model.embed(x), atol=1e-5)
    assert network.b.item() == pytest.approx(model.b, rel=1e-6)
    back = network.to_model()
    np.testing.assert_array_equal(back.embed(x), model.embed(x))
    assert (back.threshold, back.describer, back.settings) == (0.7, "SFace", {"seed": 3})


def test_the_model_stays_when_its_network_is_trained():
    model = BallModel((4, 3))
    before = model.weights[0].copy()
    network = BallNetwork(model)
    with torch.no_grad():
        for value in network.parameters():
            value += 1
    np.testing.assert_array_equal(model.weights[0], before)
    np.testing.assert_allclose(network.to_model().weights[0], before + 1)


def test_a_residual_network_starts_as_the_identity():
    torch.manual_seed(0)
    network = BallNetwork(BallModel((6, 9, 6), residual=True))
    network.draw()
    x = points(5).astype(np.float32)
    with torch.no_grad():
        np.testing.assert_allclose(network(torch.from_numpy(x)).numpy(), x, atol=1e-6)
