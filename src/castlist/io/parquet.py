"""The native file: one Parquet a video, one row a face."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from castlist._version import __version__
from castlist.errors import InputError, first_line
from castlist.features import Features
from castlist.io.bounds import is_wide, require_features, require_size, require_text
from castlist.io.files import printable, replacing
from castlist.io.untrusted import parse_json
from castlist.io.videos import Source
from castlist.tracks import TrackSet

SUFFIX = ".parquet"
FORMAT = 1
_FACES_A_ROW_GROUP = 8192
_METADATA = b"castlist"
_COLUMNS = (
    "track", "shot", "end", "identity", "frame", "setup", "time", "x", "y", "w", "h", "score",
    "described",
)  # fmt: skip


def write_tracks(path: str | Path, tracks: TrackSet, *, half: bool = False) -> list[Path]:
    """Write tracks to Parquet: one file for one video, a folder of files for several.

    Parameters
    ----------
    path : path
        ``name.parquet`` for the tracks of one video; else a folder, which gets one
        ``<video>.parquet`` each.
    tracks : TrackSet
        What to write.
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
            f"{path} is one file, and there are {len(tracks.videos)} videos; give a folder"
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
        partial.open("wb") as file,  # opened here: Arrow knows no names that are not UTF-8
        pq.ParquetWriter(
            file,
            schema,
            use_dictionary=["track", "identity"],
            # Features do not compress, and uncompressed ones decode at the speed of memory.
            compression={name: "none" if name == "feature" else "zstd" for name in schema.names},
            write_page_checksum=True,
            write_statistics=False,
        ) as writer,
    ):
        for start in range(0, max(len(track), 1), _FACES_A_ROW_GROUP):
            rows = light.slice(start, _FACES_A_ROW_GROUP)
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


def open_parquet(path: Path) -> Source:
    """Open the Parquet file of one video: light columns are read, features are not."""
    with _file(path) as file:
        return _open(path, file)


def _file(path: Path) -> pq.ParquetFile:
    try:
        source = path.open("rb")
        about = pq.read_metadata(source)
        # A page of a damaged file is found by its checksum, not by odd numbers later.
        # A text that is said a million times is kept once, until it is known how long all are.
        return pq.ParquetFile(
            source, metadata=about, page_checksum_verification=True,
            read_dictionary=range(about.num_columns),
        )  # fmt: skip
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: not a whole Parquet file ({first_line(error)})") from error


def _open(path: Path, file: pq.ParquetFile) -> Source:
    schema = file.schema_arrow
    if missing := [name for name in _COLUMNS[:1] if name not in schema.names]:
        raise InputError(f"{path}: no column {missing[0]!r}; castlist writes {', '.join(_COLUMNS)}")
    for name in (*_COLUMNS, "feature"):
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: more than one column {name!r}; leave one")
    for name in _COLUMNS:
        if name in schema.names and is_wide(kind := schema.field(name).type):
            raise InputError(f"{path}: column {name!r} is {kind}; it must be of numbers or text")
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
    most = require_size(path, file.metadata, _COLUMNS, dim)
    about = _about(path, schema)
    table = _read(path, file, [name for name in _COLUMNS if name in schema.names])
    require_text(path, table, most)
    described = _described(path, table) if dim else None
    require_features(path, len(table) if described is None else int(described.sum()), dim, most)
    return Source(
        path=path,
        n_faces=len(table),
        dim=dim,
        dtype=dtype,
        blocks=lambda: _feature_blocks(path, table, dim, dtype, described),
        build=lambda features: _to_tracks(path, table, about, features),
        described=described,
    )


def _described(path: Path, table: pa.Table) -> NDArray[np.bool_] | None:
    if "described" not in table.column_names:
        return None
    column = table["described"]
    if column.null_count or not pa.types.is_boolean(column.type):
        raise InputError(f"{path}: column 'described' must be true or false for every face")
    return np.asarray(column.to_numpy(), bool)


def _about(path: Path, schema: pa.Schema) -> dict[str, object]:
    """Return what castlist noted in the file; a table of other make has nothing noted."""
    text = (schema.metadata or {}).get(_METADATA)
    if text is None:
        return {}
    try:
        about = parse_json(text)
    except ValueError as error:
        raise InputError(f"{path}: unreadable castlist metadata") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(
            f"{path}: not in format {FORMAT}, the one that castlist {__version__} reads"
        )
    return about


def _read(
    path: Path, file: pq.ParquetFile, columns: list[str], group: int | None = None
) -> pa.Table:
    # Without Arrow's threads: a process that ends soon after may be aborted by one that is still at
    # work (apache/arrow#34314), and of one heavy column they are no quicker.
    try:
        if group is None:
            table = file.read(columns=columns, use_threads=False)
        else:
            table = file.read_row_group(group, columns=columns, use_threads=False)
        table.validate(full=True)  # text that is none, and words that no dictionary has
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
            with np.errstate(over="ignore", invalid="ignore"):  # what does not fit is found below
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
