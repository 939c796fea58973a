"""How much may come out of a Parquet file, told before it does."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from castlist.errors import InputError, first_line
from castlist.io.pages import chunks, pages
from castlist.io.untrusted import file_size

_SOME_FACES, _SOME_BYTES = 1_000_000, 2**28  # what may come out of a file of any size
_WIDEST = 8  # bytes of a number


def is_wide(kind: pa.DataType) -> bool:
    """Say whether one face may have any number of bytes of such a column, text apart."""
    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return bool(pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind))


def require_size(path: Path, about: pq.FileMetaData, columns: Collection[str], dim: int) -> int:
    """Refuse a file that unpacks to far more than itself: a value can be said a billion times.

    Parameters
    ----------
    path : Path
        The file.
    about : FileMetaData
        Its footer.
    columns : collection of str
        What is read of it, a value a face; features apart.
    dim : int
        Length of a feature.

    Returns
    -------
    int
        How many bytes may come out of it.
    """
    size = file_size(path)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    # A face takes a bit at least, and what castlist writes shrinks to a twentieth at most.
    most = max(_SOME_BYTES, 1000 * size)
    if rows > max(_SOME_FACES, 8 * size):
        raise InputError(f"{path}: says {rows:,} faces in a file of {size:,} bytes")
    for group in groups:  # what is read at once: of faces without a feature, it is nothing but room
        require_features(path, group.num_rows, dim, most)
    values = dict.fromkeys(columns, 1) | {"feature": max(dim, 1)}
    unpacked = 0
    try:
        names = [about.schema.column(i).path.partition(".")[0] for i in range(about.num_columns)]
        with path.open("rb") as file:
            read = [
                (group.num_rows * values[name], chunk)
                for group, columns_of in zip(groups, chunks(file), strict=True)
                for name, chunk in zip(names, columns_of, strict=True)
                # One of no values, as in a file without faces, is never looked for.
                if name in values and chunk.values
            ]
            if sum(chunk.end - chunk.begin for _, chunk in read) > size:
                raise InputError("its columns overlap")
            for n_values, chunk in read:
                found = list(pages(file, chunk))
                if sum(page.values for page in found) > n_values:
                    raise InputError("more values than faces")
                unpacked += sum(page.size for page in found)
    except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        raise InputError(f"{path}: damaged ({first_line(error)})") from error
    if unpacked > most:
        raise InputError(f"{path}: says {unpacked:,} bytes in a file of {size:,}")
    return most


def require_features(path: Path, n_faces: int, dim: int, most: int) -> None:
    """Refuse features that are few bytes only as long as equal numbers are kept once."""
    if n_faces * dim * _WIDEST > most:
        raise InputError(f"{path}: says {n_faces:,} features of {dim:,} numbers, beyond its size")


def require_text(path: Path, table: pa.Table, most: int) -> None:
    """Refuse text that is little as long as each is kept once, and too much as one a face."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type) and _is_text(chunk.type.value_type):
                lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
                most -= pc.sum(lengths).as_py() or 0
        if most < 0:
            raise InputError(f"{path}: column {name!r} has far more text than the file")


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )  # fmt: skip
