"""One door for all track files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from castlist.errors import InputError
from castlist.io.authors import is_authors_folder, open_authors
from castlist.io.box_tracks import GivenTracks
from castlist.io.cvat import read_cvat
from castlist.io.mot import read_mot
from castlist.io.parquet import SUFFIX, open_parquet
from castlist.io.videos import Source, assemble
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


def read_given(path: str | Path) -> GivenTracks:
    """Read tracks made elsewhere, from a file of CVAT for video 1.1 or of the MOT Challenge."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file of tracks")
    try:
        with path.open("rb") as file:
            begin = file.read(1000)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    is_xml = begin.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    return read_cvat(path) if is_xml else read_mot(path)
