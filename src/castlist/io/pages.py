"""The pages of a Parquet file: what they say of themselves, before one of them is unpacked.

The sums in a file's footer are only said. Arrow makes room for what the head of each page says, and
for as many values as it says: so that is what has to be counted. Heads and footer are in Thrift's
compact protocol. (pyarrow says too where the columns are, but a damaged one ends the process.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_HEAD = 1024  # bytes that are read at once; a head has some 30, or more with statistics
_LONGEST = 2**20  # bytes of a head
_DEEPEST = 8  # structs inside each other
_UNPACKED, _PACKED, _VALUES = 2, 3, 1  # fields of a head
_DATA = {5: 2, 8: 4}  # those that a page of data has, of either version: where its encoding is
_DELTA_BYTE_ARRAY = 7


_GROUPS, _CHUNKS, _ABOUT = 4, 1, 3  # fields of a footer, a row group in it, a column in that
_OF_CHUNK, _DICTIONARY_AT = (5, 7, 9), 11


@dataclass(frozen=True)
class Chunk:
    """A column in a row group: how many values, and where in the file it begins and ends."""

    values: int
    begin: int
    end: int


@dataclass(frozen=True)
class Page:
    """Bytes of a page when unpacked, and how many values are in it: 0 of a dictionary."""

    size: int
    values: int


def chunks(file: BinaryIO) -> list[list[Chunk]]:
    """Read where the columns are, of one row group after another; a ValueError where nowhere."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 8, 0))
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(size - 8 - length, 0))
    try:
        footer = _Thrift(file.read(length)).struct()
        return [[_chunk(one[_ABOUT]) for one in group[_CHUNKS]] for group in footer[_GROUPS]]
    except (LookupError, TypeError) as error:
        raise ValueError("a footer without columns") from error


def _chunk(about: dict[int, Any]) -> Chunk:
    values, packed, begin = (about[field] for field in _OF_CHUNK)
    if 0 < about.get(_DICTIONARY_AT, 0) < begin:
        begin = about[_DICTIONARY_AT]
    if min(values, packed, begin) < 0:
        raise ValueError("a column without a size")
    return Chunk(values, begin, begin + packed)


def pages(file: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """Go through the pages of a column in a row group; a ValueError where there are none."""
    at = chunk.begin
    while at < chunk.end:
        head, length = _head(file, at)
        try:
            data = {field: head[field] for field in _DATA if field in head}
            numbers = [head[_UNPACKED], head[_PACKED], *(one[_VALUES] for one in data.values())]
            encodings = [data[field][_DATA[field]] for field in data]
        except (KeyError, TypeError) as error:
            raise ValueError("a page without a head") from error
        if not all(isinstance(number, int) and number >= 0 for number in numbers):
            raise ValueError("a page without a size")
        if _DELTA_BYTE_ARRAY in encodings:  # each text may be the one before and a little more
            raise ValueError("text as differences, which castlist does not read")
        yield Page(numbers[0], sum(numbers[2:]))
        at += length + numbers[1]


def _head(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    """Read the head of a page, and how long it is."""
    much = _HEAD
    while True:
        file.seek(at)
        reader = _Thrift(data := file.read(much))
        try:
            return reader.struct(), reader.at
        except IndexError as error:
            if len(data) < much or much >= _LONGEST:
                raise ValueError("a page that is cut off") from error
            much *= 16


class _Thrift:
    """Thrift's compact protocol, as far as Parquet has it; IndexError at the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read fields by their numbers."""
        if depth > _DEEPEST:
            raise ValueError("a head without end")
        found: dict[int, Any] = {}
        number = 0
        while kind := self._byte():
            number = number + (kind >> 4) if kind >> 4 else self._whole()
            if number in found:  # others may believe the first of the two
                raise ValueError("a head that says a thing twice")
            found[number] = self._value(kind & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # true, false
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind in (7, 8):  # a number of 8 bytes, or bytes, which nobody asks for
            self._skip(8 if kind == 7 else self._natural())
            return None
        if kind in (9, 10):
            return self._list(depth + 1)
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("a head of another kind")

    def _list(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise ValueError("a head without end")
        length, kind = divmod(self._byte(), 16)
        if length == 15:
            length = self._natural()
        kind = 3 if kind in (1, 2) else kind  # of true and false, each has a byte here
        return [self._value(kind, depth) for _ in range(length)]

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _skip(self, length: int) -> None:
        self.at += length
        if self.at > len(self._data):
            raise IndexError

    def _natural(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number without end")
        return value | byte << shift

    def _whole(self) -> int:
        value = self._natural()
        return value >> 1 ^ -(value & 1)
