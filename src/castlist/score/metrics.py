"""Compare a clustering with the ground truth (paper, sec. 5.1).

Every function takes the truth first and the predicted labels second, as vectors of any type.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import InputError
from castlist.extras import require

require("sklearn", "scoring")
from sklearn import metrics as sk  # noqa: E402


@dataclass(frozen=True)
class Scores:
    """All figures of one clustering; fractions, not percent.

    Attributes
    ----------
    n_tracks, n_characters, n_clusters : int
        Number of rows, of identities in the truth (#Ch), of clusters found (#Cl).
    nmi, wcp, ari, homogeneity, completeness : float
        The results of the functions of these names.
    pairwise_f, bcubed_f : float
        F-scores over pairs of rows and over rows.
    """

    n_tracks: int
    n_characters: int
    n_clusters: int
    nmi: float
    wcp: float
    ari: float
    homogeneity: float
    completeness: float
    pairwise_f: float
    bcubed_f: float

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


def evaluate(truth: ArrayLike, labels: ArrayLike) -> Scores:
    """Return all figures of a clustering.

    Parameters
    ----------
    truth : array-like of shape (n,)
        The identity of each row.
    labels : array-like of shape (n,)
        The cluster of each row.
    """
    truth, labels = _vectors(truth, labels)
    return Scores(
        n_tracks=len(truth),
        n_characters=len(np.unique(truth)),
        n_clusters=len(np.unique(labels)),
        nmi=nmi(truth, labels),
        wcp=wcp(truth, labels),
        ari=ari(truth, labels),
        homogeneity=homogeneity(truth, labels),
        completeness=completeness(truth, labels),
        pairwise_f=pairwise_f(truth, labels),
        bcubed_f=bcubed_f(truth, labels),
    )


def nmi(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the normalised mutual information, 2 I(Y; C) / (H(Y) + H(C)).

    It is 1 if the truth and the labels both have one cluster only, where the formula is 0 / 0.
    """
    truth, labels = _vectors(truth, labels)
    return float(sk.normalized_mutual_info_score(truth, labels, average_method="arithmetic"))


def wcp(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the weighted clustering purity: the share of rows of their cluster's main identity."""
    table = _contingency(truth, labels)
    return float(table.max(axis=0).sum() / table.sum())


def ari(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the Rand index adjusted for chance."""
    return float(sk.adjusted_rand_score(*_vectors(truth, labels)))


def homogeneity(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the homogeneity: 1 if every cluster has one identity only."""
    return float(sk.homogeneity_score(*_vectors(truth, labels)))


def completeness(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the completeness: 1 if every identity is in one cluster only."""
    return float(sk.completeness_score(*_vectors(truth, labels)))


def pairwise_f(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the F-score over pairs: pairs in one cluster against pairs of one identity.

    It is 1 if there are no such pairs in either.
    """
    table = _contingency(truth, labels)
    both = _n_pairs(table.data)
    predicted = _n_pairs(np.asarray(table.sum(axis=0)))
    true = _n_pairs(np.asarray(table.sum(axis=1)))
    return 2 * both / (predicted + true) if predicted + true else 1.0


def bcubed_f(truth: ArrayLike, labels: ArrayLike) -> float:
    """Return the B-cubed F-score: precision and recall of each row's cluster, averaged."""
    table = _contingency(truth, labels).tocoo()
    n = table.sum()
    in_cluster = np.asarray(table.sum(axis=0)).ravel()
    of_identity = np.asarray(table.sum(axis=1)).ravel()
    squares = table.data.astype(np.float64) ** 2
    precision = (squares / in_cluster[table.col]).sum() / n
    recall = (squares / of_identity[table.row]).sum() / n
    return float(2 * precision * recall / (precision + recall))


def _n_pairs(counts: NDArray[np.int64]) -> float:
    values = counts.astype(np.float64)
    return float((values * (values - 1)).sum() / 2)


def _contingency(truth: ArrayLike, labels: ArrayLike) -> Any:
    """Return the number of rows per identity (rows) and cluster (columns)."""
    truth, labels = _vectors(truth, labels)
    return sk.cluster.contingency_matrix(truth, labels, sparse=True, dtype=np.int64)


def _vectors(
    truth: ArrayLike, labels: ArrayLike
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    truth, labels = np.asarray(truth), np.asarray(labels)
    if truth.ndim != 1 or truth.shape != labels.shape:
        raise InputError(
            f"truth and labels must be vectors of one length, not {truth.shape} and {labels.shape}"
        )
    if not len(truth):
        raise InputError("nothing to score: truth and labels are empty")
    return truth, labels
