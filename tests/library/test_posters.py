from __future__ import annotations

import os
from contextlib import closing

import cv2
import numpy as np
import pytest

from castlist.library.library import Library
from castlist.library.posters import Posters, VideoFacts
from datasets.small_videos import plain, turn_upright, write_video


@pytest.fixture
def posters(tmp_path):
    return Posters(tmp_path / "cache")


def halves(colour):
    image = plain(colour, (640, 360))
    image[:, :320] = 250
    return image


def test_length_size_and_poster_are_read_once(posters, tmp_path):
    video = write_video(tmp_path / "a.mp4", [halves((30, 200, 30))] * 50)
    assert posters.facts(video) is None
    assert posters.make(video) == posters.facts(video) == VideoFacts(2.0, 640, 360)
    picture = cv2.imread(str(posters.poster(video)))
    assert picture.shape == (270, 480, 3)
    assert np.abs(picture[135, 400].astype(int) - (30, 200, 30)).max() < 25
    os.utime(video, (1, 1))  # another file of this name
    assert posters.facts(video) is None


def test_a_black_beginning_is_passed_over(posters, tmp_path):
    images = [plain((0, 0, 0), (64, 48))] * 50 + [halves((30, 30, 200))[::8, ::10]] * 50
    video = write_video(tmp_path / "a.mp4", images, g="5")
    posters.make(video)
    assert cv2.imread(str(posters.poster(video))).std() > 50


def test_a_video_on_its_side_is_turned(posters, tmp_path):
    video = write_video(tmp_path / "a.mp4", [halves((30, 200, 30))] * 5)
    turn_upright(video, 1)
    assert posters.make(video) == VideoFacts(0.2, 360, 640)
    assert cv2.imread(str(posters.poster(video))).shape == (270, 152, 3)


def test_a_file_that_is_no_video_says_why_and_is_read_again(posters, tmp_path):
    video = tmp_path / "a.mp4"
    video.write_bytes(b"no video")
    assert "cannot be read as a video" in posters.make(video).problem
    assert posters.facts(video) is None


def test_old_posters_are_removed(posters, tmp_path, monkeypatch):
    monkeypatch.setattr("castlist.library.posters._MAX_KEPT", 3)
    for k in range(5):
        posters.make(write_video(tmp_path / f"{k}.mp4", [halves((k, k, k))] * 2))
    assert len(list(posters.folder.glob("*.json"))) <= 3
    assert posters.facts(tmp_path / "4.mp4") is not None


def kept(posters):
    return sorted(path.name for path in posters.folder.glob("*"))


def test_the_poster_of_a_video_that_is_gone_is_removed(posters, tmp_path):
    odd = tmp_path / os.fsdecode(b"\xff odd %41.mp4")  # not UTF-8, and looks quoted
    videos = [tmp_path / "gone.mp4", tmp_path / "changed.mp4", tmp_path / "stays.mp4", odd]
    for video in videos:
        posters.make(write_video(tmp_path / "v.mp4", [halves((30, 200, 30))] * 3).rename(video))
    stays = {posters.poster(video).stem for video in videos[2:]}
    videos[0].unlink()
    os.utime(videos[1], (1, 1))
    posters.prune()
    assert {name.partition(".")[0] for name in kept(posters)} == stays
    assert len(kept(posters)) == 4


def test_what_is_in_the_cache_and_is_no_record_is_removed(posters, tmp_path):
    posters.make(write_video(tmp_path / "v.mp4", [halves((30, 200, 30))] * 3))
    before = kept(posters)
    for text in ("", "[]", "{}", '{"video": 7}', '{"seconds": 1.0, "width": 2, "height": 2}'):
        (posters.folder / "old.json").write_text(text)
        (posters.folder / "old.jpg").write_bytes(b"poster")
        posters.prune()
        assert kept(posters) == before, text
    Posters(tmp_path / "none").prune()


def test_a_library_removes_posters_when_it_starts_and_when_a_video_goes(tmp_path, eventually):
    for name in ("before", "open"):
        (tmp_path / name).mkdir()
        write_video(tmp_path / name / "v.mp4", [halves((30, 200, 30))] * 3)
    posters = Posters(tmp_path / "cache")
    with closing(Library(tmp_path / "before", posters=posters)):
        eventually(lambda: len(kept(posters)) == 2)
    (tmp_path / "before" / "v.mp4").unlink()
    with closing(Library(tmp_path / "before", posters=posters)):  # it is empty now
        eventually(lambda: kept(posters) == [])
    with closing(Library(tmp_path / "open", posters=posters)) as library:
        eventually(lambda: len(kept(posters)) == 2)
        (tmp_path / "open" / "v.mp4").unlink()
        library.look()
        eventually(lambda: kept(posters) == [])
