"""One door for all track files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from castlist.errors import InputError
from castlist.io.authors import is_authors_folder, open_authors
from castlist.io.parquet import SUFFIX, open_parquet
from castlist.io.sources import Source, assemble
from castlist.tracks import TrackSet


def read_tracks(*paths: str | Path, boxes: bool = True) -> TrackSet:
    """Read tracks from Parquet files, folders of them, or folders in the authors' layout.

    Features larger than 256 MiB in all are kept on disk and memory-mapped.

    Parameters
    ----------
    *paths : path
        What to read; several are joined.
    boxes : bool
        In the authors' layout, take frames and boxes from ``facetracks.mat``.
    """
    if not paths:
        raise InputError("nothing to read: give a .parquet file or a folder")
    return assemble([source for path in paths for source in _open(Path(path), boxes)])


def _open(path: Path, boxes: bool) -> Sequence[Source]:
    if path.is_file():
        return [open_parquet(path)]
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    if is_authors_folder(path):
        return open_authors(path, boxes=boxes)
    files = sorted(path.glob(f"*{SUFFIX}"))
    if not files:
        raise InputError(f"{path}: neither {SUFFIX} files nor an ids folder in it")
    return [open_parquet(file) for file in files]
