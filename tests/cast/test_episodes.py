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
