"""Files that anybody may have written: small ones, JSON and NumPy arrays, refused in one way."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError, first_line

_SMALL = 2**28  # bytes: far more than castlist writes about a cast


def file_size(path: str | Path) -> int:
    """Return how large a file is. A pipe, which keeps one waiting, or a device is refused."""
    about = Path(path).stat()
    if not stat.S_ISREG(about.st_mode):
        raise InputError("no file, but a folder, a pipe or a device")
    return about.st_size


def read_small(path: Path, most: int = _SMALL) -> bytes:
    """Read a file of ``most`` bytes at most; another is an InputError, and a missing an OSError."""
    try:
        size = file_size(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if size > most:
        raise InputError(f"{path}: {size:,} bytes; castlist reads {most:,} of such a file at most")
    with path.open("rb") as file:
        return file.read(size)  # and no more: some files of the system say 0 and have no end


def read_json(path: Path) -> Any:
    """Read a JSON file. Whatever is wrong with it is a ValueError or an OSError."""
    return parse_json(read_small(path).decode("utf-8"))


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Whatever is wrong with it, nesting without end too, is a ValueError."""
    try:
        said = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(said)
        if "\\ud" in said or "\\uD" in said:
            # Half a letter can be said so, and be shown and written nowhere.
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def load_array(path: str | Path, mmap_mode: Literal["r"] | None = None) -> NDArray[Any]:
    """Read a ``.npy`` file. It is never unpickled."""
    try:
        file_size(path)
        with np.errstate(over="ignore"):  # a size beyond all numbers is refused all the same
            found = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except Exception as error:  # its header is Python code, which fails in many ways
        raise InputError(f"{path}: not a whole .npy file ({first_line(error)})") from error
    if not isinstance(found, np.ndarray):
        found.close()
        raise InputError(f"{path}: not a .npy file, but an archive of them")
    return _of_something(path, found)


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Read what ``np.savez`` wrote. It is never unpickled, nor larger than its file."""
    try:
        size = file_size(path)
        with np.load(path, allow_pickle=False) as file:
            inside = file.zip.infolist()
            if any(one.compress_type != zipfile.ZIP_STORED for one in inside):
                raise InputError("compressed")
            if sum(one.file_size for one in inside) > size:  # the same bytes under many names
                raise InputError("its arrays overlap")
            return {name: _of_something(path, file[name]) for name in file.files}
    except Exception as error:
        raise InputError(f"{path}: not a whole .npz file ({first_line(error)})") from error


def _of_something(path: str | Path, found: NDArray[Any]) -> NDArray[Any]:
    """Refuse an array of things of no size: of those, a file without any has billions."""
    if not found.dtype.itemsize:
        raise InputError(f"{path}: not a whole .npy file (of {found.dtype})")
    return found
