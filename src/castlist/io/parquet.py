"""The native track file: one Parquet file per video, one row per face."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from castlist._version import __version__
from castlist.errors import InputError, first_line
from castlist.features import Features
from castlist.io.files import printable, replacing
from castlist.io.track_source import TrackSource
from castlist.io.untrusted import file_size, parse_json
from castlist.tracks import TrackSet

SUFFIX = ".parquet"
FORMAT = 1
_ROW_GROUP_FACES = 8192
_METADATA = b"castlist"
_COLUMNS = (
    "track", "shot", "end", "identity", "frame", "setup", "time", "x", "y", "w", "h", "score",
    "described",
)  # fmt: skip
#: Limits of what a file may expand to: these, or a multiple of its size. A face takes at least a
#: bit, and what castlist writes shrinks to a twentieth at most (docs/development/threat-model.md).
_MAX_FACES, _FACES_PER_BYTE = 1_000_000, 8
_MAX_BYTES, _BYTES_PER_BYTE = 2**28, 1000
_NUMBER_BYTES = 8  # of the widest number


def write_tracks(path: str | Path, tracks: TrackSet, *, half: bool = False) -> list[Path]:
    """Write tracks to Parquet: one file for one video, a folder of files for several.

    Parameters
    ----------
    path : path
        ``name.parquet`` for the tracks of one video; otherwise a folder, which gets one
        ``<video>.parquet`` per video.
    tracks : TrackSet
        The tracks.
    half : bool
        Store features as float16: half the size, about three significant digits.

    Returns
    -------
    list of Path
        The files written.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        files = [path / f"{name}{SUFFIX}" for name in tracks.videos]
    elif len(tracks.videos) == 1:
        files = [path]
    else:
        raise InputError(
            f"{path} is one file, but there are {len(tracks.videos)} videos; give a folder"
        )
    for number, file in enumerate(files):
        one = tracks if len(files) == 1 else tracks[np.flatnonzero(tracks.video == number)]
        _write_video(file, one, half)
    return files


def _write_video(path: Path, tracks: TrackSet, half: bool) -> None:
    track = tracks.track_of_face
    columns = {
        "track": pa.DictionaryArray.from_arrays(track.astype(np.int32), pa.array(tracks.ids)),
        "shot": tracks.shot[track],
        "end": tracks.end[track],
        "identity": pa.array(
            tracks.identity[track], mask=~tracks.labelled[track]
        ).dictionary_encode(),
        "frame": tracks.frame,
        "setup": tracks.setup,
        "time": tracks.time,
        **{name: tracks.box[:, i] for i, name in enumerate("xywh")},
        "score": tracks.score,
    }
    features = tracks.features
    some = features is not None and not features.described.all()
    if features is not None and some:
        columns["described"] = features.described
    about = {
        "format": FORMAT,
        "castlist": __version__,
        "video": printable(tracks.videos[0] if tracks.videos else path.stem),
        "describer": printable(tracks.describer),
    }
    light = pa.table(columns).replace_schema_metadata({_METADATA: json.dumps(about)})
    schema = light.schema
    if features is not None:
        dtype = np.dtype(np.float16) if half else features.dtype
        value_type = pa.from_numpy_dtype(dtype)
        schema = schema.append(pa.field("feature", pa.list_(value_type, features.dim)))
    with (
        replacing(path) as partial,
        partial.open("wb") as file,  # opened here: Arrow takes only names in UTF-8
        pq.ParquetWriter(
            file,
            schema,
            use_dictionary=["track", "identity"],
            # Features do not compress, and uncompressed they decode at the speed of memory.
            compression={name: "none" if name == "feature" else "zstd" for name in schema.names},
            write_page_checksum=True,
            write_statistics=False,
        ) as writer,
    ):
        for start in range(0, max(len(track), 1), _ROW_GROUP_FACES):
            rows = light.slice(start, _ROW_GROUP_FACES)
            if features is not None:
                faces = np.arange(start, start + len(rows))
                with np.errstate(over="ignore"):
                    block = features.take(faces).astype(dtype, copy=False)
                there = features.described[faces] if some else np.ones(len(faces), bool)
                if not np.isfinite(block[there]).all():
                    face = start + int(np.argwhere(there & ~np.isfinite(block).all(axis=1))[0][0])
                    raise InputError(
                        f"{tracks.name(int(track[face]))} has a feature too large for {dtype}"
                    )
                values = pa.array(block.ravel(), value_type)
                rows = rows.append_column(
                    schema.field("feature"),
                    pa.FixedSizeListArray.from_arrays(
                        values, features.dim, mask=pa.array(~there) if some else None
                    ),
                )
            writer.write_table(rows)


