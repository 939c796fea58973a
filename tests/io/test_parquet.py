from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from castlist import Features, InputError, TrackSet, read_tracks, write_tracks

COLUMNS = ("ids", "identity", "shot", "end", "offsets", "frame", "time", "box", "score")


@pytest.mark.parametrize("in_memory", [0, 2**30])
def test_what_is_written_is_read(tmp_path, tracks, monkeypatch, in_memory):
    monkeypatch.setattr("castlist.features.IN_MEMORY_BYTES", in_memory)
    (path,) = write_tracks(tmp_path / "film.parquet", tracks)
    back = read_tracks(path)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(back, name), getattr(tracks, name))
    assert back.features.on_disk == (in_memory == 0)
    np.testing.assert_array_equal(np.asarray(back.features), np.asarray(tracks.features))
    assert (back.videos, back.describer) == (("film",), "test")


@pytest.mark.parametrize("half", [False, True])
def test_faces_that_were_not_described_have_no_feature(tmp_path, half):
    some = np.array([True, False, False, True, False, True])
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    tracks = TrackSet.from_faces(
        ["b", "b", "b", "a", "a", "c"], frame=range(6), video="film",
        feature=Features(values, np.where(some, np.arange(6), -1)),
    )  # fmt: skip
    (path,) = write_tracks(tmp_path / "film.parquet", tracks, half=half)
    assert pd.read_parquet(path).feature.isna().tolist() == (~some).tolist()
    other = TrackSet.from_faces(["x", "y"], feature=np.ones((2, 2)), video="other")
    write_tracks(tmp_path / "other.parquet", other)
    back = read_tracks(tmp_path)
    np.testing.assert_array_equal(back.features.described, [*some, True, True])
    np.testing.assert_array_equal(back.mean_features(), [*values[some], [1, 1], [1, 1]])
    described = back.described()
    assert described.face_counts.tolist() == [1, 1, 1, 1, 1]
    assert described.frame[:3].tolist() == [0, 3, 5]
    assert back.n_faces == 8  # all faces still say when a track was seen
    joined = TrackSet.join([tracks, other])
    np.testing.assert_array_equal(joined.mean_features(), back.mean_features())


def test_a_track_with_no_feature_at_all_is_named(tracks):
    rows = np.array([0, 1, 2, -1, -1, 3])
    half_done = replace(tracks, features=Features(np.asarray(tracks.features), rows))
    with pytest.raises(InputError, match="track 'a': no face has a feature"):
        half_done.mean_features()


def test_half_precision_halves_the_features(tmp_path, tracks):
    (path,) = write_tracks(tmp_path / "film.parquet", tracks, half=True)
    back = read_tracks(path)
    assert back.features.dtype == np.float16
    np.testing.assert_allclose(back.features, tracks.features, rtol=2e-3)


def test_several_videos_make_a_folder(tmp_path, tracks):
    other = TrackSet.from_faces(["b"], feature=np.ones((1, 5)), video="other")
    files = write_tracks(tmp_path / "set", TrackSet.join([tracks, other]))
    assert [file.name for file in files] == ["film.parquet", "other.parquet"]
    back = read_tracks(tmp_path / "set")
    assert back.videos == ("film", "other")
    np.testing.assert_array_equal(back.mean_features()[:3], tracks.mean_features())
    with pytest.raises(InputError, match="2 videos; give a folder"):
        write_tracks(tmp_path / "one.parquet", back)


@pytest.mark.parametrize("half", [False, True])
def test_pandas_and_duckdb_read_it(tmp_path, tracks, half):
    (path,) = write_tracks(tmp_path / "film.parquet", tracks, half=half)
    frame = pd.read_parquet(path)
    assert frame.track.tolist() == ["b", "b", "b", "a", "a", "c"]
    np.testing.assert_allclose(np.stack(frame.feature), tracks.features, rtol=2e-3)
    assert frame.identity.isna().tolist() == [False] * 5 + [True]
    rows = duckdb.sql(
        f"select track, count(*), any_value(feature)[1] from '{path}' group by track order by track"
    ).fetchall()
    assert [row[:2] for row in rows] == [("a", 2), ("b", 3), ("c", 1)]
    assert rows[2][2] == pytest.approx(float(np.asarray(tracks.features)[5, 0]), rel=2e-3)


