"""MATLAB 5 files, as far as the authors' tracks need them: an array of structs of numbers.

SciPy reads all of MATLAB, and a damaged file can make it crash the process or fill the memory.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError, first_line
from castlist.io.untrusted import read_small

_HEADER = 128
_NUMBERS = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_MATRIX, _COMPRESSED = 14, 15
_STRUCT, _NUMERIC = 2, range(6, 16)
_LARGEST = 2**26  # bytes, unpacked: many times what an episode has

Element = tuple[int, memoryview]  # a type, and what is in it


def read_structs(path: Path, name: str, fields: Sequence[str]) -> list[dict[str, NDArray[Any]]]:
    """Read an array of structs.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What the array is called in it.
    fields : sequence of str
        The fields wanted; each must hold real numbers.

    Returns
    -------
    list of dict
        Field → its numbers in a row, a dict a struct.
    """
    try:
        data = read_small(path)
    except OSError as e:
        raise InputError(f"{path}: not a whole facetracks.mat ({first_line(e)})") from e
    try:
        order = {b"IM": "<", b"MI": ">"}[data[126:_HEADER]]
        for kind, body in _elements(memoryview(data)[_HEADER:], order):
            if kind == _COMPRESSED:
                kind, body = next(_elements(_unpacked(body), order))
            found = _structs(body, order, name, fields) if kind == _MATRIX else None
            if found is not None:
                return found
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (
        LookupError, ValueError, TypeError, OverflowError, StopIteration, struct.error, zlib.error,
    ) as e:  # fmt: skip
        raise InputError(f"{path}: not a whole facetracks.mat ({first_line(e)})") from e
    raise InputError(f"{path}: not a whole facetracks.mat (no {name} in it)")


def _unpacked(body: memoryview) -> memoryview:
    found = zlib.decompressobj().decompress(body, _LARGEST + 1)
    if len(found) > _LARGEST:
        raise InputError(f"not a whole facetracks.mat (more than {_LARGEST:,} bytes of tracks)")
    return memoryview(found)


def _elements(data: memoryview, order: str) -> Iterator[Element]:
    """Yield one element after another, to the end."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind >> 16:  # a small one: its size is there too, and what is in it at once
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            start, end = at + 8, at + 8 + size
            end += 0 if kind == _COMPRESSED else -size % 8
        if start + size > len(data) or start + size > end:
            raise ValueError("an element goes beyond the end")
        yield kind, data[start : start + size]
        at = end


def _numbers(element: Element, order: str) -> NDArray[Any]:
    kind, body = element
    return np.frombuffer(body, order + _NUMBERS[kind])


def _structs(
    data: memoryview, order: str, name: str, fields: Sequence[str]
) -> list[dict[str, NDArray[Any]]] | None:
    """Read a matrix, if it has this name."""
    parts = _elements(data, order)
    flags, size, called = next(parts), next(parts), next(parts)
    if bytes(called[1]) != name.encode():
        return None
    if int(_numbers(flags, order)[0]) & 0xFF != _STRUCT:
        raise InputError(f"not a whole facetracks.mat ({name} is no array of structs)")
    width = int(_numbers(next(parts), order)[0])
    text = bytes(next(parts)[1])
    if width < 1 or len(text) % width:
        raise ValueError("names of fields that do not fit")
    names = [
        text[i : i + width].split(b"\0")[0].decode("ascii") for i in range(0, len(text), width)
    ]
    if missing := [field for field in fields if field not in names]:
        raise InputError(f"{name} has no field {missing[0]!r}")
    found = []
    for _ in range(math.prod(_numbers(size, order).tolist())):  # ends with the data at the latest
        cells = {field: next(parts) for field in names}
        found.append({field: _values(field, cells[field], order) for field in fields})
    return found


def _values(field: str, cell: Element, order: str) -> NDArray[Any]:
    """Return the numbers of a matrix in a row."""
    if not len(cell[1]):
        return np.empty(0)
    flags, _, _, *values = _elements(cell[1], order)
    if int(_numbers(flags, order)[0]) & 0xFF not in _NUMERIC or len(values) != 1:
        raise ValueError(f"{field} does not hold real numbers")
    return _numbers(values[0], order)