def open_parquet(path: Path) -> TrackSource:
    """Open the Parquet file of one video: all columns are read but the features."""
    with _file(path) as file:
        return _open(path, file)


def _file(path: Path) -> pq.ParquetFile:
    try:
        source = path.open("rb")
        about = pq.read_metadata(source)
        # Checksums find damaged pages. Text is read as a dictionary: a value that occurs a
        # million times is stored once until _check_text has computed the total length.
        return pq.ParquetFile(
            source, metadata=about, page_checksum_verification=True,
            read_dictionary=range(about.num_columns),
        )  # fmt: skip
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: not a whole Parquet file ({first_line(error)})") from error


def _open(path: Path, file: pq.ParquetFile) -> TrackSource:
    schema = file.schema_arrow
    if missing := [name for name in _COLUMNS[:1] if name not in schema.names]:
        raise InputError(f"{path}: no column {missing[0]!r}; castlist writes {', '.join(_COLUMNS)}")
    for name in (*_COLUMNS, "feature"):
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: more than one column {name!r}")
    for name in _COLUMNS:
        if name in schema.names and _is_wide(kind := schema.field(name).type):
            raise InputError(f"{path}: column {name!r} is {kind}; it must hold numbers or text")
    dim = 0
    dtype: np.dtype[np.floating] = np.dtype(np.float32)
    if "feature" in schema.names:
        kind = schema.field("feature").type
        if not pa.types.is_fixed_size_list(kind) or not pa.types.is_floating(kind.value_type):
            raise InputError(
                f"{path}: column 'feature' is {kind}; it must be a fixed-size list of floats"
            )
        dim = kind.list_size
        if kind.value_type == pa.float16():
            dtype = np.dtype(np.float16)
    max_bytes = max(_MAX_BYTES, _BYTES_PER_BYTE * file_size(path))
    _check_size(path, file.metadata, dim, max_bytes)
    about = _about(path, schema)
    table = _read(path, file, [name for name in _COLUMNS if name in schema.names])
    _check_text(path, table, max_bytes)
    described = _described(path, table) if dim else None
    n_described = len(table) if described is None else int(described.sum())
    _check_features(path, n_described, dim, max_bytes)
    return TrackSource(
        path=path,
        n_faces=len(table),
        dim=dim,
        dtype=dtype,
        blocks=lambda: _feature_blocks(path, table, dim, dtype, described),
        build=lambda features: _to_tracks(path, table, about, features),
        described=described,
    )


def _is_wide(kind: pa.DataType) -> bool:
    """Return whether one value of a column may have any number of bytes, text apart."""
    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return bool(pa.types.is_nested(kind) or pa.types.is_fixed_size_binary(kind))


def _check_size(path: Path, about: pq.FileMetaData, dim: int, max_bytes: int) -> None:
    """Refuse a file that expands to far more than its size, as far as its footer is true."""
    size = file_size(path)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    n_faces = sum(group.num_rows for group in groups)
    if n_faces > max(_MAX_FACES, _FACES_PER_BYTE * size):
        raise InputError(f"{path}: {n_faces:,} faces in a file of {size:,} bytes")
    for group in groups:
        _check_features(path, group.num_rows, dim, max_bytes)
    n_bytes = sum(group.total_byte_size for group in groups)
    if n_bytes > max_bytes:
        raise InputError(f"{path}: expands to {n_bytes:,} bytes from a file of {size:,}")


def _check_features(path: Path, n_faces: int, dim: int, max_bytes: int) -> None:
    """Refuse features that are small only while equal numbers are stored once."""
    if n_faces * dim * _NUMBER_BYTES > max_bytes:
        raise InputError(
            f"{path}: {n_faces:,} features of {dim:,} numbers are too many for a file of its size"
        )


