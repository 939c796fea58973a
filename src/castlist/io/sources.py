"""Putting the videos of many files into one TrackSet, with one feature matrix for all."""

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
class Source:
    """One video, opened: everything known but its features, which are read when asked for.

    Attributes
    ----------
    path : Path
        Where it is, for messages.
    n_faces, dim, dtype
        Size and type of the features; ``dim`` is 0 if there are none.
    blocks : callable
        Reads the features, block after block, each checked to be finite.
    build : callable
        Makes the TrackSet of this video around its features.
    """

    path: Path
    n_faces: int
    dim: int
    dtype: np.dtype[np.floating]
    blocks: Callable[[], Iterator[NDArray[np.floating]]]
    build: Callable[[Features | None], TrackSet]


def assemble(sources: Sequence[Source]) -> TrackSet:
    """Read all features into one matrix, on disk if it is large, and join the videos over it."""
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
        sum(source.n_faces for source in described),
        first.dim,
        np.result_type(*(source.dtype for source in described)),
    )
    ends = np.cumsum([source.n_faces for source in sources])
    return TrackSet.join(
        [
            source.build(Features(matrix, np.arange(end - source.n_faces, end)))
            for source, end in zip(sources, ends, strict=True)
        ]
    )
