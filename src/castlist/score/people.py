"""Characters against people: who owns which character, what is wrong, and what is too many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from castlist.score.metrics import nmi


@dataclass(frozen=True)
class CrossTable:
    """Tracks of each person (rows) in each character (columns).

    A character is *owned* by the person who has most of its tracks; of equals, by the first in
    order of name.

    Attributes
    ----------
    who : ndarray of str, shape (n,)
        Who each track shows.
    labels : ndarray of int, shape (n,)
        The character each track was put in.
    """

    who: NDArray[np.str_]
    labels: NDArray[np.int64]

    @cached_property
    def people(self) -> NDArray[np.str_]:
        """The people that tracks show, in order of name."""
        return np.unique(self.who)

    @cached_property
    def characters(self) -> NDArray[np.int64]:
        """The labels of the characters, in order."""
        return np.unique(self.labels)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Tracks by person and character."""
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
        """Which tracks are in a character that somebody else owns."""
        rows, columns = self._places
        return np.asarray(self.owner[columns] != rows)

    @property
    def owned(self) -> NDArray[np.int64]:
        """How many characters each of ``people`` owns."""
        return np.bincount(self.owner, minlength=len(self.people))

    @property
    def pieces(self) -> int:
        """Characters beyond the first of each person."""
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
        """Normalised mutual information; 0 where there are no tracks."""
        return nmi(self.who, self.labels) if len(self.who) else 0.0

    @property
    def wcp(self) -> float:
        """Share of tracks in a character that their person owns; 0 where there are no tracks."""
        return float((~self.wrong).sum() / len(self.who)) if len(self.who) else 0.0

    @property
    def accuracy(self) -> float:
        """Share of tracks that are right if each person gets one character at most.

        Of all ways to give people characters, the best is taken. 0 where there are no tracks.
        """
        if not len(self.who):
            return 0.0
        rows, columns = linear_sum_assignment(self.counts, maximize=True)
        return float(self.counts[rows, columns].sum() / len(self.who))

    @property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = np.searchsorted(self.people, self.who)
        return rows, np.searchsorted(self.characters, self.labels)
