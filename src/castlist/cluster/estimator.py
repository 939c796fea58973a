"""Ball clustering as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import Embeds
from castlist.errors import InputError
from castlist.extras import require

require("sklearn", "BallClustering")
from sklearn.base import BaseEstimator, ClusterMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402


class BallClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster rows without knowing how many clusters there are.

    Rows are embedded by the model and merged by complete linkage while ℓ ≤ τ.

    Parameters
    ----------
    model : BallModel, optional
        Maps features to embeddings and knows τ = 4b. Without it, rows are taken as embeddings.
    threshold : float, optional
        τ, instead of the model's. Needed without a model, unless ``n_clusters`` is given.
    n_clusters : int, optional
        Make this many clusters, whatever the threshold.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of each row of ``fit``.
    n_clusters_ : int
        Number of clusters found.
    threshold_ : float
        The τ used; with ``n_clusters``, the height of the last merge.
    embeddings_ : ndarray, shape (n_samples, dim)
        What was clustered.

    Examples
    --------
    >>> BallClustering(threshold=1.0).fit_predict([[0.0], [0.5], [3.0]])
    array([0, 0, 1])
    """

    def __init__(
        self,
        model: Embeds | None = None,
        *,
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> None:
        self.model = model
        self.threshold = threshold
        self.n_clusters = n_clusters

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
    ) -> BallClustering:
        """Find the clusters of X; ``y`` is ignored, links are as in ``complete_linkage``."""
        X = validate_data(self, X)
        threshold = self._threshold()
        self.embeddings_ = X if self.model is None else self.model.embed(X)
        result = complete_linkage(
            self.embeddings_,
            threshold,
            n_clusters=self.n_clusters,
            must_link=must_link,
            cannot_link=cannot_link,
        )
        self.labels_ = result.labels
        self.n_clusters_ = result.n_clusters
        if threshold is None:
            threshold = float(result.merges[-1, 2]) if len(result.merges) else 0.0
        self.threshold_ = threshold
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Put new rows into the clusters found, one at a time.

        A row goes where complete linkage would put it next: to the cluster whose farthest
        member is nearest. -1, a new character, if that member is farther than τ.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        if getattr(self.model, "rounds", 0):
            raise InputError(
                "this model averages neighbours, and new rows stand alone: fit all rows together"
            )
        new = np.asarray(X if self.model is None else self.model.embed(X), np.float64)
        order = np.argsort(self.labels_, kind="stable")
        known = np.asarray(self.embeddings_, np.float64)[order]
        starts = np.searchsorted(self.labels_[order], np.arange(self.n_clusters_))
        labels = np.empty(len(new), np.int64)
        height = max(1, 2**24 // len(known))  # 128 MiB of distances at once
        for start in range(0, len(new), height):
            block = new[start : start + height]
            distances = cdist(block, known, "sqeuclidean")
            farthest = np.maximum.reduceat(distances, starts, axis=1)
            nearest = farthest.argmin(axis=1)
            within = farthest[np.arange(len(block)), nearest] <= self.threshold_
            labels[start : start + height] = np.where(within, nearest, -1)
        return labels

    def _threshold(self) -> float | None:
        if self.n_clusters is not None:
            return None
        if self.threshold is not None:
            return float(self.threshold)
        if self.model is None:
            raise InputError("give a model, a threshold or n_clusters")
        return self.model.threshold
