"""A Parquet file may expand only to a multiple of its size."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from castlist import InputError, read_tracks

READ = (
    "import resource, sys\n"
    "from castlist import InputError, read_tracks\n"
    "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
    "try: read_tracks(sys.argv[1])\n"
    "except InputError as error: print(error)\n"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
)


def test_a_file_that_expands_far_beyond_its_size_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("castlist.io.parquet._MAX_BYTES", 2**20)
    path = tmp_path / "bomb.parquet"
    names = pa.array(["x" * 30_000] * 1000)
    pq.write_table(
        pa.table({"track": names}), path, compression="zstd", use_dictionary=False,
        data_page_size=2**30, write_statistics=False,
    )  # fmt: skip
    with pytest.raises(InputError, match=r"bomb\.parquet: expands to 3[0-9,]+ bytes from a file"):
        read_tracks(path)


def test_text_that_occurs_a_million_times_is_not_expanded(tmp_path):
    for name in ("track", "identity"):
        path = tmp_path / f"{name}.parquet"
        columns = {"track": np.zeros(1_000_000, np.int8)}
        columns[name] = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int8), ["x" * 5000])
        pq.write_table(pa.table(columns), path, store_schema=False)
        assert path.stat().st_size < 100_000
        out = subprocess.run(
            [sys.executable, "-c", READ, path], capture_output=True, encoding="utf-8"
        )
        assert f"column '{name}' has too much text" in out.stdout
        assert int(out.stdout.split()[-1]) < 200_000  # kB


def test_equal_features_are_not_expanded(tmp_path):
    path = tmp_path / "v.parquet"
    feature = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(40_000_000, np.float32)), 100_000)
    pq.write_table(pa.table({"track": np.zeros(400, np.int8), "feature": feature}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="400 features of 100,000 numbers are too many"):
        read_tracks(path)


@pytest.mark.parametrize("kind", [pa.binary(9), pa.list_(pa.int8()), pa.list_(pa.int8(), 9)])
def test_columns_of_unbounded_values_are_refused(tmp_path, kind):
    value = b"123456789" if kind == pa.binary(9) else [1] * 9
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"track": ["a"], "score": pa.array([value], kind)}), path)
    with pytest.raises(InputError, match="column 'score' is .*; it must hold numbers or text"):
        read_tracks(path)


def test_delta_encoded_text_is_refused(tmp_path):
    path = tmp_path / "v.parquet"
    pq.write_table(
        pa.table({"track": ["a" * 1000 + str(k) for k in range(1000)]}), path,
        use_dictionary=False, column_encoding={"track": "DELTA_BYTE_ARRAY"},
    )  # fmt: skip
    with pytest.raises(InputError, match=r"v\.parquet: damaged \(.*DeltaByteArray"):
        read_tracks(path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("more", [{}, {"use_dictionary": False}, {"use_byte_stream_split": True}])
def test_files_of_other_writers_are_read(tmp_path, version, compression, more):
    rng = np.random.default_rng(0)
    feature = rng.normal(size=(5000, 3)).astype(np.float32)
    if more.get("use_byte_stream_split"):
        more = {"use_byte_stream_split": ["feature.list.element"], "use_dictionary": ["track"]}
    columns = {
        "track": [f"t{k // 7}" for k in range(5000)],
        "identity": [None if k // 7 % 3 else f"p{k // 7 % 5}" for k in range(5000)],
        "time": np.arange(5000) / 25,
        "feature": pa.FixedSizeListArray.from_arrays(pa.array(feature.ravel()), 3),
    }
    pq.write_table(
        pa.table(columns), tmp_path / "v.parquet", data_page_version=version, row_group_size=1999,
        compression=compression, data_page_size=4000, **more,
    )  # fmt: skip
    tracks = read_tracks(tmp_path / "v.parquet")
    assert len(tracks) == 715
    np.testing.assert_array_equal(np.asarray(tracks.features), feature)
    assert tracks.identity[:4].tolist() == ["p0", "", "", "p3"]


def test_damaged_files_are_refused(tmp_path):
    path, rng = tmp_path / "v.parquet", np.random.default_rng(0)
    feature = pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=300)), 3)
    pq.write_table(pa.table({"track": np.repeat(np.arange(20), 5), "feature": feature}), path)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    refused = 0
    for _ in range(300):
        data = whole.copy()
        data[rng.integers(0, len(data), 2)] = rng.choice([0, 127, 128, 255], 2)
        path.write_bytes(data.tobytes())
        try:
            read_tracks(path)
        except InputError as error:
            refused += str(error).startswith(f"{path}: ")
    assert refused > 30
