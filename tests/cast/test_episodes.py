from __future__ import annotations

import json

import numpy as np
import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.episodes import write_episode
from castlist.cast.folder import EPISODES, FACES
from castlist.cast.series import add, join
from castlist.report.page import report_folder
from datasets.synthetic_casts import episode


def test_pictures_of_an_add_that_was_killed_are_not_those_of_the_next(tmp_path):
    one, two, three = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3))
    join([one, two], tmp_path / "season.cast")
    left = tmp_path / "season.cast" / EPISODES / "e3" / FACES
    left.mkdir(parents=True)
    (left / "0000_2.jpg").write_bytes(b"somebody else of another e3")
    add(tmp_path / "season.cast", three)
    assert not (left / "0000_2.jpg").exists()
    cast = Corrections(tmp_path / "season.cast")
    assert cast.pictures["e3:0000"] == 2


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("...mp4", "mp4"), ("..mp4", "mp4"), ("..", "video"), (".", "video"), ("/", "video"),
        (". .", "video"), ("../../x.mp4", "x"), ("E1.mp4", "E1-2"),
        ("x" * 4000, "x" * 60), ("e1.mp4 (e1-2)", "e1-2"),
    ],
)  # fmt: skip
def test_whatever_a_video_is_called_it_has_a_folder_of_its_own(tmp_path, name, called):
    one, two, three = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2, 3))
    season = tmp_path / "season.cast"
    join([one, two], season)
    cast = Corrections(season)
    cast.name(1, "Anna")
    cast.close()
    run = json.loads((three / RUN).read_text("utf-8"))
    run["video"]["name"] = name
    (three / RUN).write_text(json.dumps(run), "utf-8")
    add(season, three)
    assert {path.name for path in (season / EPISODES).iterdir()} == {"e1", "e2", called}
    cast = Corrections(season)
    assert cast.character("Anna")
    assert cast.pictures[f"{called}:0000"] == 2
    assert len(set(cast.tracks.videos)) == 3


@pytest.mark.parametrize("name", ["..", ".", "", "../e1", "a/b"])
def test_nothing_is_removed_for_a_folder_that_is_none_of_an_episode(tmp_path, name):
    one, two = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2))
    season = tmp_path / "season.cast"
    join([one, two], season)
    before = sorted(season.rglob("*"))
    tracks = Corrections(one).tracks
    with pytest.raises(InputError, match="not a file name"):
        write_episode(season, {"episode": name}, tracks, np.empty((0, 0)), one / FACES)
    assert sorted(season.rglob("*")) == before


@pytest.mark.parametrize("place", [EPISODES, f"{EPISODES}/e3", f"{EPISODES}/e1/{FACES}"])
def test_a_video_is_not_added_through_a_link(tmp_path, place):
    one, two, three = (episode(tmp_path, f"e{k}", people=2, seed=k) for k in (1, 2, 3))
    season = tmp_path / "season.cast"
    join([one, two], season)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tracks.parquet").write_text("my own")
    if (season / place).is_dir():
        (season / place).rename(tmp_path / "moved")
    (season / place).symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match=f"{place} is a link"):
        add(season, three)
    assert [path.read_text() for path in (tmp_path / "mine").iterdir()] == ["my own"]


def test_a_linked_picture_is_neither_shown_in_a_report_nor_joined(tmp_path):
    one, two = (episode(tmp_path, f"e{k}", people=2, seed=k) for k in (1, 2))
    (tmp_path / "diary.txt").write_text("dear diary")
    for picture in (one / FACES).iterdir():
        picture.unlink()
        picture.symlink_to(tmp_path / "diary.txt")
    with Corrections(one) as cast:
        page = report_folder(cast).read_text("utf-8")
    assert "data:image" not in page
    join([one, two], tmp_path / "season.cast")
    assert list((tmp_path / "season.cast" / EPISODES / "e1" / FACES).iterdir()) == []
    assert len(list((tmp_path / "season.cast" / EPISODES / "e2" / FACES).iterdir())) == 20
