"""Links between rows: must-link (same), cannot-link (different), avoid-link (likely different)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from castlist.errors import InputError


@dataclass(frozen=True)
class Links:
    """Links between rows, resolved into groups and the pairs that stay apart.

    Attributes
    ----------
    group : ndarray of int, shape (n,)
        The group of each row: must-linked rows share one. Numbered by first appearance.
    apart : ndarray of int, shape (m, 2)
        The distinct pairs of groups with a cannot-link between them, smaller number first.
    avoid : ndarray of int, shape (k, 2)
        The distinct pairs of rows of different groups under an avoid-link, smaller number first.
    unlinked : ndarray of int
        The rows without any link, in ascending order.
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
        """The distinct pairs of groups with a cannot-link or avoid-link between them."""
        return _distinct(np.concatenate([self.apart, self.group[self.avoid]]))


def resolve_links(
    n: int,
    must_link: ArrayLike | None,
    cannot_link: ArrayLike | None,
    avoid_link: ArrayLike | None = None,
) -> Links:
    """Check the links between ``n`` rows and return what they imply together."""
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
            f"rows {i} and {j} have a cannot-link, but must-links put them into one cluster; "
            "remove one of these links"
        )
    linked = np.zeros(n, bool)
    for pairs in (must, cannot, avoid):
        linked[pairs.ravel()] = True
    avoid = avoid[group[avoid[:, 0]] != group[avoid[:, 1]]]  # must-links take precedence
    return Links(group, _distinct(group[cannot]), _distinct(avoid), np.flatnonzero(~linked))


def by_first_appearance(labels: ArrayLike) -> NDArray[np.int64]:
    """Renumber labels 0, 1, 2, … in the order in which they first appear."""
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _distinct(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _pairs(name: str, pairs: ArrayLike | None, n: int) -> NDArray[np.int64]:
    array = np.asarray([] if pairs is None else pairs)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be pairs of row numbers, of shape (m, 2)")
    outside = (array < 0) | (array >= n)
    if outside.any():
        raise InputError(
            f"{name} has row {array[outside][0]}, but there are {n} rows, 0 to {n - 1}"
        )
    return array.astype(np.int64)
