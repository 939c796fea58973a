"""Files that anybody may have written: JSON and NumPy arrays, refused in one way."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError, first_line


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Whatever is wrong with it, nesting without end too, is a ValueError."""
    try:
        said = text if isinstance(text, str) else text.decode("utf-8")
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
        with np.load(path, allow_pickle=False) as file:
            if any(one.compress_type != zipfile.ZIP_STORED for one in file.zip.infolist()):
                raise InputError("compressed")
            return {name: _of_something(path, file[name]) for name in file.files}
    except Exception as error:
        raise InputError(f"{path}: not a whole .npz file ({first_line(error)})") from error


def _of_something(path: str | Path, found: NDArray[Any]) -> NDArray[Any]:
    """Refuse an array of things of no size: of those, a file without any has billions."""
    if not found.dtype.itemsize:
        raise InputError(f"{path}: not a whole .npy file (of {found.dtype})")
    return found
