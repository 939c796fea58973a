from __future__ import annotations

import warnings
from math import inf, log, pi

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import anderson, multivariate_normal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info, threadpool_limits

from castlist import InputError
from castlist.cluster.links import by_first_appearance
from castlist.research import g_means, k_means, x_means
from castlist.research.kmeans import anderson_darling, bic, split_in_rounds

#: Each as a function of the points alone.
METHODS = {
    "k_means": lambda points: k_means(points, 1),
    "x_means": lambda points: x_means(points, k_max=10),
    "g_means": g_means,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blobs_are_found(dtype):
    centres = 10 * np.array([[0, 0], [0, 1], [1, 0], [3, 3], [-2, 1]])
    points, truth = make_blobs(300, centers=centres, random_state=1)
    labels = k_means(points.astype(dtype), 5)
    np.testing.assert_array_equal(labels, by_first_appearance(truth))
    assert labels.dtype == np.int64


def test_it_is_the_best_of_ten_runs_of_scikit_learns():
    points = np.random.default_rng(0).uniform(size=(500, 3))
    best = KMeans(20, n_init=10, random_state=4).fit_predict(points)
    np.testing.assert_array_equal(k_means(points, 20, seed=4), by_first_appearance(best))
    one = KMeans(20, n_init=1, random_state=4).fit_predict(points)
    assert adjusted_rand_score(one, best) < 1  # so the ten matter here


def test_the_seed_decides():
    points = np.random.default_rng(0).uniform(size=(500, 3))
    np.testing.assert_array_equal(k_means(points, 20), k_means(points, 20, seed=0))
    assert (k_means(points, 20) != k_means(points, 20, seed=1)).any()


def test_as_many_clusters_as_points():
    assert k_means([[3.0], [1.0], [2.0]], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n_clusters", [4, 5, 30])
@pytest.mark.parametrize("seed", range(5))
def test_fewer_distinct_points_than_clusters_give_no_warning(n_clusters, seed):
    rng = np.random.default_rng(seed)
    which = np.concatenate([np.arange(4), rng.integers(0, 4, 36)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = k_means(rng.normal(size=(4, 8))[which], n_clusters, seed=seed)
    np.testing.assert_array_equal(labels, by_first_appearance(which))


@pytest.mark.parametrize("n_clusters", [-1, 0, 4])
def test_impossible_numbers_of_clusters_are_refused(n_clusters):
    with pytest.raises(InputError, match=f"make {n_clusters} clusters of 3 rows; give 1 to 3"):
        k_means(np.eye(3), n_clusters)


@every_method
@pytest.mark.parametrize("points", [np.empty((0, 3)), np.empty((3, 0))])
def test_nothing_to_cluster(method, points):
    with pytest.raises(InputError, match="nothing to cluster"):
        method(points)


@every_method
def test_points_are_checked(method):
    with pytest.raises(InputError, match="rows × dims"):
        method([1.0, 2.0])
    with pytest.raises(InputError, match="row 1 has a value that is not finite"):
        method([[0.0], [np.inf]])


@every_method
def test_one_point(method):
    labels = method([[0.1, 7.0]])
    assert labels.tolist() == [0]
    assert labels.dtype == np.int64


@every_method
@pytest.mark.parametrize("n", [2, 3, 1001])
def test_points_all_alike_are_one_cluster(method, n):
    # The mean of thousand-and-one times 0.1 is not 0.1, so there is a spread by rounding.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not method(np.full((n, 3), 0.1)).any()


@every_method
def test_two_different_points_are_no_evidence_of_two_clusters(method):
    assert method([[0.0], [1.0]]).tolist() == [0, 0]


@every_method
def test_it_computes_on_one_thread_and_restores_the_limit(method, monkeypatch):
    """Sums over threads come in any order, and so their last digits."""
    seen = []
    fit = KMeans.fit

    def spy(self, points):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return fit(self, points)

    monkeypatch.setattr(KMeans, "fit", spy)
    with threadpool_limits(2):
        method(np.repeat(np.eye(2), 20, axis=0))
        assert set(seen) == {1}
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}


def halves(cluster):
    """Split at the middle, wherever there are two values."""
    middle = (cluster.min() + cluster.max()) / 2
    return np.array([cluster[cluster < middle].mean(), cluster[cluster >= middle].mean()])[:, None]


@pytest.mark.parametrize(("k_max", "count"), [(1, 2), (3, 4), (4, 8), (7, 8), (8, 16), (None, 16)])
def test_rounds_end_when_k_max_is_crossed_or_nothing_is_split(k_max, count):
    points = np.repeat(np.arange(16.0), 3)[:, None]
    labels = split_in_rounds(points, halves, k_max)
    assert labels.max() + 1 == count
    np.testing.assert_array_equal(labels, np.arange(48) // (48 // count))


def test_every_round_improves_all_centres():
    # By the nearest of the centres 0 and 3, the point 2 would go with 8 and 9.
    points = np.array([[0.0], [1.0], [2.0], [8.0], [9.0]])
    bad = np.array([[0.0], [3.0]])
    assert split_in_rounds(points, lambda cluster: bad, k_max=1).tolist() == [0, 0, 0, 1, 1]


def test_rounds_end_although_a_split_collapses_again(monkeypatch):
    monkeypatch.setattr("castlist.research.kmeans.lloyd_from", lambda points, _: np.arange(4) * 0)
    assert split_in_rounds(np.arange(4.0)[:, None], halves).tolist() == [0, 0, 0, 0]


@every_method
@pytest.mark.parametrize("apart", [5e-324, 3e-162, 1e-155])
def test_points_too_close_for_arithmetic_are_one_cluster(method, apart):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not method(np.repeat([[0.0], [apart]], 20, axis=0)).any()


@pytest.mark.parametrize("k_max", [0, -3])
def test_k_max_is_a_number_of_clusters(k_max):
    with pytest.raises(InputError, match=f"1 or more, not {k_max}"):
        x_means(np.eye(3), k_max=k_max)
    with pytest.raises(InputError, match=f"1 or more, not {k_max}"):
        g_means(np.eye(3), k_max=k_max)


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
def test_x_means_finds_and_counts_blobs(seed):
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


def test_x_means_keeps_one_gaussian_as_one_cluster():
    for seed in range(10):
        points = np.random.default_rng(seed).normal(size=(300, 5))
        assert not x_means(points, k_max=50).any()


def test_x_means_stops_after_the_round_that_crosses_k_max():
    points, _ = grid_of_blobs(6, 720, seed=0)
    for k_max in (3, 10, 20, 35):
        assert k_max < x_means(points, k_max=k_max).max() + 1 <= 2 * k_max
    assert x_means(points, k_max=36).max() + 1 == 36


def test_every_point_is_nearest_to_its_own_mean():
    """Centres are improved over all points, not only inside the cluster that was split."""
    points = sheet()
    labels = x_means(points, k_max=10)
    means = [points[labels == k].mean(axis=0) for k in range(labels.max() + 1)]
    assert len(means) > 10
    np.testing.assert_array_equal(cdist(points, means).argmin(axis=1), labels)


def test_x_means_with_the_same_seed_gives_the_same_labels():
    first, second = (x_means(sheet(), k_max=30, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (first != x_means(sheet(), k_max=30, seed=5)).any()


def test_x_means_finds_a_few_duplicated_points():
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [50.0, 9.0]], 10, axis=0)
    assert x_means(points, k_max=10).tolist() == [0] * 10 + [1] * 10 + [2] * 10


def reference_statistic(values):
    """A²*, from SciPy's A²."""
    n = len(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of p-values, which nobody asked for
        return anderson(values, "norm").statistic * (1 + 4 / n - 25 / n**2)


@pytest.mark.parametrize("n", [8, 9, 100, 5000])
@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential", "standard_cauchy"])
def test_the_statistic_is_scipys(n, draw):
    values = getattr(np.random.default_rng(n), draw)(size=n)
    assert anderson_darling(values) == pytest.approx(reference_statistic(values))
    assert anderson_darling(7 - 3 * values) == pytest.approx(reference_statistic(values))


def test_in_one_dimension_the_statistic_alone_decides():
    statistics = []
    for seed, apart in enumerate(np.linspace(0, 5, 40)):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=100) + apart * (np.arange(100) < 50)
        statistic = reference_statistic(values)
        for critical in (None, 1.01 * statistic, 0.99 * statistic):
            settings = {} if critical is None else {"critical": critical}
            labels = g_means(values[:, None], k_max=1, **settings)
            assert labels.max() == (statistic > settings.get("critical", 1.8692))
        statistics.append(statistic)
    assert 5 < sum(np.array(statistics) > 1.8692) < 35


def test_points_are_tested_along_the_line_through_both_centres():
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
def test_g_means_keeps_one_gaussian_as_one_cluster(n, dim):
    for seed in range(10):
        points = 5 + np.random.default_rng(seed).normal(size=(n, dim)) * (1 + np.arange(dim))
        assert not g_means(points).any()


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_g_means_finds_and_counts_blobs(dim, seed):
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


def test_halves_that_collapse_are_one_cluster(monkeypatch):
    points = np.repeat([[0.0], [1.0]], 50, axis=0)
    assert g_means(points).any()
    monkeypatch.setattr("castlist.research.kmeans.lloyd_from", lambda points, _: np.arange(100) * 0)
    assert not g_means(points).any()


def test_g_means_stops_after_k_max():
    points, _ = make_blobs(900, centers=20 * np.indices((3, 3)).reshape(2, -1).T, random_state=0)
    assert 3 < g_means(points, k_max=3).max() + 1 <= 6
    assert g_means(points, k_max=9).max() + 1 == 9


def test_fewer_than_eight_points_are_never_split():
    seven = np.array([0.0, 1, 2, 3, 100, 101, 102])
    assert anderson_darling(seven) > 1  # it is their number that saves them
    assert not g_means(seven[:, None], critical=1.0).any()
    eight = np.append(seven, 103)[:, None]
    assert g_means(eight, critical=1.0).tolist() == [0] * 4 + [1] * 4


def test_g_means_finds_a_few_duplicated_points():
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [50.0, 9.0]], 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert g_means(points).tolist() == [0] * 20 + [1] * 20 + [2] * 20


def test_g_means_with_the_same_seed_gives_the_same_labels():
    # Wide enough for principal components by random numbers, and overclustered for sure.
    points = np.random.default_rng(0).uniform(size=(1000, 150))
    first, second = (g_means(points, seed=4) for _ in range(2))
    assert first.max() > 10
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("critical", [0, -1.8, float("nan")])
def test_impossible_critical_values_are_refused(critical):
    with pytest.raises(InputError, match="must be positive"):
        g_means(np.eye(3), critical=critical)
