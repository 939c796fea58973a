"""Where the characters of a cast are: the middle of each ball, to find whose a new track is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.io.files import replacing
from castlist.io.untrusted import load_arrays

Rows = NDArray[np.int64]
#: Balls that are compared at once: bounds the memory.
_COLUMNS = ("numbers", "sums", "sizes", "names")
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
    sizes : ndarray of int, shape (n,)
        How many tracks each has.
    names : ndarray of str, shape (n,)
        What they are called, if they are.
    known : tuple of int
        How many videos, and which last event, they know of.
    """

    numbers: Rows
    sums: NDArray[np.float64]
    sizes: Rows
    names: NDArray[np.str_]
    known: tuple[int, int] = (0, 0)

    @classmethod
    def of(
        cls,
        points: NDArray[np.floating],
        labels: Rows,
        names: dict[int, str] | None = None,
        known: tuple[int, int] = (0, 0),
    ) -> Balls:
        """Make the balls of labelled points; -1 is nobody's."""
        kept = labels >= 0
        numbers, code, sizes = np.unique(labels[kept], return_inverse=True, return_counts=True)
        order = np.argsort(code, kind="stable")
        first = np.cumsum(sizes) - sizes
        some = points[kept][order].astype(float)
        sums = np.add.reduceat(some, first) if len(some) else np.empty((0, points.shape[1]))
        called = [(names or {}).get(number, "") for number in numbers.tolist()]
        return cls(numbers, sums, sizes, np.array(called, np.str_), known)

    @property
    def middles(self) -> NDArray[np.float32]:
        """Their middles, of unit length."""
        lengths = np.maximum(np.linalg.norm(self.sums, axis=1, keepdims=True), 1e-9)
        return np.asarray(self.sums / lengths, np.float32)

    def homes(
        self, middles: NDArray[np.float32], radius: float
    ) -> tuple[Rows, NDArray[np.float64]]:
        """Return which ball each of some middles belongs to, as a row, and how far it is (squared).

        Of the balls that it lies in, the largest: one person may have two, where some tracks had to
        be kept apart, and which of them is nearer by a hair says nothing. Else the nearest.
        """
        best = np.full(len(middles), -1)
        score = np.full(len(middles), -np.inf)
        alike = np.full(len(middles), -np.inf)
        own = self.middles
        if len(own) and len(middles) and own.shape[1] != middles.shape[1]:
            raise InputError(
                f"balls of {own.shape[1]} numbers, and embeddings of {middles.shape[1]}; "
                "remove balls.npz: it is made again"
            )
        for start in range(0, len(own), _BLOCK):
            part = slice(start, start + _BLOCK)
            cosines = middles @ own[part].T
            scores = np.where(2 - 2 * cosines <= radius, 1 + self.sizes[part], cosines)
            row = scores.argmax(axis=1)
            found = scores.max(axis=1, initial=-np.inf)
            better = found > score
            score[better], best[better] = found[better], row[better] + start
            alike[better] = cosines[better, row[better]]
        return best, np.asarray(2 - 2 * alike)

    def with_more(
        self,
        points: NDArray[np.floating],
        labels: Rows,
        names: dict[int, str],
        known: tuple[int, int],
    ) -> Balls:
        """Add labelled points to the balls they belong to, and to new ones."""
        new = Balls.of(points, labels, names)
        numbers, code = np.unique(np.concatenate([self.numbers, new.numbers]), return_inverse=True)
        sums = np.zeros((len(numbers), self.sums.shape[1] or new.sums.shape[1]))
        sizes = np.zeros(len(numbers), np.int64)
        called = np.full(len(numbers), "", object)
        for one, rows in ((self, code[: len(self.numbers)]), (new, code[len(self.numbers) :])):
            if len(rows):
                sums[rows] += one.sums
                sizes[rows] += one.sizes
                called[rows] = np.where(one.names != "", one.names, called[rows])
        return Balls(numbers, sums, sizes, called.astype(np.str_), known)

    def save(self, path: Path) -> None:
        """Write them."""
        with replacing(path) as partial, partial.open("wb") as file:
            np.savez(file, **{name: getattr(self, name) for name in (*_COLUMNS, "known")})

    @classmethod
    def load(cls, path: Path) -> Balls:
        """Read what :meth:`save` wrote."""
        try:
            found = load_arrays(path)
            numbers, sums, sizes, names = (found[name] for name in _COLUMNS)
            videos, event = (int(n) for n in found["known"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: damaged ({error})") from error
        fits = sums.ndim == 2 and numbers.shape == sizes.shape == names.shape == (len(sums),)
        kinds = "".join(column.dtype.kind for column in (numbers, sums, sizes, names))
        if not fits or kinds != "ifiU" or not np.isfinite(sums).all():
            raise InputError(f"{path}: damaged")
        return cls(numbers, sums, sizes, names, (videos, event))
