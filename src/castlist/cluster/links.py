"""Links between rows: must-link (one person), cannot-link (two) and avoid-link (likely two)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from castlist.errors import InputError


@dataclass(frozen=True)
class Links:
    """Links made ready: rows put into groups, and those that stay apart.

    Attributes
    ----------
    group : ndarray of int, shape (n,)
        Rows tied by must-links have one group; groups are numbered by first appearance.
    apart : ndarray of int, shape (m, 2)
        Pairs of groups that a cannot-link keeps apart, each once, smaller number first.
    avoid : ndarray of int, shape (k, 2)
        Pairs of rows of two groups that an avoid-link keeps apart, each once, smaller number first.
    unlinked : ndarray of int
        Rows that no link speaks of, in ascending order.
    """

    group: NDArray[np.int64]
    apart: NDArray[np.int64]
    avoid: NDArray[np.int64]
    unlinked: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1 if len(self.group) else 0

    @property
    def kept_apart(self) -> NDArray[np.int64]:
        """Pairs of groups that any link keeps apart, as ``apart`` has them."""
        return _each_once(np.concatenate([self.apart, self.group[self.avoid]]))


def resolve_links(
    n: int,
    must_link: ArrayLike | None,
    cannot_link: ArrayLike | None,
    avoid_link: ArrayLike | None = None,
) -> Links:
    """Check links between ``n`` rows and work out what they imply together."""
    must = _pairs("must_link", must_link, n)
    cannot = _pairs("cannot_link", cannot_link, n)
    avoid = _pairs("avoid_link", avoid_link, n)
    graph = sparse.coo_array((np.ones(len(must), np.int8), (must[:, 0], must[:, 1])), shape=(n, n))
    _, component = csgraph.connected_components(graph, directed=False)
    group = by_first_appearance(component)
    clash = np.flatnonzero(group[cannot[:, 0]] == group[cannot[:, 1]])
    if len(clash):
        i, j = cannot[clash[0]]
        raise InputError(
            f"rows {i} and {j} are under a cannot-link, and must-links make them one; "
            "take one of these links back"
        )
    linked = np.zeros(n, bool)
    for pairs in (must, cannot, avoid):
        linked[pairs.ravel()] = True
    avoid = avoid[group[avoid[:, 0]] != group[avoid[:, 1]]]  # a must-link knows better
    return Links(group, _each_once(group[cannot]), _each_once(avoid), np.flatnonzero(~linked))


def by_first_appearance(labels: ArrayLike) -> NDArray[np.int64]:
    """Renumber labels 0, 1, 2, … in the order in which they first appear."""
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _each_once(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _pairs(name: str, pairs: ArrayLike | None, n: int) -> NDArray[np.int64]:
    array = np.asarray([] if pairs is None else pairs)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be pairs of row numbers, shape (m, 2)")
    outside = (array < 0) | (array >= n)
    if outside.any():
        raise InputError(f"{name} names row {array[outside][0]}; there are {n} rows, 0 to {n - 1}")
    return array.astype(np.int64)
