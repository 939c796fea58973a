"""The features of a TrackSet's faces: rows of a matrix that may be larger than memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import CastlistError, InputError

#: Larger feature matrices are kept in an unlinked temporary file and memory-mapped.
IN_MEMORY_BYTES = 256 * 2**20
#: Rows per read: each may map the 2 MiB around it, so this many map at most half a GiB.
_ROWS_PER_READ = 256


class Features:
    """Chosen rows of a feature matrix, read on demand.

    Slicing a TrackSet chooses other rows of the same matrix. Values are copied only when
    :meth:`take` or :meth:`chunks` reads them, always as float32. A face that was not described
    has no row, and its feature is NaN.

    Parameters
    ----------
    base : ndarray of shape (rows, dim), float16 or float32
        The matrix, in memory or memory-mapped.
    rows : ndarray of int, optional
        The row of each face, -1 for none; all rows in order if not given.
    """

    def __init__(self, base: NDArray[np.floating], rows: NDArray[np.int64] | None = None) -> None:
        if base.ndim != 2:
            raise InputError(f"features must be faces × dims, not of shape {base.shape}")
        if base.dtype not in (np.float16, np.float32):
            with np.errstate(over="ignore"):  # values that overflow are infinite, and refused later
                base = base.astype(np.float32)
        self._base = base
        self._rows = rows

    @classmethod
    def join(cls, parts: Sequence[Features]) -> Features:
        """Return the concatenation of several; copies values only if their matrices differ."""
        if len(dims := sorted({part.dim for part in parts})) > 1:
            raise InputError(f"features of different dimensions: {', '.join(map(str, dims))}")
        if all(part._base is parts[0]._base for part in parts):
            return cls(parts[0]._base, np.concatenate([part.rows for part in parts]))
        described = np.concatenate([part.described for part in parts])
        blocks = (
            block
            for part in parts
            for _, block in part.select(np.flatnonzero(part.described)).chunks()
        )
        dtype = np.result_type(*(part.dtype for part in parts))
        return cls.of_described(gather(blocks, int(described.sum()), dims[0], dtype), described)

    @classmethod
    def of_described(
        cls, base: NDArray[np.floating], described: NDArray[np.bool_], start: int = 0
    ) -> Features:
        """Return features whose described faces are rows of a matrix, in order from ``start``."""
        return cls(base, np.where(described, start + np.cumsum(described) - 1, -1))

    def __len__(self) -> int:
        return len(self._base) if self._rows is None else len(self._rows)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The matrix row of each face."""
        return np.arange(len(self._base)) if self._rows is None else self._rows

    @property
    def described(self) -> NDArray[np.bool_]:
        """Which faces have a feature."""
        return np.ones(len(self), bool) if self._rows is None else self._rows >= 0

    @property
    def dim(self) -> int:
        """Length of one feature."""
        return int(self._base.shape[1])

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The stored type, float16 or float32. Values are always read as float32."""
        return self._base.dtype

    @property
    def on_disk(self) -> bool:
        """Whether the matrix is memory-mapped."""
        return isinstance(self._base, np.memmap)

    def __array__(
        self, dtype: np.dtype | None = None, copy: bool | None = None
    ) -> NDArray[np.floating]:
        return self.take(np.arange(len(self))).astype(dtype or np.float32, copy=False)

    def take(self, faces: ArrayLike) -> NDArray[np.float32]:
        """Return the features of the given faces, as float32."""
        faces = np.asarray(faces)
        rows = faces if self._rows is None else self._rows[faces]
        if len(rows) and rows.min() < 0:
            values = np.full((len(rows), self.dim), np.nan, np.float32)
            there = rows >= 0
            values[there] = Features(self._base).take(rows[there])
            return values
        if not self.on_disk:
            return np.asarray(self._base[rows], dtype=np.float32)
        values = np.empty((len(rows), self.dim), np.float32)
        for start in range(0, len(rows), _ROWS_PER_READ):
            part = slice(start, start + _ROWS_PER_READ)
            values[part] = self._base[rows[part]]
            if hasattr(mmap, "MADV_DONTNEED"):  # free the pages; they stay on disk
                self._base._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
        return values

    def select(self, faces: NDArray[np.int64]) -> Features:
        """Return the features of chosen faces, without reading them."""
        return Features(self._base, faces if self._rows is None else self._rows[faces])

    def chunks(self, size: int = 8192) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield all features in order, as pairs (first face, block)."""
        for start in range(0, len(self), size):
            yield start, self.take(np.arange(start, min(start + size, len(self))))

    def means(self, offsets: NDArray[np.int64], faces_at_once: int = 8192) -> NDArray[np.float32]:
        """Return the means of runs of faces; the i-th is ``offsets[i]:offsets[i + 1]``."""
        n = len(offsets) - 1
        means = np.empty((n, self.dim), np.float32)
        first = 0
        while first < n:  # a block is whole runs, of about ``faces_at_once`` faces
            limit = offsets[first] + faces_at_once
            last = int(np.searchsorted(offsets, limit, side="right")) - 1
            last = min(max(last, first + 1), n)
            starts = offsets[first:last] - offsets[first]
            block = self.take(np.arange(offsets[first], offsets[last]))
            sums = np.add.reduceat(block, starts, axis=0, dtype=np.float64)
            means[first:last] = sums / np.diff(offsets[first : last + 1])[:, None]
            first = last
        return means

    def mean_and_scale(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return mean and standard deviation per dimension; a constant dimension has scale 1."""
        total = np.zeros(self.dim)
        squares = np.zeros(self.dim)
        shift = self.take([0])[0].astype(np.float64)  # avoids cancellation in the variance
        for _, block in self.chunks():
            centred = block - shift
            total += centred.sum(axis=0)
            squares += np.square(centred).sum(axis=0)
        mean = total / len(self)
        scale = np.sqrt(np.maximum(squares / len(self) - np.square(mean), 0))
        scale[scale < 1e-7 * np.maximum(1, np.abs(shift))] = 1
        return (mean + shift).astype(np.float32), scale.astype(np.float32)


def gather(
    blocks: Iterable[NDArray[np.floating]], rows: int, dim: int, dtype: np.dtype
) -> NDArray[np.floating]:
    """Return blocks of rows as one matrix: in memory if small, else in a memory-mapped file.

    The file has no name and disappears with its last reader. It is created in Python's folder for
    temporary files, which ``TMPDIR`` sets.
    """
    size = rows * dim * dtype.itemsize
    if size <= IN_MEMORY_BYTES:
        matrix = np.empty((rows, dim), dtype)
        start = 0
        for block in blocks:
            matrix[start : start + len(block)] = block
            start += len(block)
        return matrix
    try:
        # Written, not mapped: pages written through a map would count as this process's memory.
        with tempfile.TemporaryFile(prefix="castlist-") as file:
            for block in blocks:
                file.write(np.ascontiguousarray(block, dtype).data)
            file.flush()
            return np.memmap(file, dtype=dtype, mode="r", shape=(rows, dim))
    except OSError as error:
        raise CastlistError(
            f"no room for {size / 2**30:.1f} GiB of features in {tempfile.gettempdir()} "
            f"({error.strerror}); set TMPDIR to a folder with more space"
        ) from error
