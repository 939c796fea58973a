from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from castlist import BallClustering, BallModel, InputError, complete_linkage, shipped_model
from castlist.model.neighbours import reach_of


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


def test_links_are_passed_on():
    labels = BallClustering(threshold=4.0).fit([[0.0], [1.0]], cannot_link=[(0, 1)]).labels_
    assert labels.tolist() == [0, 1]


def test_it_works_in_a_pipeline():
    X = np.random.default_rng(0).normal(size=(30, 3))
    labels = make_pipeline(StandardScaler(), BallClustering(threshold=2.0)).fit_predict(X)
    assert labels.shape == (30,)


def test_without_model_threshold_and_number_it_is_refused():
    with pytest.raises(InputError, match="a model, a threshold or n_clusters"):
        BallClustering().fit([[0.0], [1.0]])


def test_rows_of_fit_are_never_predicted_as_new():
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(30, 8))
        assert (BallClustering(n_clusters=5).fit(X).predict(X) >= 0).all()


def averaged_by_hand(model, rows):
    """Embed rows by the formula of neighbour averaging, point by point."""
    points = [point.astype(float) for point in model.embed_alone(rows.astype(np.float32))]
    n = len(points)
    k = max(2, round(model.nearest * n**0.5)) if model.nearest else n
    reach = reach_of(np.array(points), model.reach, model.false_rate, model.strangers)
    for _ in range(model.rounds):
        cosine = [[float(a @ b) for b in points] for a in points]
        kth = [sorted(row)[-k] if k < n else -2.0 for row in cosine]
        best = [model.share * sorted(row)[-2] for row in cosine]
        means = []
        for i in range(n):
            mean = np.zeros(len(points[0]))
            for j in range(n):
                least = max(min(kth[i], kth[j]), min(best[i], best[j]))
                if cosine[i][j] >= least - 1e-6:
                    mean += max(cosine[i][j] - reach, 0.0) * points[j]
            means.append(mean / np.linalg.norm(mean))
        points = means
    return np.array(points)


def test_the_shipped_model_puts_new_rows_into_clusters():
    model = shipped_model()
    assert model.rounds > 0
    rng = np.random.default_rng(0)
    people = rng.normal(size=(6, model.dims[0]))
    noise = 0.4 * rng.normal(size=(60, model.dims[0]))
    X = people[rng.integers(0, 5, 60)] + noise
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    old, new = X[:40], X[40:]
    new[-4:] = (people[5] + 0.4 * rng.normal(size=(4, model.dims[0]))) / np.sqrt(model.dims[0])
    fitted = BallClustering(model).fit(old)
    found = fitted.predict(new)
    known = averaged_by_hand(model, old)
    expected = []
    for row in new:
        point = averaged_by_hand(model, np.vstack([old, row]))[-1]
        farthest = [
            max(np.square(point - other).sum() for other in known[fitted.labels_ == label])
            for label in range(fitted.n_clusters_)
        ]
        best = int(np.argmin(farthest))
        expected.append(best if farthest[best] <= model.threshold else -1)
    assert found.tolist() == expected
    assert set(found[:-4].tolist()) == set(range(fitted.n_clusters_))  # all of them occur
    assert found[-4:].tolist() == [-1] * 4  # a person who is not in the rows of fit
    np.testing.assert_array_equal(fitted.predict(new[3:4]), found[3:4])


def test_features_of_another_length_are_refused():
    with pytest.raises(InputError, match="takes 128-d features of SFace-TV"):
        BallClustering(shipped_model()).fit(np.eye(5))
