from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from castlist.research.training.losses.base import (
    PAIRS_PER_SAMPLE,
    centroid_distances,
    centroids,
    draw_pairs,
    mean_or_zero,
    negative_pairs,
    pair_distances,
    positive_pairs,
)

LABELS = torch.tensor([5, -2, 5, 9, 5, -2, 7, 5])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def as_set(pairs):
    return {tuple(sorted(pair)) for pair in pairs.T.tolist()}


def all_pairs(labels, same):
    numbers = range(len(labels))
    return {(i, j) for i, j in combinations(numbers, 2) if (labels[i] == labels[j]) == same}


def test_all_positive_pairs_once():
    pairs = positive_pairs(LABELS, 100)
    assert as_set(pairs) == all_pairs(LABELS, True)
    assert pairs.shape == (2, 7)


def test_beyond_the_cap_a_uniform_subset():
    generator = seeded()
    counts = dict.fromkeys(all_pairs(LABELS, True), 0)
    for _ in range(3000):
        drawn = as_set(positive_pairs(LABELS, 3, generator))
        assert len(drawn) == 3
        for pair in drawn:
            counts[pair] += 1
    for count in counts.values():  # 3 of 7 each time: 1286, standard deviation 27
        assert abs(count - 3000 * 3 / 7) < 130


def test_negative_pairs_are_uniform_over_all_that_are_not_of_one_person():
    counts = dict.fromkeys(all_pairs(LABELS, False), 0)
    pairs = negative_pairs(LABELS, 21_000, seeded())
    for i, j in pairs.T.tolist():
        counts[min(i, j), max(i, j)] += 1
    assert len(counts) == 21
    for count in counts.values():  # 1000 each, standard deviation 31
        assert abs(count - 1000) < 150


@pytest.mark.parametrize("n", [2, 50, 400])
def test_pairs_of_a_batch_are_right_and_the_same_for_the_same_seed(n):
    labels = torch.randint(max(1, n // 10), (n,), generator=seeded(n))
    same, different = draw_pairs(labels, seeded(1))
    assert (labels[same[0]] == labels[same[1]]).all()
    assert (same[0] != same[1]).all()
    assert (labels[different[0]] != labels[different[1]]).all()
    assert same.shape[1] <= PAIRS_PER_SAMPLE * n
    if n == 400:  # of 40 people: more pairs than the cap
        assert same.shape[1] == PAIRS_PER_SAMPLE * n == len(as_set(same))
    if n > 2:
        assert different.shape == same.shape
    again, other = draw_pairs(labels, seeded(1)), draw_pairs(labels, seeded(2))
    assert torch.equal(same, again.same)
    assert torch.equal(different, again.different)
    assert n == 2 or not torch.equal(different, other.different)


@pytest.mark.parametrize(
    ("labels", "n_same", "n_different"),
    [([], 0, 0), ([3], 0, 0), ([1, 2, 3], 0, 0), ([4, 4, 4], 3, 0), ([0, 0, 1], 1, 1)],
)
def test_batches_that_lack_a_kind(labels, n_same, n_different):
    pairs = draw_pairs(torch.tensor(labels, dtype=torch.long), seeded())
    assert (pairs.same.shape, pairs.different.shape) == ((2, n_same), (2, n_different))


def test_distances_and_means():
    f = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
    assert pair_distances(f, torch.tensor([[0, 1], [1, 2]])).tolist() == [25, 20]
    assert mean_or_zero(torch.tensor([1.0, 2.0])) == 1.5
    assert mean_or_zero(torch.empty(0)) == 0


def test_centroids_on_the_sphere_and_in_space():
    f = torch.tensor([[3.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
    own = torch.tensor([0, 0, 1])
    np.testing.assert_allclose(centroids(f, own, 2, True)[0], [0.6, 0.8])
    np.testing.assert_allclose(centroids(f, own, 2, False)[0], [1.5, 2.0])


def test_distance_to_a_chosen_centroid():
    f = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    centres = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(centroid_distances(f, centres, torch.tensor([0, 1])), [9, 9])