def _check_text(path: Path, table: pa.Table, max_bytes: int) -> None:
    """Refuse text that is small only while equal values are stored once."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type) and _is_text(chunk.type.value_type):
                lengths = pc.binary_length(chunk.dictionary).take(chunk.indices)
                max_bytes -= pc.sum(lengths).as_py() or 0
        if max_bytes < 0:
            raise InputError(f"{path}: column {name!r} has too much text for a file of its size")


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )  # fmt: skip


def _described(path: Path, table: pa.Table) -> NDArray[np.bool_] | None:
    if "described" not in table.column_names:
        return None
    column = table["described"]
    if column.null_count or not pa.types.is_boolean(column.type):
        raise InputError(f"{path}: column 'described' must be true or false for every face")
    return np.asarray(column.to_numpy(), bool)


def _about(path: Path, schema: pa.Schema) -> dict[str, object]:
    """Return castlist's metadata of the file; empty if another program wrote it."""
    text = (schema.metadata or {}).get(_METADATA)
    if text is None:
        return {}
    try:
        about = parse_json(text)
    except ValueError as error:
        raise InputError(f"{path}: unreadable castlist metadata") from error
    found = about.get("format") if isinstance(about, dict) else None
    if not isinstance(about, dict) or found != FORMAT:
        newer = type(found) is int and found > FORMAT
        raise InputError(
            f"{path}: not in format {FORMAT}, the one that castlist {__version__} reads"
            + ("; it was written by a newer version of castlist: update castlist" if newer else "")
        )
    return about


def _read(
    path: Path, file: pq.ParquetFile, columns: list[str], group: int | None = None
) -> pa.Table:
    # Without Arrow's threads: one that is still running can abort a process that ends soon after
    # (apache/arrow#34314), and for one large column they are no faster.
    try:
        if group is None:
            table = file.read(columns=columns, use_threads=False)
        else:
            table = file.read_row_group(group, columns=columns, use_threads=False)
        table.validate(full=True)  # invalid text, and indices outside a dictionary
        return table
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: damaged ({first_line(error)})") from error


def _feature_blocks(
    path: Path, table: pa.Table, dim: int, dtype: np.dtype[np.floating],
    described: NDArray[np.bool_] | None,
) -> Iterator[NDArray[np.floating]]:  # fmt: skip
    start = 0
    file = _file(path)
    for group in range(file.num_row_groups):
        for chunk in _read(path, file, ["feature"], group)["feature"].chunks:
            faces = np.arange(start, start + len(chunk))
            start += len(chunk)
            if described is not None:
                chunk = chunk.filter(pa.array(described[faces]))
                faces = faces[described[faces]]
            values = chunk.flatten()
            block = values.to_numpy(zero_copy_only=False).reshape(-1, dim)
            with np.errstate(over="ignore", invalid="ignore"):  # found below
                block = block.astype(dtype, copy=False)
            if values.null_count or len(block) != len(chunk):
                track = table["track"][int(faces[0])].as_py()
                raise InputError(f"{path}: track {str(track)!r} or a later one lacks a feature")
            bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
            if len(bad):
                track = table["track"][int(faces[bad[0]])].as_py()
                raise InputError(f"{path}: track {str(track)!r} has a feature that is not finite")
            yield block


def _to_tracks(
    path: Path, table: pa.Table, about: dict[str, object], features: Features | None
) -> TrackSet:
    def column(name: str) -> Any:
        if name not in table.column_names:
            return None
        values = table[name]
        if name == "identity":
            values = values.cast(pa.string()).fill_null("")
        if values.null_count:
            raise InputError(f"column {name!r} has missing values")
        return np.asarray(values.to_numpy())

    try:
        sides = [side for side in map(column, "xywh") if side is not None]
        return TrackSet.from_faces(
            column("track"),
            feature=features,
            box=np.stack(sides, axis=1) if len(sides) == 4 else None,
            video=printable(str(about.get("video", path.stem))),
            describer=str(about.get("describer", "")),
            **{
                n: column(n) for n in ("identity", "shot", "end", "frame", "setup", "time", "score")
            },
        )
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(f"{path}: {first_line(error)}") from error
