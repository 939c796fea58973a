"""Read small files, JSON and NumPy arrays from strangers, with size limits and no pickles."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from castlist.errors import InputError, first_line

_MAX_SIZE = 2**28  # bytes: far more than castlist writes about a cast


def file_size(path: str | Path) -> int:
    """Return the size of a file in bytes. Folders, pipes and devices are an InputError."""
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise InputError("not a file, but a folder, a pipe or a device")
    return status.st_size


def read_small(path: Path, max_size: int = _MAX_SIZE) -> bytes:
    """Read a file of at most ``max_size`` bytes.

    A larger file is an InputError, a missing one an OSError.
    """
    try:
        size = file_size(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if size > max_size:
        raise InputError(f"{path}: {size:,} bytes; the limit for such a file is {max_size:,}")
    with path.open("rb") as file:
        return file.read(size)  # no more: files in /proc have size 0 and may be endless


def read_json(path: Path) -> Any:
    """Read a JSON file. Invalid JSON is a ValueError, an unreadable file an OSError."""
    return parse_json(read_small(path))


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Lone surrogates and deep nesting are a ValueError, like any other mistake."""
    return from_json(text)


def load_array(path: str | Path, mmap_mode: Literal["r"] | None = None) -> NDArray[Any]:
    """Read a ``.npy`` file. Pickled objects are an InputError."""
    try:
        file_size(path)
        with np.errstate(over="ignore"):  # of a huge size, which is refused anyway
            found = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except Exception as error:  # NumPy's own errors are of many kinds
        raise InputError(f"{path}: not a whole .npy file ({first_line(error)})") from error
    if not isinstance(found, np.ndarray):
        found.close()
        raise InputError(f"{path}: not a .npy file, but a .npz archive")
    return _require_size(path, found)


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Read a ``.npz`` file of ``np.savez``. Pickled or compressed arrays are an InputError."""
    try:
        size = file_size(path)
        with np.load(path, allow_pickle=False) as file:
            inside = file.zip.infolist()
            if any(one.compress_type != zipfile.ZIP_STORED for one in inside):
                raise InputError("compressed")
            if sum(one.file_size for one in inside) > size:  # one array under many names
                raise InputError("its arrays overlap")
            return {name: _require_size(path, file[name]) for name in file.files}
    except Exception as error:
        raise InputError(f"{path}: not a whole .npz file ({first_line(error)})") from error


def _require_size(path: str | Path, found: NDArray[Any]) -> NDArray[Any]:
    """Refuse items of zero bytes: a small file can have billions of them."""
    if not found.dtype.itemsize:
        raise InputError(f"{path}: not a whole .npy file (items of type {found.dtype})")
    return found
