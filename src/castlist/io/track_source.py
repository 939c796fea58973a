"""Opened track files, and how several are joined into one TrackSet with one feature matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.features import Features, gather
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class TrackSource:
    """One opened video: everything but its features, which are read later.

    Attributes
    ----------
    path : Path
        The file, for messages.
    n_faces, dim, dtype
        Size and type of the features; ``dim`` is 0 if there are none.
    blocks : callable
        Yields the features in blocks, each checked to be finite.
    build : callable
        Returns the TrackSet of this video, given its features.
    described : ndarray of bool, optional
        Mask of the faces that have a feature; all if not given.
    """

    path: Path
    n_faces: int
    dim: int
    dtype: np.dtype[np.floating]
    blocks: Callable[[], Iterator[NDArray[np.floating]]]
    build: Callable[[Features | None], TrackSet]
    described: NDArray[np.bool_] | None = None

    @property
    def n_described(self) -> int:
        """Number of features in the blocks."""
        return self.n_faces if self.described is None else int(self.described.sum())


def assemble(sources: Sequence[TrackSource]) -> TrackSet:
    """Join the videos into one TrackSet, with one feature matrix, on disk if it is large."""
    described = [source for source in sources if source.dim]
    first = described[0] if described else None
    for source in sources:
        if first and source.n_faces and source.dim != first.dim:
            raise InputError(
                f"features of different dimensions: {first.path} has {first.dim}, "
                f"{source.path} has {source.dim or 'none'}"
            )
    if first is None:
        return TrackSet.join([source.build(None) for source in sources])
    matrix = gather(
        (block for source in described for block in source.blocks()),
        sum(source.n_described for source in described),
        first.dim,
        np.result_type(*(source.dtype for source in described)),
    )
    starts = np.cumsum([0, *(source.n_described for source in sources)])
    return TrackSet.join(
        [
            source.build(_rows(matrix, source, int(at)))
            for source, at in zip(sources, starts, strict=False)
        ]
    )


def _rows(matrix: NDArray[np.floating], source: TrackSource, start: int) -> Features:
    if source.described is None:
        return Features(matrix, np.arange(start, start + source.n_faces))
    return Features.of_described(matrix, source.described, start)
