from __future__ import annotations

import json
import os
import shutil

import pytest

from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CAST, CORRECTIONS, FACES, NEXT_CAST, POINTS, TRACKS
from castlist.io.output_guard import check_for_scan, is_cast
from castlist.library.cast_info import read_cast_info
from castlist.library.discard import discard_unfinished
from castlist.library.scan_queue import ScanQueue
from castlist.pipeline.run_manifest import RunManifest
from castlist.pipeline.scan import PARTS
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.frames import open_video
from datasets.synthetic_casts import made_video, write_folder
from tests.video.test_fingerprint import film


def content(home):
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


def begin(folder, video):
    """Leave what a scan of a video leaves that is stopped while it tracks faces."""
    (folder / PARTS / FACES).mkdir(parents=True)
    (folder / PARTS / "settings.json").write_text('{"fingerprint": "0123"}')
    (folder / PARTS / FACES / "00001_0.jpg").write_bytes(b"a face")
    with open_video(video) as opened:
        RunManifest.open(folder, opened, ScanSettings()).write()


@pytest.fixture
def video(tmp_path):
    return film(tmp_path / "film.mp4", [0, 1])


@pytest.fixture
def folder(tmp_path, video):
    """The finished cast of the video, with pictures."""
    folder = write_folder(tmp_path / "film.cast", made_video(), pictures=True)
    with open_video(video) as opened:
        RunManifest.open(folder, opened, ScanSettings()).write()
    return folder


def test_what_was_begun_is_removed_whatever_its_stage(tmp_path, video):
    begin(tmp_path / "film.cast", video)
    discard_unfinished(tmp_path / "film.cast", video)
    assert not (tmp_path / "film.cast").exists()
    begin(tmp_path / "film.cast", video)
    (tmp_path / "film.cast" / RUN).unlink()  # it is written after the settings of the checkpoint
    discard_unfinished(tmp_path / "film.cast", video)
    assert not (tmp_path / "film.cast").exists()
    begin(tmp_path / "film.cast", video)
    for name in (TRACKS, POINTS, NEXT_CAST, f".{TRACKS}.part", f"{FACES}/00001_0.jpg", "mine.txt"):
        (tmp_path / "film.cast" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "film.cast" / name).write_text("tracked")
    video.unlink()
    discard_unfinished(tmp_path / "film.cast", video)
    assert {path.name for path in (tmp_path / "film.cast").iterdir()} == {"mine.txt"}


@pytest.mark.parametrize("kept", [(CAST,), (CORRECTIONS,), (CAST, CORRECTIONS)])
def test_an_earlier_cast_is_kept_when_another_scan_of_it_is_cancelled(folder, video, kept):
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
    for name in {CAST, CORRECTIONS} - set(kept):
        (folder / name).unlink()
    before = content(folder)
    begin(folder, video)
    assert len(content(folder)) == len(before) + 2
    discard_unfinished(folder, video)
    after = content(folder)
    assert after.pop(folder / RUN)
    assert before.pop(folder / RUN)
    assert after == before
    assert len(before) > 40


def test_nothing_of_another_video_is_removed(tmp_path, video):
    begin(tmp_path / "film.cast", video)
    before = content(tmp_path / "film.cast")
    shutil.copy2(video, tmp_path / "kept.mp4")
    film(video, [2, 3])  # another film of the same name: the scan is refused
    discard_unfinished(tmp_path / "film.cast", video)
    discard_unfinished(tmp_path / "film.cast", film(tmp_path / "third.mp4", [4]))
    assert content(tmp_path / "film.cast") == before
    discard_unfinished(tmp_path / "film.cast", tmp_path / "kept.mp4")  # the same film
    assert not (tmp_path / "film.cast").exists()


def test_of_a_cast_that_was_to_be_replaced_only_the_checkpoint_is_removed(tmp_path, folder):
    before = content(folder)
    other = film(tmp_path / "other.mp4", [7])
    (folder / PARTS).mkdir()
    (folder / PARTS / "settings.json").write_text('{"fingerprint": "0123"}')
    discard_unfinished(folder, other)
    assert (folder / PARTS).is_dir()
    discard_unfinished(folder, other, replace=True)
    assert content(folder) == before
    assert not (folder / PARTS).exists()


#: Folders of users and other programs: files, and what is in them.
OTHERS = {
    "pictures": {"faces/anna.jpg": "", "parts/chapter 1.txt": ""},
    "a study": {"tracks.parquet": "my tracks", "run.json": '{"seed": 1}', "faces/anna.jpg": ""},
    "a pipeline": {"run.json": '{"settings": {}, "video": "film.mp4"}', "faces/anna.jpg": ""},
    "a list": {"run.json": '{"videos": ["a.mp4"]}', "parts/1.npz": "", "mine.txt": ""},
    "a database": {"corrections.db": "", "faces/anna.jpg": ""},
    "no rows": {"tracks.parquet": "", "cast.json": '{"cast": []}', "run.json": "{"},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_folder_of_the_user_is_no_cast_and_cancelling_removes_nothing(tmp_path, video, kind):
    folder = tmp_path / "film.cast"
    for name, text in OTHERS[kind].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    before = content(tmp_path)
    assert not is_cast(folder)
    with pytest.raises(ValueError, match="not a cast, and not empty"):
        check_for_scan(folder)
    assert "scan the video again" in read_cast_info(folder).problem
    for replace in (False, True):
        discard_unfinished(folder, video, replace=replace)
    assert content(tmp_path) == before


def test_cancel_of_a_refused_scan_removes_nothing(tmp_path, video):
    (tmp_path / "film.cast" / FACES).mkdir(parents=True)
    (tmp_path / "film.cast" / FACES / "anna.jpg").write_text("my own")
    (tmp_path / "state").mkdir()
    job = {"video": str(video), "folder": str(tmp_path / "film.cast"), "state": "failed",
           "reason": "not a cast", "options": {}}  # fmt: skip
    (tmp_path / "state" / "queue.json").write_text(json.dumps({"jobs": [job]}))
    queue = ScanQueue(tmp_path / "state" / "queue.json")
    try:
        queue.cancel([video])
        assert queue.jobs() == []
    finally:
        queue.close()
    assert (tmp_path / "film.cast" / FACES / "anna.jpg").read_text() == "my own"


def test_a_linked_folder_is_neither_emptied_nor_removed(tmp_path, video):
    begin(tmp_path / "film.cast", video)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "anna.jpg").write_text("my own")
    os.symlink(tmp_path / "mine", tmp_path / "film.cast" / FACES)
    before = content(tmp_path)
    discard_unfinished(tmp_path / "film.cast", video)
    assert content(tmp_path) == before
