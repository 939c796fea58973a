from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import anderson
from sklearn.datasets import make_blobs

from castlist import InputError, g_means
from castlist.cluster.gmeans import anderson_darling
from castlist.cluster.links import by_first_appearance


def reference(values):
    """A²*, from SciPy's A²."""
    n = len(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of p-values, which nobody asked for
        return anderson(values, "norm").statistic * (1 + 4 / n - 25 / n**2)


@pytest.mark.parametrize("n", [8, 9, 100, 5000])
@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "standard_cauchy"])
def test_the_statistic_is_scipys(n, draw):
    values = getattr(np.random.default_rng(n), draw)(size=n)
    assert anderson_darling(values) == pytest.approx(reference(values))
    assert anderson_darling(7 - 3 * values) == pytest.approx(reference(values))


def test_in_one_dimension_the_statistic_alone_decides():
    statistics = []
    for seed, apart in enumerate(np.linspace(0, 5, 40)):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=100) + apart * (np.arange(100) < 50)
        statistic = reference(values)
        for critical in (None, 1.01 * statistic, 0.99 * statistic):
            settings = {} if critical is None else {"critical": critical}
            labels = g_means(values[:, None], k_max=1, **settings)
            assert labels.max() == (statistic > settings.get("critical", 1.8692))
        statistics.append(statistic)
    assert 5 < sum(np.array(statistics) > 1.8692) < 35


def test_points_are_judged_along_the_line_through_both_centres():
    """Two groups apart along the diagonal, and a Gaussian across it that is no evidence."""
    rng = np.random.default_rng(0)
    along = np.repeat([-4.0, 4.0], 100) + rng.normal(size=200)
    across = rng.normal(size=200)
    points = np.stack([along + across, along - across], axis=1) / np.sqrt(2)
    assert g_means(points).tolist() == [0] * 100 + [1] * 100
    across = 8 * across  # louder than the groups: now it is the line
    points = np.stack([along + across, along - across], axis=1) / np.sqrt(2)
    assert not g_means(points).any()


@pytest.mark.parametrize(("n", "dim"), [(30, 1), (300, 2), (2000, 8)])
def test_one_gaussian_is_one_cluster(n, dim):
    for seed in range(10):
        points = 5 + np.random.default_rng(seed).normal(size=(n, dim)) * (1 + np.arange(dim))
        assert not g_means(points).any()


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_blobs_are_found_and_counted(dim, seed):
    centres = np.random.default_rng(seed).permutation(np.indices((4, 4)).reshape(2, -1).T)[:9]
    centres = np.pad(centres, ((0, 0), (0, dim - 2)))
    points, truth = make_blobs(900, centers=20 * centres, random_state=seed)
    labels = g_means(points)
    np.testing.assert_array_equal(labels, by_first_appearance(truth))
    assert labels.dtype == np.int64


@pytest.mark.parametrize("far", [0, 1e9])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_split_is_along_the_main_direction(far, axis):
    """2-means would be as content with the short side of a rectangle, if it started there."""
    corners = np.array([[0, 0], [0, 20], [30, 0], [30, 20]])[:, [axis, 1 - axis]]
    for seed in range(5):
        points, corner = make_blobs(200, centers=corners, random_state=seed)
        labels = g_means(far + points, k_max=1)
        np.testing.assert_array_equal(labels, by_first_appearance(corner // 2))


def test_halves_that_fall_together_are_one_cluster(monkeypatch):
    points = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert g_means(points).any()
    monkeypatch.setattr("castlist.cluster.gmeans.lloyd_from", lambda points, _: np.arange(100) * 0)
    assert not g_means(points).any()


def test_k_max_ends_the_splitting():
    points, _ = make_blobs(900, centers=20 * np.indices((3, 3)).reshape(2, -1).T, random_state=0)
    assert 3 < g_means(points, k_max=3).max() + 1 <= 6
    assert g_means(points, k_max=9).max() + 1 == 9


def test_fewer_than_eight_points_are_never_split():
    seven = np.array([0.0, 1, 2, 3, 100, 101, 102])
    assert anderson_darling(seven) > 1  # it is their number that saves them
    assert not g_means(seven[:, None], critical=1.0).any()
    eight = np.append(seven, 103)[:, None]
    assert g_means(eight, critical=1.0).tolist() == [0] * 4 + [1] * 4


def test_duplicates_of_a_few_points():
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [50.0, 9.0]], 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert g_means(points).tolist() == [0] * 20 + [1] * 20 + [2] * 20


def test_the_same_seed_gives_the_same_labels():
    # Wide enough for principal components by random numbers, and overclustered for sure.
    points = np.random.default_rng(0).uniform(size=(1000, 150))
    first, second = (g_means(points, seed=4) for _ in range(2))
    assert first.max() > 10
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("critical", [0, -1.8, float("nan")])
def test_a_critical_value_that_cannot_be(critical):
    with pytest.raises(InputError, match="must be positive"):
        g_means(np.eye(3), critical=critical)
