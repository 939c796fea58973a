from __future__ import annotations

import math

import pytest
import torch

from castlist.research.training.losses.cross_entropy import CrossEntropyLoss


def test_it_classifies_among_all_the_training_people():
    loss = CrossEntropyLoss(7, 4)
    f, labels = torch.randn(5, 4), torch.tensor([6, 0, 0, 3, 6])  # a batch need not have them all
    total = loss(f, labels, torch.tensor(0.0)).total.item()
    weight, bias = loss.classifier.weight.tolist(), loss.classifier.bias.tolist()
    expected = 0.0
    for x, k in zip(f.tolist(), labels.tolist(), strict=True):
        scores = [sum(w * v for w, v in zip(weight[c], x, strict=True)) + bias[c] for c in range(7)]
        expected -= math.log(math.exp(scores[k]) / sum(map(math.exp, scores))) / 5
    assert total == pytest.approx(expected, rel=1e-5)


def test_its_weights_are_trained_at_the_full_rate():
    loss = CrossEntropyLoss(7, 4)
    assert [p.shape for p in loss.weights()] == [(7, 4), (7,)]
    assert loss.scalars() == []
