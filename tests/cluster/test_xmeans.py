from __future__ import annotations

from math import inf, log, pi

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.datasets import make_blobs

from castlist import k_means, x_means
from castlist.cluster.links import by_first_appearance
from castlist.cluster.xmeans import bic


def reference_bic(points, labels):
    """The log of every point's weighted density, by SciPy, less the price of the parameters."""
    n, dim = points.shape
    clusters = [points[labels == k] for k in np.unique(labels)]
    spread = sum(len(c) * c.var(axis=0).sum() for c in clusters)
    variance = spread / dim / (n - len(clusters))
    likelihood = 0.0
    for c in clusters:
        density = multivariate_normal(c.mean(axis=0), variance * np.eye(dim))
        likelihood += np.sum(np.log(len(c) / n) + density.logpdf(c))
    # Weights that add up to one, the means, one variance.
    parameters = (len(clusters) - 1) + dim * len(clusters) + 1
    return likelihood - parameters / 2 * np.log(n)


def grid_of_blobs(side, n, seed):
    """Blobs on a square grid in a plane of 16 dimensions, where every split lowers the variance."""
    centres = np.pad(20 * np.indices((side, side)).reshape(2, -1).T, ((0, 0), (0, 14)))
    return make_blobs(n, centers=centres, random_state=seed)


def sheet():
    """An even spread over a square, thin in 14 other dimensions: no clusters, many splits."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.uniform(size=(400, 2)), 0.01 * rng.normal(size=(400, 14))], axis=1)


def test_bic_by_hand():
    points = np.array([[0.0, 0.0], [0.0, 2.0], [6.0, 0.0], [6.0, 2.0]])
    # One cluster: the mean is (3, 1), everybody at squared distance 10: σ² = 40 / (2 · 3).
    one = -4 * log(2 * pi * 20 / 3) - 40 / (2 * 20 / 3) - 3 / 2 * log(4)
    # Two: (0, 1) and (6, 1), everybody at squared distance 1: σ² = 4 / (2 · 2).
    two = 4 * log(1 / 2) - 4 * log(2 * pi * 1) - 4 / 2 - 6 / 2 * log(4)
    assert bic(points, np.array([0, 0, 0, 0])) == pytest.approx(one)
    assert bic(points, np.array([0, 0, 1, 1])) == pytest.approx(two)
    assert two > one
    assert x_means(points, k_max=1).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("dim", [1, 2, 7])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_bic_is_that_of_a_spherical_gaussian_mixture(dim, k):
    rng = np.random.default_rng(dim)
    points = rng.normal(3, 2, size=(60, dim))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, 60 - k)])
    assert bic(points, labels) == pytest.approx(reference_bic(points, labels))


def test_bic_where_there_is_no_variance():
    points = np.array([[0.0], [0.0], [1.0]])
    assert bic(points, np.array([0, 0, 1])) == inf
    assert bic(points, np.array([0, 1, 2])) == -inf


@pytest.mark.parametrize("dim", [1, 3, 16])
def test_a_cluster_is_split_where_the_reference_says_so(dim):
    decisions = []
    for seed, apart in enumerate(np.linspace(0, 6, 40)):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(50, dim))
        points[:20, 0] += apart
        two = k_means(points, 2)
        better = reference_bic(points, two) > reference_bic(points, 0 * two)
        np.testing.assert_array_equal(x_means(points, k_max=1), two if better else 0 * two)
        decisions.append(better)
    assert 5 < sum(decisions) < 35


@pytest.mark.parametrize("seed", range(4))
def test_blobs_are_found_and_counted(seed):
    points, truth = grid_of_blobs(3, 600, seed)
    labels = x_means(points, k_max=50)
    np.testing.assert_array_equal(labels, by_first_appearance(truth))
    assert labels.dtype == np.int64


def test_blobs_in_the_plane_are_found_where_two_centres_help_at_every_step():
    centres = [[0, 0], [0, 20], [300, 0], [300, 20], [0, 900], [300, 900]]
    points, truth = make_blobs(300, centers=centres, random_state=0)
    np.testing.assert_array_equal(x_means(points, k_max=50), by_first_appearance(truth))


def test_an_even_spread_over_the_plane_is_not_split():
    """Halving a square takes 3/8 of its variance: R log(8/5) gained, R log 2 lost by weights."""
    assert not x_means(np.random.default_rng(0).uniform(size=(400, 2)), k_max=10).any()


def test_one_gaussian_is_one_cluster():
    for seed in range(10):
        points = np.random.default_rng(seed).normal(size=(300, 5))
        assert not x_means(points, k_max=50).any()


def test_k_max_is_crossed_by_the_round_that_ends_it():
    points, _ = grid_of_blobs(6, 720, seed=0)
    for k_max in (3, 10, 20, 35):
        assert k_max < x_means(points, k_max=k_max).max() + 1 <= 2 * k_max
    assert x_means(points, k_max=36).max() + 1 == 36


def test_everybody_is_nearest_to_their_own_mean():
    """Centres are improved over all points, not only inside the cluster that was split."""
    points = sheet()
    labels = x_means(points, k_max=10)
    means = [points[labels == k].mean(axis=0) for k in range(labels.max() + 1)]
    assert len(means) > 10
    np.testing.assert_array_equal(cdist(points, means).argmin(axis=1), labels)


def test_the_same_seed_gives_the_same_labels():
    first, second = (x_means(sheet(), k_max=30, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (first != x_means(sheet(), k_max=30, seed=5)).any()


def test_duplicates_of_a_few_points():
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [50.0, 9.0]], 10, axis=0)
    assert x_means(points, k_max=10).tolist() == [0] * 10 + [1] * 10 + [2] * 10
