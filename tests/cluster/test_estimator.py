from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from castlist import BallClustering, BallModel, InputError, complete_linkage


@parametrize_with_checks([BallClustering(threshold=1.0)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_it_is_complete_linkage_of_the_embeddings():
    model = BallModel((8, 16, 4))
    X = np.random.default_rng(0).normal(size=(200, 8))
    fitted = BallClustering(model).fit(X)
    expected = complete_linkage(model.embed(X), model.threshold)
    np.testing.assert_array_equal(fitted.labels_, expected.labels)
    assert fitted.n_clusters_ == expected.n_clusters
    assert fitted.threshold_ == model.threshold
    assert BallClustering(model, n_clusters=7).fit(X).n_clusters_ == 7


def test_new_rows_go_where_linkage_would_put_them():
    fitted = BallClustering(threshold=4.0).fit([[0.0], [1.0], [10.0], [11.0]])
    assert fitted.labels_.tolist() == [0, 0, 1, 1]
    # 2.0 is within 2 of both 0 and 1; 2.5 is not within 2 of 0; 9.5 joins the second.
    assert fitted.predict([[2.0], [2.5], [9.5], [5.0]]).tolist() == [0, -1, 1, -1]


def test_links_reach_the_linkage():
    labels = BallClustering(threshold=4.0).fit([[0.0], [1.0]], cannot_link=[(0, 1)]).labels_
    assert labels.tolist() == [0, 1]


def test_it_works_in_a_pipeline():
    X = np.random.default_rng(0).normal(size=(30, 3))
    labels = make_pipeline(StandardScaler(), BallClustering(threshold=2.0)).fit_predict(X)
    assert labels.shape == (30,)


def test_something_must_say_when_to_stop():
    with pytest.raises(InputError, match="a model, a threshold or n_clusters"):
        BallClustering().fit([[0.0], [1.0]])


def test_rows_of_fit_are_never_strangers():
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(30, 8))
        assert (BallClustering(n_clusters=5).fit(X).predict(X) >= 0).all()


def test_new_rows_have_no_neighbours():
    model = BallModel((4, 4), residual=True, rounds=1)
    X = np.random.default_rng(0).normal(size=(6, 4))
    fitted = BallClustering(model=model).fit(X)
    with pytest.raises(InputError, match="averages neighbours"):
        fitted.predict(X[:1])
