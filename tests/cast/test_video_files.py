"""The video of a cast is the one that was scanned, whatever lies under its name."""

from __future__ import annotations

import os
import shutil

import pytest

from castlist import InputError
from castlist.cast.video_files import OtherFileError, file_facts, find_video
from castlist.handover.blur import write_blurred
from castlist.video.fingerprint import fingerprint
from castlist.video.frames import open_video
from tests.export.casts import made_cast, note_video
from tests.programs import castlist
from tests.video.test_fingerprint import film, rewrap

SPANS = [(0.0, 1.8, 0), (2.0, 3.8, 1)]
SIZE = (160, 120)


def noted(folder, video):
    """Note a video in a cast's folder, as a scan does."""
    with open_video(video) as opened:
        known = fingerprint(opened).to_json()
    path = os.path.relpath(video, folder)
    note_video(folder, **file_facts(video), path=path, fingerprint=known)


@pytest.fixture
def cast(tmp_path):
    """The cast of v.mp4, which lies beside it."""
    made_cast(tmp_path / "v.cast", 5, video="v.mp4", size=SIZE, spans=SPANS, duration=12.0).close()
    noted(tmp_path / "v.cast", film(tmp_path / "v.mp4", [0, 1, 2]))
    return tmp_path / "v.cast"


def opened(folder):
    from castlist.cast.corrections import Corrections

    with Corrections(folder) as corrections:
        return corrections


@pytest.mark.parametrize("shots", [[0, 2, 1], [0, 1]], ids=["other", "shorter"])
def test_another_film_of_the_same_name_is_neither_blurred_nor_cut(cast, shots):
    video = film(cast.with_name("v.mp4"), shots)
    before = sorted(cast.parent.iterdir())
    for words in (["blur", cast], ["reel", cast, "1"], ["reel", cast, "1", "--exact"]):
        done = castlist(*words, "-o", cast.with_name("out.mp4"), code=2)
        said = " ".join(done.stderr.split())
        assert f"{video} is not the video that was scanned into {cast}" in said
        assert ("its frame at 0:04 is different" if len(shots) == 3 else "it lasts 0:08") in said
        assert "Put that video there" in said
    assert sorted(cast.parent.iterdir()) == before


def test_the_video_is_known_by_any_date_and_in_another_encoding(cast, tmp_path):
    video, kept = cast.with_name("v.mp4"), shutil.copy2(cast.with_name("v.mp4"), tmp_path / "kept")
    assert find_video(opened(cast).scanned) == video
    os.utime(video, (1, 1))
    assert find_video(opened(cast).scanned) == video
    film(video, [0, 1, 2], codec="mpeg4")
    assert find_video(opened(cast).scanned) == video
    rewrap(kept, tmp_path / "v.mkv").replace(video)
    assert find_video(opened(cast).scanned) == video
    video.unlink()
    assert find_video(opened(cast).scanned) is None
    with pytest.raises(InputError, match="neither where it was scanned nor beside"):
        write_blurred(opened(cast), tmp_path / "out.mp4")


def test_a_film_in_its_place_does_not_hide_the_video_beside_the_cast(cast, tmp_path):
    (tmp_path / "videos").mkdir()
    noted(cast, shutil.copy2(cast.with_name("v.mp4"), tmp_path / "videos" / "v.mp4"))
    other = film(tmp_path / "videos" / "v.mp4", [7, 8, 9])
    assert find_video(opened(cast).scanned) == cast.with_name("v.mp4")
    cast.with_name("v.mp4").write_text("no video")
    with pytest.raises(OtherFileError, match="videos.v.mp4 is not the video") as raised:
        find_video(opened(cast).scanned)
    assert str(other) in str(raised.value)
    other.unlink()
    with pytest.raises(OtherFileError, match="cannot be read as a video"):
        find_video(opened(cast).scanned)
