from __future__ import annotations

import json
import os

import pytest

from castlist.library.cast_info import read_cast_info
from castlist.library.contents import find_contents, key_of, place_videos, shown_path
from castlist.pipeline.catalogue import find_videos
from datasets.synthetic_casts import episode


@pytest.fixture
def home(tmp_path):
    """Videos of several names, two of them with one stem, and what is no video."""
    names = [
        "a.mp4", "B.MKV", "two.mp4", "two.mkv", "sub/deep/c.mov", "notes.txt", ".hidden/d.mp4",
        ".e.mp4", "sub/f.cast/inside.mp4", "1/2/3/4/5/6/7/8/9/too-deep.mp4",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def test_videos_and_casts_are_found_and_nothing_else(home):
    found = find_contents(home)
    assert [shown_path(path, home) for path in found.videos] == [
        "B.MKV", "a.mp4", "sub/deep/c.mov", "two.mkv", "two.mp4",
    ]  # fmt: skip
    assert [shown_path(path, home) for path in found.casts] == ["sub/f.cast"]
    assert found.unreadable == ()


def test_a_folder_that_cannot_be_listed_is_named(home):
    (home / "sub").rename(home / "gone")
    os.symlink(home / "nowhere", home / "dangling")  # a dangling link is no folder
    assert find_contents(home / "sub").unreadable == ((home / "sub", "No such file or directory"),)
    assert find_contents(home).unreadable == ()


def test_the_folder_of_a_cast_is_the_one_that_scan_chooses(home):
    """As `castlist scan FOLDER` does, so that both can be used in turns."""
    chosen = {entry.video: entry.folder for entry in find_videos([home])}
    placed = place_videos(find_contents(home).videos, {})
    assert {place.video: place.folder for place in placed} == {
        video: folder for video, folder in chosen.items() if "too-deep" not in video.name
    }
    assert {place.cast for place in placed} == {None}


def test_a_cast_in_another_folder_belongs_to_its_video(home):
    folder = episode(home / "casts", "x")
    run = json.loads((folder / "run.json").read_text())
    run["video"] |= {"name": "a.mp4", "path": "../../a.mp4"}
    (folder / "run.json").write_text(json.dumps(run))
    found = find_contents(home)
    infos = {path: read_cast_info(path) for path in found.casts}
    placed = {place.video.name: place for place in place_videos(found.videos, infos)}
    assert placed["a.mp4"].folder == placed["a.mp4"].cast.folder == folder
    assert placed["B.MKV"].cast is None


def test_a_linked_video_and_a_second_cast(home, tmp_path_factory):
    real = tmp_path_factory.mktemp("elsewhere") / "real.mp4"
    real.write_bytes(b"")
    os.symlink(real, home / "link.mp4")
    for place in (home, home / "casts"):
        folder = episode(place, "link")
        run = json.loads((folder / "run.json").read_text())
        run["video"] |= {"name": "link.mp4", "path": os.path.relpath(real, folder.resolve())}
        (folder / "run.json").write_text(json.dumps(run))
    found = find_contents(home)
    infos = {path: read_cast_info(path) for path in found.casts}
    placed = {place.video.name: place for place in place_videos(found.videos, infos)}
    assert placed["link.mp4"].cast.folder == home / "link.cast"  # the one beside it


def test_keys_are_stable_distinct_and_no_paths(home):
    keys = [key_of(path, home) for path in find_contents(home).videos]
    assert len(set(keys)) == len(keys)
    assert keys == [key_of(path, home) for path in find_contents(home).videos]
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)
    assert key_of(home / "\udcff.mp4", home)  # a name that is not UTF-8
