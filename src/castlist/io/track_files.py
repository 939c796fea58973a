"""Read tracks from files and folders of any supported layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from castlist.errors import InputError
from castlist.io.authors import is_authors_folder, open_authors
from castlist.io.parquet import SUFFIX, open_parquet
from castlist.io.track_source import TrackSource, assemble
from castlist.tracks import TrackSet


def read_tracks(*paths: str | Path, boxes: bool = True) -> TrackSet:
    """Read tracks from Parquet files, folders of them, or folders in the authors' layout.

    If all features together are larger than 256 MiB, they are kept on disk and memory-mapped.

    Parameters
    ----------
    *paths : path
        The files and folders; several are joined.
    boxes : bool
        In the authors' layout, read frames and boxes from ``facetracks.mat``.
    """
    if not paths:
        raise InputError("nothing to read: give a .parquet file or a folder")
    return assemble([source for path in paths for source in _open(Path(path), boxes)])


def _open(path: Path, boxes: bool) -> Sequence[TrackSource]:
    if path.is_file():
        return [open_parquet(path)]
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    if is_authors_folder(path):
        return open_authors(path, boxes=boxes)
    files = sorted(path.glob(f"*{SUFFIX}"))
    if not files:
        raise InputError(f"{path}: the folder has neither {SUFFIX} files nor an ids folder")
    return [open_parquet(file) for file in files]
