"""Where the characters of a cast are: the middle of each ball, to find whose a new track is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.io.files import replacing

Rows = NDArray[np.int64]
#: Balls that are compared at once: bounds the memory.
_BLOCK = 65_536


@dataclass(frozen=True)
class Balls:
    """The balls of characters.

    Attributes
    ----------
    numbers : ndarray of int, shape (n,)
        Their characters.
    sums : ndarray of float64, shape (n, dim)
        The sum of each one's embeddings.
    names : ndarray of str, shape (n,)
        What they are called, if they are.
    event : int
        The last thing said that they know of.
    """

    numbers: Rows
    sums: NDArray[np.float64]
    names: NDArray[np.str_]
    event: int = 0

    @classmethod
    def of(
        cls,
        points: NDArray[np.floating],
        labels: Rows,
        names: dict[int, str] | None = None,
        event: int = 0,
    ) -> Balls:
        """Make the balls of labelled points; -1 is nobody's."""
        kept = labels >= 0
        numbers, code = np.unique(labels[kept], return_inverse=True)
        order = np.argsort(code, kind="stable")
        first = np.searchsorted(code[order], np.arange(len(numbers)))
        some = points[kept][order].astype(float)
        sums = np.add.reduceat(some, first) if len(some) else np.empty((0, points.shape[1]))
        called = [(names or {}).get(number, "") for number in numbers.tolist()]
        return cls(numbers, sums, np.array(called, np.str_), event)

    @property
    def middles(self) -> NDArray[np.float32]:
        """Their middles, of unit length."""
        lengths = np.maximum(np.linalg.norm(self.sums, axis=1, keepdims=True), 1e-9)
        return np.asarray(self.sums / lengths, np.float32)

    def nearest(self, middles: NDArray[np.float32]) -> tuple[Rows, NDArray[np.float64]]:
        """Return which ball is nearest to each of some middles, as a row, and how far (squared)."""
        best = np.full(len(middles), -1)
        alike = np.full(len(middles), -np.inf)
        own = self.middles
        for start in range(0, len(own), _BLOCK):
            cosines = middles @ own[start : start + _BLOCK].T
            row = cosines.argmax(axis=1)
            found = cosines[np.arange(len(middles)), row]
            better = found > alike
            best[better], alike[better] = row[better] + start, found[better]
        return best, np.asarray(2 - 2 * alike)

    def with_more(
        self, points: NDArray[np.floating], labels: Rows, names: dict[int, str], event: int
    ) -> Balls:
        """Add labelled points to the balls they belong to, and to new ones."""
        new = Balls.of(points, labels, names)
        numbers, code = np.unique(np.concatenate([self.numbers, new.numbers]), return_inverse=True)
        sums = np.zeros((len(numbers), self.sums.shape[1] or new.sums.shape[1]))
        called = np.full(len(numbers), "", object)
        for one, rows in ((self, code[: len(self.numbers)]), (new, code[len(self.numbers) :])):
            if len(rows):
                sums[rows] += one.sums
                called[rows] = np.where(one.names != "", one.names, called[rows])
        return Balls(numbers, sums, called.astype(np.str_), event)

    def save(self, path: Path) -> None:
        """Write them."""
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(file, numbers=self.numbers, sums=self.sums, names=self.names, event=self.event)

    @classmethod
    def load(cls, path: Path) -> Balls:
        """Read what :meth:`save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(file["numbers"], file["sums"], file["names"], int(file["event"]))
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InputError(f"{path}: damaged; join again ({error})") from error
