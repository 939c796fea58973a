"""The pages of a Parquet file: what they say of themselves, before one of them is unpacked.

The sums in a file's footer are only said. Arrow makes room for what the head of each page says, and
for as many values as it says: so that is what has to be counted. Heads are in Thrift's compact
protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow.parquet as pq

_HEAD = 1024  # bytes that are read at once; a head has some 30, or more with statistics
_LONGEST = 2**20  # bytes of a head
_DEEPEST = 8  # structs inside each other
_UNPACKED, _PACKED, _VALUES = 2, 3, 1  # fields of a head
_DATA = {5: 2, 8: 4}  # those that a page of data has, of either version: where its encoding is
_DELTA_BYTE_ARRAY = 7


@dataclass(frozen=True)
class Page:
    """Bytes of a page when unpacked, and how many values are in it: 0 of a dictionary."""

    size: int
    values: int


def pages(file: BinaryIO, chunk: pq.ColumnChunkMetaData) -> Iterator[Page]:
    """Go through the pages of a column in a row group; a ValueError where there are none."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size
    while at < end:
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
    """Thrift's compact protocol, as far as heads of pages have it; IndexError at the end."""

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
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("a head of another kind")

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