def test_more_faces_than_a_row_group(tmp_path):
    rng = np.random.default_rng(0)
    tracks = TrackSet.from_faces(
        np.sort(rng.integers(0, 50, 20_000)), feature=rng.normal(size=(20_000, 3))
    )
    (path,) = write_tracks(tmp_path / "v.parquet", tracks)
    assert pq.ParquetFile(path).num_row_groups == 3
    np.testing.assert_array_equal(read_tracks(path).mean_features(), tracks.mean_features())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_no_thread_is_left_at_work(tmp_path, made):
    """One of Arrow's can abort the whole process at its end."""
    (path,) = write_tracks(tmp_path / "v.parquet", made)
    code = """if True:
        import os, sys
        import pyarrow.parquet
        from castlist import read_tracks
        read_tracks(sys.argv[1])
        before = len(os.listdir("/proc/self/task"))
        pyarrow.parquet.ParquetFile(sys.argv[1]).read(use_threads=True)
        print(len(os.listdir("/proc/self/task")) - before)
    """
    words = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
    assert int(done.stdout) > 0  # so they were not there before


def test_no_tracks_and_no_features(tmp_path, tracks):
    empty = TrackSet.from_faces([], feature=np.empty((0, 5)), video="none")
    assert len(read_tracks(*write_tracks(tmp_path / "none.parquet", empty))) == 0
    bare = TrackSet.from_faces([7, 7], frame=[1, 2], video="bare")
    assert read_tracks(*write_tracks(tmp_path / "bare.parquet", bare)).features is None
    write_tracks(tmp_path / "film.parquet", tracks)
    with pytest.raises(InputError, match="different dimensions: .*film.* has 5, .*bare.* has none"):
        read_tracks(tmp_path / "film.parquet", tmp_path / "bare.parquet")


def test_a_table_of_other_make_needs_only_a_track_column(tmp_path):
    path = tmp_path / "made elsewhere.parquet"
    feature = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6.0)), 2)
    pq.write_table(pa.table({"track": [5, 3, 5], "feature": feature}), path)
    tracks = read_tracks(path)
    assert tracks.ids.tolist() == ["5", "3"]
    assert tracks.videos == ("made elsewhere",)
    assert np.isnan(tracks.end).all()
    np.testing.assert_allclose(tracks.mean_features(), [[2, 3], [2, 3]])


def write_table(path, **columns):
    values = {"track": ["a", "a", "bad"], **columns}
    pq.write_table(pa.table({k: v for k, v in values.items() if v is not None}), path)
    return path


def features(*rows):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.array(rows, np.float32).ravel()), 2)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"feature": features([1, 2], [3, 4], [5, np.nan])},
            "track 'bad' has a feature that is not",
        ),
        (
            {"feature": features([1, 2], [3, 4], [5, np.inf])},
            "track 'bad' has a feature that is not",
        ),
        ({"feature": pa.array([[1.0], [2.0], [3.0, 4.0]])}, "must be a fixed-size list"),
        (
            {"feature": pa.array([[1.0, 2], None, [3.0, 4.0]], pa.list_(pa.float32(), 2))},
            "lacks a feature",
        ),
        ({"track": None, "name": ["a", "b", "c"]}, "no column 'track'"),
        ({"identity": ["x", "y", "z"]}, "track 'a': more than one identity"),
        ({"frame": [1, None, 3]}, "column 'frame' has missing values"),
        ({"track": ["a", None, "b"]}, "column 'track' has missing values"),
    ],
)
def test_bad_tables_are_refused_naming_file_and_track(tmp_path, columns, message):
    path = write_table(tmp_path / "bad.parquet", **columns)
    with pytest.raises(InputError, match=f"bad.parquet: .*{message}"):
        read_tracks(path)


def test_damaged_files_are_refused(tmp_path, made):
    (path,) = write_tracks(tmp_path / "v.parquet", made)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"v.parquet: not a whole Parquet file"):
        read_tracks(path)
    middle = len(whole) // 2  # inside the features: a checksum notices one flipped bit
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    with pytest.raises(InputError, match=r"v.parquet: damaged"):
        read_tracks(path)
    path.write_text("not parquet at all")
    with pytest.raises(InputError, match="not a whole Parquet file"):
        read_tracks(path)


