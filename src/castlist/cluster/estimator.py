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

_DISTANCES = 2**24  # computed at once: 128 MiB


class BallClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster rows without knowing the number of clusters.

    The model embeds the rows, and complete linkage merges them while ℓ ≤ τ.

    Parameters
    ----------
    model : BallModel, optional
        Maps features to embeddings and has a threshold, τ = 4b. Rows must be features of its
        describer, of length ``model.dims[0]``. Without a model, rows are embeddings.
    threshold : float, optional
        τ, instead of the model's. Required without a model, unless ``n_clusters`` is given.
    n_clusters : int, optional
        Number of clusters to make, instead of a threshold.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n_samples,)
        The cluster of each row of ``fit``.
    n_clusters_ : int
        Number of clusters.
    threshold_ : float
        τ. With ``n_clusters``, the height of the last merge.
    embeddings_ : ndarray, shape (n_samples, dim)
        The embeddings of the rows of ``fit``.

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
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, or embeddings if there is no model.
        y : object
            Ignored.
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of row numbers, as in :func:`castlist.complete_linkage`.
        """
        X = validate_data(self, X)
        threshold = self._threshold()
        self._fit_X = X
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
        """Return the cluster of each new row, or -1 if it belongs to none.

        A row gets the cluster that complete linkage would merge it into next: the one whose
        farthest member is nearest. It gets -1, a new character, if that member is farther than
        τ. The clusters do not change, and new rows do not influence each other.

        If the model averages neighbours, as the shipped ones do, the embedding of a row depends
        on the rows around it. Each new row is then embedded together with the rows of ``fit``,
        which takes about as long per row as embedding these.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows like those of ``fit``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        new = np.asarray(self._embed(X), np.float64)
        order = np.argsort(self.labels_, kind="stable")
        known = np.asarray(self.embeddings_, np.float64)[order]
        starts = np.searchsorted(self.labels_[order], np.arange(self.n_clusters_))
        labels = np.empty(len(new), np.int64)
        height = max(1, _DISTANCES // len(known))
        for start in range(0, len(new), height):
            block = new[start : start + height]
            distances = cdist(block, known, "sqeuclidean")
            farthest = np.maximum.reduceat(distances, starts, axis=1)
            nearest = farthest.argmin(axis=1)
            within = farthest[np.arange(len(block)), nearest] <= self.threshold_
            labels[start : start + height] = np.where(within, nearest, -1)
        return labels

    def _embed(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the embeddings of new rows, each as if it were added to the rows of fit."""
        if self.model is None:
            return np.asarray(X)
        if not self.model.takes_evidence:  # it averages no neighbours: rows are independent
            return self.model.embed(X)
        embedded = [self.model.embed(np.vstack([self._fit_X, row]))[-1] for row in np.asarray(X)]
        return np.array(embedded)

    def _threshold(self) -> float | None:
        if self.n_clusters is not None:
            return None
        if self.threshold is not None:
            return float(self.threshold)
        if self.model is None:
            raise InputError("give a model, a threshold or n_clusters")
        return self.model.threshold
