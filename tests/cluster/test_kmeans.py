from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info, threadpool_limits

from castlist import InputError, g_means, k_means, x_means
from castlist.cluster.kmeans import split_in_rounds
from castlist.cluster.links import by_first_appearance

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
def test_fewer_distinct_points_than_clusters_pass_without_a_word(n_clusters, seed):
    rng = np.random.default_rng(seed)
    which = np.concatenate([np.arange(4), rng.integers(0, 4, 36)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = k_means(rng.normal(size=(4, 8))[which], n_clusters, seed=seed)
    np.testing.assert_array_equal(labels, by_first_appearance(which))


@pytest.mark.parametrize("n_clusters", [-1, 0, 4])
def test_a_number_of_clusters_that_cannot_be(n_clusters):
    with pytest.raises(InputError, match=f"make {n_clusters} clusters of 3 .*ask for 1 to 3"):
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
def test_it_computes_on_one_thread_and_gives_the_others_back(method, monkeypatch):
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


def test_rounds_end_although_a_split_falls_together_again(monkeypatch):
    monkeypatch.setattr("castlist.cluster.kmeans.lloyd_from", lambda points, _: np.arange(4) * 0)
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
