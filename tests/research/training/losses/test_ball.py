from __future__ import annotations

import pytest
import torch

from castlist import InputError
from castlist.research import BallLoss


def naive(f, y, b, alpha, epsilon, normalise):
    """The loss as its formulas read, one sample and one identity at a time."""
    people = sorted(set(y.tolist()))
    centre = {}
    for k in people:
        total = sum(f[i] for i in range(len(f)) if y[i] == k)
        count = sum(1 for i in range(len(f)) if y[i] == k)
        centre[k] = total / total.norm() if normalise else total / count
    similar = dissimilar = torch.zeros((), dtype=f.dtype)
    for i in range(len(f)):
        k = int(y[i])
        similar = similar + torch.relu(((f[i] - centre[k]) ** 2).sum() - b)
        others = [((f[i] - centre[v]) ** 2).sum() for v in people if v != k]
        if others:
            gamma = 9 * b + epsilon
            dissimilar = dissimilar + torch.stack([torch.relu(gamma - d) for d in others]).max()
    return alpha * similar / len(f) + dissimilar / len(f)


def case(seed, n, people, dim, normalise, b):
    rng = torch.Generator().manual_seed(seed)
    f = torch.randn(n, dim, dtype=torch.float64, generator=rng)
    f = torch.nn.functional.normalize(f, dim=1) if normalise else f
    y = torch.randint(people, (n,), generator=rng) * 17 - 5  # any integers, with gaps
    return f.requires_grad_(), y, torch.tensor(b, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("b", [0.01, 0.2, 1.0])
@pytest.mark.parametrize(("n", "people"), [(2, 2), (30, 5), (40, 40), (25, 1)])
def test_values_and_gradients_are_the_formulas(n, people, b, normalise):
    f, y, radius = case(n + people, n, people, 6, normalise, b)
    terms = BallLoss(4.0, 0.05, normalise)(f, y, radius)
    expected = naive(f, y, radius, 4.0, 0.05, normalise)
    torch.testing.assert_close(terms.total, expected)
    torch.testing.assert_close(4 * terms.parts["similar"] + terms.parts["dissimilar"], terms.total)
    ours = torch.autograd.grad(terms.total, [f, radius], allow_unused=True)
    theirs = torch.autograd.grad(expected, [f, radius], allow_unused=True)
    for a, c in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, c)


def test_by_hand():
    # Two people on a line: centroids 1 and 11; b = 1, γ = 9 + 1.
    f = torch.tensor([[-1.0], [3.0], [11.0]], requires_grad=True)
    terms = BallLoss(alpha=2, epsilon=1, normalise=False)(
        f, torch.tensor([0, 0, 1]), torch.tensor(1.0)
    )
    assert terms.parts["similar"].item() == pytest.approx((3 + 3 + 0) / 3)  # 2² − 1 each
    assert terms.parts["dissimilar"] == 0
    assert terms.total.item() == pytest.approx(2 * 2)
    near = torch.tensor([[0.0], [2.0]])
    terms = BallLoss(alpha=2, epsilon=1, normalise=False)(
        near, torch.tensor([0, 1]), torch.tensor(1.0)
    )
    assert terms.parts["dissimilar"].item() == pytest.approx(10 - 4)
    assert terms.parts["nearest_other"].item() == pytest.approx(4)


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [3, 3]),  # one person
        ([[1.0, 0.0], [0.0, 1.0]], [0, 1]),  # singletons
        ([[1.0, 0.0]] * 4, [0, 0, 1, 1]),  # repeated points
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0, 0, 1]),  # a centroid whose sum is 0
        ([[1.0, 0.0]], [0]),  # one sample
    ],
)
def test_gradients_stay_finite(rows, labels, normalise):
    f = torch.tensor(rows, requires_grad=True)
    b = torch.tensor(0.2, requires_grad=True)
    terms = BallLoss(normalise=normalise)(f, torch.tensor(labels), b)
    terms.total.backward()
    assert torch.isfinite(terms.total)
    assert torch.isfinite(f.grad).all()
    assert b.grad is None or torch.isfinite(b.grad)


def test_nearly_opposite_samples_do_not_explode():
    f = torch.tensor([[1.0, 1e-5], [-1.0, 1e-5], [0.0, 1.0]], requires_grad=True)
    BallLoss()(f, torch.tensor([0, 0, 1]), torch.tensor(0.2)).total.backward()
    assert torch.isfinite(f.grad).all()


@pytest.mark.parametrize("normalise", [True, False])
def test_skip_singletons_averages_over_identities_with_two_samples(normalise):
    f, y, radius = case(3, 24, 20, 5, normalise, 0.01)
    alone = torch.tensor([int((y == label).sum()) == 1 for label in y])
    assert 0 < int(alone.sum()) < len(y)
    plain = BallLoss(4.0, 0.05, normalise)(f, y, radius)
    skipped = BallLoss(4.0, 0.05, normalise, skip_singletons=True)(f, y, radius)
    expected = plain.parts["similar"] * len(y) / int((~alone).sum())
    torch.testing.assert_close(skipped.parts["similar"], expected)
    torch.testing.assert_close(skipped.parts["dissimilar"], plain.parts["dissimilar"])
    torch.testing.assert_close(skipped.total, 4 * expected + plain.parts["dissimilar"])
    everybody = BallLoss(normalise=normalise, skip_singletons=True)(f, torch.arange(24), radius)
    assert everybody.parts["similar"] == 0


def test_bad_weights_are_refused():
    with pytest.raises(InputError, match="must not be negative"):
        BallLoss(alpha=-1)
