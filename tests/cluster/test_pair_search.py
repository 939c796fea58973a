"""The pair search finds every pair within τ, and pivots cost next to nothing if they do not pay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from castlist.cluster import pair_search
from castlist.cluster.pair_search import Cloud, find_pivots, pairs_by_pivots, pairs_within
from tests.cluster.test_linkage import balls

N = 20_000


def sphere(n: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, 16))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def made_balls(n: int, n_balls: int, radius: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    return sphere(n_balls)[rng.integers(n_balls, size=n)] + radius * sphere(n, 2) / 2


SHAPES = {
    "no balls": sphere(N),
    "one crowd": 0.2 * sphere(N),
    "wide balls": made_balls(N, 40, 1.2),
    "pairs": made_balls(N, N // 2, 0.05),
    "balls": made_balls(N, 200, 0.3),
}


@pytest.fixture
def products(monkeypatch):
    """Count the entries of all matrix products."""
    count = [0]

    def counted(rows, columns, limit, near=pair_search.near):
        count[0] += len(rows) * len(columns)
        return near(rows, columns, limit)

    monkeypatch.setattr(pair_search, "near", counted)
    judge = pair_search._estimate_cost

    def judged(found, reach, sample, n):
        count[0] += len(found) * len(sample)
        return judge(found, reach, sample, n)

    monkeypatch.setattr(pair_search, "_estimate_cost", judged)
    return count


def n_candidates(cloud, threshold, found) -> int:
    search = pair_search.pair_search(cloud, threshold, found)
    return sum(len(i) for job in search.jobs() for i, _ in search.run(job))


@pytest.mark.parametrize("shape", SHAPES)
def test_pivots_never_cost_a_tenth_more_than_all_pairs(shape, products) -> None:
    cloud, threshold = pair_search.Cloud(SHAPES[shape]), 0.1
    all_pairs = n_candidates(cloud, threshold, None)
    brute, products[0] = products[0], 0
    found = pair_search.find_pivots(cloud, threshold)
    pruned = n_candidates(cloud, threshold, found)
    assert products[0] <= 1.1 * brute
    assert pruned == all_pairs  # and none is lost
    if shape == "balls":
        assert products[0] < 0.3 * brute


def test_every_pair_within_the_threshold_is_found() -> None:
    points, threshold = made_balls(4_000, 50, 0.3), 0.1
    cloud = pair_search.Cloud(points)
    found = pair_search.Pivots(cloud.columns[:30], np.float32(float(cloud.limit(threshold)) / 4))
    search = pair_search.pairs_by_pivots(cloud, threshold, found)
    pairs = np.concatenate([np.column_stack(p) for job in search.jobs() for p in search.run(job)])
    square = pdist(points, "sqeuclidean")
    i, j = np.triu_indices(len(points), 1)
    within = set(map(tuple, np.column_stack([i, j])[square <= threshold].tolist()))
    assert len(within) > 1_000
    assert within <= set(map(tuple, pairs.tolist()))
    assert len(pairs) == len(set(map(tuple, pairs.tolist())))  # each found once


def pairs(search):
    return [
        pair for job in search.jobs() for i, j in search.run(job) for pair in zip(i, j, strict=True)
    ]


def true_pairs(points, threshold):
    square = squareform(pdist(points.astype(np.float64), "sqeuclidean"))
    return set(zip(*np.nonzero(np.triu(square <= threshold, 1)), strict=True))


@pytest.mark.parametrize("b", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pivots_lose_no_pair(b, dtype, monkeypatch):
    monkeypatch.setattr(pair_search, "FEW_POINTS", 0)
    monkeypatch.setattr(pair_search, "_POINTS_PER_SAMPLED", 4)
    monkeypatch.setattr(pair_search, "_WORTHWHILE", 99.0)
    points = balls(2500, 64, b, seed=2).astype(dtype)
    cloud = Cloud(points)
    pivots = find_pivots(cloud, 4 * b)
    assert len(pivots.columns) > 3
    found = pairs(pairs_by_pivots(cloud, 4 * b, pivots))
    assert len(found) == len(set(found))  # each once
    assert all(i < j for i, j in found)
    assert true_pairs(points, 4 * b) <= set(found)


def test_bad_pivots_lose_no_pair():
    points = np.random.default_rng(0).normal(size=(300, 3))
    cloud = Cloud(points)
    for threshold in (0.01, 0.5, 30.0):
        assert true_pairs(points, threshold) <= set(pairs(pairs_within(cloud, threshold)))
        some = pair_search.Pivots(cloud.columns[::17].copy(), np.float32(0.02))
        found = pairs(pairs_by_pivots(cloud, threshold, some))
        assert len(found) == len(set(found))
        assert true_pairs(points, threshold) <= set(found)


def test_pivots_are_used_where_they_pay():
    far, close = balls(40_000, 64, 0.05, seed=1), np.random.default_rng(0).normal(size=(20_000, 3))
    assert find_pivots(Cloud(far), 0.2) is not None
    assert find_pivots(Cloud(close), 4.0) is None


def test_one_dense_cluster_has_no_pivots(monkeypatch):
    monkeypatch.setattr(pair_search, "_MOST_PAIRS", 1000)
    points = np.random.default_rng(0).normal(size=(20_000, 3))
    assert find_pivots(Cloud(points), 100.0) is None