def test_a_failed_write_leaves_the_old_file(tmp_path, tracks, monkeypatch):
    (path,) = write_tracks(tmp_path / "film.parquet", tracks)
    before = path.read_bytes()
    monkeypatch.setattr(pq.ParquetWriter, "write_table", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_tracks(path, tracks[:1])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["film.parquet"]


def test_missing_and_empty_places(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_tracks(tmp_path / "nothing.parquet")
    with pytest.raises(InputError, match=r"neither .parquet files nor an ids folder"):
        read_tracks(tmp_path)
    with pytest.raises(InputError, match="nothing to read"):
        read_tracks()


def test_values_beyond_the_type_are_refused(tmp_path, tracks):
    path = tmp_path / "wide.parquet"
    wide = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 1e300, 2.0]), 2)
    pq.write_table(pa.table({"track": ["a", "bad"], "feature": wide}), path)
    with pytest.raises(InputError, match="wide.parquet: track 'bad' has a feature that is not"):
        read_tracks(path)
    large = TrackSet.from_faces(["a", "bad"], feature=[[1.0], [7e4]], video="v")
    with pytest.raises(InputError, match="'v', track 'bad' has a feature too large for float16"):
        write_tracks(tmp_path / "v.parquet", large, half=True)
    assert not (tmp_path / "v.parquet").exists()


@pytest.mark.parametrize("name", ["time", "identity", "frame"])
def test_columns_of_a_strange_type_are_refused(tmp_path, name):
    path = write_table(tmp_path / "bad.parquet", **{name: pa.array([{"x": 1}] * 3)})
    with pytest.raises(InputError, match=r"bad.parquet: "):
        read_tracks(path)


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    names = ["track", "shot", "shot"]
    table = pa.Table.from_arrays([pa.array(["a", "b"]), pa.array([0, 1]), pa.nulls(2)], names)
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="bad.parquet: more than one column 'shot'"):
        read_tracks(tmp_path / "bad.parquet")


def test_a_feature_that_is_not_finite_of_a_track_whose_name_is_none(tmp_path):
    none = pa.array([b"\xff"] * 3).view(pa.string())
    path = write_table(tmp_path / "bad.parquet", track=none, feature=features(*[[1, np.nan]] * 3))
    with pytest.raises(InputError, match=r"bad.parquet: "):
        read_tracks(path)


@pytest.mark.parametrize("name", ["x", "h", "track", "identity"])
def test_text_that_is_none_is_refused_in_short(tmp_path, name):
    none = pa.array([b"\xff" * 100_000] * 3).view(pa.string())
    sides = {side: [1.0, 2, 3] for side in "xywh"}
    path = write_table(tmp_path / "bad.parquet", **{**sides, name: none})
    with pytest.raises(InputError, match=r"bad.parquet: ") as caught:
        read_tracks(path)
    assert len(str(caught.value)) < 1000


def test_a_folder_of_many_files_needs_few_open_at_once(tmp_path):
    resource = pytest.importorskip("resource")
    for i in range(80):
        one = TrackSet.from_faces([1], feature=np.ones((1, 2)), video=f"v{i:03}")
        write_tracks(tmp_path / f"v{i:03}.parquet", one)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, hard))
    try:
        assert len(read_tracks(tmp_path)) == 80
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_places_that_cannot_be_written_to(tmp_path, tracks):
    from castlist import CastlistError
    from castlist.io.files import replacing

    (tmp_path / "file.txt").write_text("")
    for bad in (tmp_path, tmp_path / "file.txt" / "x.csv"):
        with pytest.raises(CastlistError, match="cannot write"), replacing(bad) as partial:
            partial.write_text("")


def test_a_value_said_millions_of_times_is_a_bomb(tmp_path):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"track": pa.array(np.zeros(3_000_000, np.int8))}), path)
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match="3,000,000 faces in a file of"):
        read_tracks(path)


def test_one_long_name_does_not_make_all_of_them_long(tmp_path):
    names = ["x" * 1_000_000, *map(str, range(999))]
    path = write_table(tmp_path / "long.parquet", track=names, identity=names, feature=None)
    with pytest.raises(InputError, match="an id of 1,000,000 letters"):
        read_tracks(path)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[]", b"\xff"])
def test_notes_that_are_none(tmp_path, tracks, text):
    (path,) = write_tracks(tmp_path / "film.parquet", tracks)
    table = pq.read_table(path).replace_schema_metadata({b"castlist": text})
    pq.write_table(table, path)
    with pytest.raises(InputError, match=r"film\.parquet: (unreadable|not in format)"):
        read_tracks(path)


def test_a_video_whose_name_is_no_text_can_be_told(tmp_path):
    path = tmp_path / "a.parquet"
    tracks = TrackSet.from_faces(["a"], feature=np.ones((1, 2), np.float32), video="\ud800x")
    write_tracks(path, tracks)
    assert read_tracks(path).videos == ("?x",)
