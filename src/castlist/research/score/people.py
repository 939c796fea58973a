"""Compare characters with people: the owner of each character, wrong tracks, extra characters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from castlist.score.metrics import nmi


@dataclass(frozen=True)
class CrossTable:
    """Counts of tracks per person (rows) and character (columns).

    The *owner* of a character is the person with most of its tracks; of equals, the first in
    order of name.

    Attributes
    ----------
    who : ndarray of str, shape (n,)
        The person of each track.
    labels : ndarray of int, shape (n,)
        The character of each track.
    """

    who: NDArray[np.str_]
    labels: NDArray[np.int64]

    @cached_property
    def people(self) -> NDArray[np.str_]:
        """The people, in order of name."""
        return np.unique(self.who)

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """The labels of the characters, in order."""
        return np.unique(self.labels)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of tracks per person and character."""
        table = np.zeros((len(self.people), len(self.characters)), np.int64)
        rows, columns = self._places
        np.add.at(table, (rows, columns), 1)
        return table

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The owner of each character, as a row of ``people``."""
        empty = np.empty(0, np.int64)
        return np.asarray(self.counts.argmax(axis=0)) if len(self.who) else empty

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Which tracks are in a character of another owner."""
        rows, columns = self._places
        return np.asarray(self.owner[columns] != rows)

    @property
    def owned(self) -> NDArray[np.int64]:
        """Number of characters that each of ``people`` owns."""
        return np.bincount(self.owner, minlength=len(self.people))

    @property
    def pieces(self) -> int:
        """Number of characters beyond the first of each person."""
        return int(np.maximum(self.owned - 1, 0).sum())

    @property
    def pure(self) -> NDArray[np.bool_]:
        """Which characters show one person only."""
        return np.asarray((self.counts > 0).sum(axis=0) == 1)

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which characters have all tracks of their owner."""
        if not len(self.who):
            return np.empty(0, bool)
        return np.asarray(self.counts.max(axis=0) == self.counts.sum(axis=1)[self.owner])

    @property
    def nmi(self) -> float:
        """Normalised mutual information; 0 without tracks."""
        return nmi(self.who, self.labels) if len(self.who) else 0.0

    @property
    def wcp(self) -> float:
        """Share of tracks in a character that their person owns; 0 without tracks."""
        return float((~self.wrong).sum() / len(self.who)) if len(self.who) else 0.0

    @property
    def accuracy(self) -> float:
        """Share of correct tracks if each person gets at most one character; 0 without tracks.

        The best assignment of characters to people is used.
        """
        if not len(self.who):
            return 0.0
        rows, columns = linear_sum_assignment(self.counts, maximize=True)
        return float(self.counts[rows, columns].sum() / len(self.who))

    @property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = np.searchsorted(self.people, self.who)
        return rows, np.searchsorted(self.characters, self.labels)
