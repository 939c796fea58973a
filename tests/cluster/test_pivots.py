"""Pivots must lose no pair, and cost next to nothing where they do not pay."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from castlist.cluster import graph, pivots

N = 20_000


def sphere(n: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, 16))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def balls(n: int, n_balls: int, radius: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    return sphere(n_balls)[rng.integers(n_balls, size=n)] + radius * sphere(n, 2) / 2


SHAPES = {
    "no balls": sphere(N),
    "one crowd": 0.2 * sphere(N),
    "wide balls": balls(N, 40, 1.2),
    "pairs": balls(N, N // 2, 0.05),
    "balls": balls(N, 200, 0.3),
}


@pytest.fixture
def products(monkeypatch):
    """Count the entries of all products made."""
    count = [0]

    def counted(rows, columns, limit, near=graph.near):
        count[0] += len(rows) * len(columns)
        return near(rows, columns, limit)

    monkeypatch.setattr(graph, "near", counted)
    monkeypatch.setattr(pivots, "near", counted)
    judge = pivots._promise

    def judged(found, reach, sample, n):
        count[0] += len(found) * len(sample)
        return judge(found, reach, sample, n)

    monkeypatch.setattr(pivots, "_promise", judged)
    return count


def looked_at(cloud, threshold, found) -> int:
    search = pivots.prunable_pairs(cloud, threshold, found)
    return sum(len(i) for job in search.jobs() for i, _ in search.look(job))


@pytest.mark.parametrize("shape", SHAPES)
def test_never_a_tenth_more_products_than_looking_at_all_pairs(shape, products) -> None:
    cloud, threshold = graph.Cloud(SHAPES[shape]), 0.1
    all_pairs = looked_at(cloud, threshold, None)
    brute, products[0] = products[0], 0
    found = pivots.find_pivots(cloud, threshold)
    pruned = looked_at(cloud, threshold, found)
    assert products[0] <= 1.1 * brute
    assert pruned == all_pairs  # and none is lost
    if shape == "balls":
        assert products[0] < 0.3 * brute


def test_every_pair_within_the_threshold_is_found() -> None:
    points, threshold = balls(4_000, 50, 0.3), 0.1
    cloud = graph.Cloud(points)
    found = pivots.Pivots(cloud.columns[:30], np.float32(float(cloud.limit(threshold)) / 4))
    search = pivots.pairs_by_pivots(cloud, threshold, found)
    pairs = np.concatenate([np.column_stack(p) for job in search.jobs() for p in search.look(job)])
    square = pdist(points, "sqeuclidean")
    i, j = np.triu_indices(len(points), 1)
    within = set(map(tuple, np.column_stack([i, j])[square <= threshold].tolist()))
    assert len(within) > 1_000
    assert within <= set(map(tuple, pairs.tolist()))
    assert len(pairs) == len(set(map(tuple, pairs.tolist())))  # each looked at once
