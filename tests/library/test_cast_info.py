from __future__ import annotations

import pytest

from castlist.cast.corrections import Corrections
from castlist.cast.series import join
from castlist.library.cast_info import folder_size, read_cast_info, stamp_of
from datasets.synthetic_casts import episode


@pytest.fixture
def folder(tmp_path):
    return episode(tmp_path, "one")


def test_a_cast_of_one_video(folder):
    info = read_cast_info(folder)
    assert (info.videos, info.seconds) == (("one.mp4",), 40)
    assert (info.joined, info.complete) == (False, True)
    assert (info.video, info.corrections, info.problem) == (None, 0, "")
    folder.with_name("one.mp4").write_bytes(b"")
    assert read_cast_info(folder).video == folder.with_name("one.mp4")


def test_corrections_that_hold_are_counted(folder):
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
        cast.merge([1, 2], waive=True)
        assert read_cast_info(folder).corrections == 2  # while it is open elsewhere
        cast.undo()
    assert read_cast_info(folder).corrections == 1


def test_reading_does_not_change_the_stamp_but_a_correction_does(folder):
    before = stamp_of(folder)
    read_cast_info(folder)
    assert stamp_of(folder) == before
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
        during = stamp_of(folder)
        assert during != before
        read_cast_info(folder)
        assert stamp_of(folder) == during
        cast.name(1, "Ben")
        assert stamp_of(folder) != during
    after = stamp_of(folder)
    assert read_cast_info(folder).corrections == 2
    assert stamp_of(folder) == after


def test_a_series_lists_its_videos_and_joining_is_no_correction(folder, tmp_path):
    join([folder, episode(tmp_path, "two", seed=1)], tmp_path / "series.cast")
    info = read_cast_info(tmp_path / "series.cast")
    assert (info.joined, info.videos, info.seconds) == (True, ("one.mp4", "two.mp4"), 80)
    assert (info.corrections, info.video) == (0, None)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("run.json", b"{", "run.json is missing or damaged"),
        ("corrections.db", b"x" * 600, "not a log of corrections"),
    ],
)
def test_a_damaged_cast_says_why(folder, name, content, says):
    (folder / name).write_bytes(content)
    assert says in read_cast_info(folder).problem


@pytest.mark.parametrize(
    "run",
    ['{"video": 3, "counts": []}', '{"videos": [1, {"name": 5, "duration": 1e400}]}',
     '{"video": {"name": "..", "path": "../..", "duration": -1}, "counts": {"tracks": "9"}}'],
)  # fmt: skip
def test_a_forged_manifest_is_read(folder, run):
    (folder / "run.json").write_text(run)
    info = read_cast_info(folder)
    assert (info.video, info.tracks, info.seconds) == (None, 0, 0)


def test_no_cast_and_an_interrupted_scan(tmp_path):
    (tmp_path / "a.cast").mkdir()
    assert "not a cast folder" in read_cast_info(tmp_path / "a.cast").problem
    (tmp_path / "a.cast" / "parts").mkdir()
    info = read_cast_info(tmp_path / "a.cast")
    assert (info.complete, info.problem) == (False, "")


def test_the_size_is_that_of_all_files(folder):
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    assert folder_size(folder) == sum(sizes) > 10_000
    assert folder_size(folder / "none") == 0
