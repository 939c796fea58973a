from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from castlist import InputError
from castlist.cast import cast_file, episodes, folder
from castlist.cast.corrections import Corrections
from castlist.cast.events import Reversed
from castlist.cast.log import Log
from castlist.cast.series import join
from castlist.io.output_guard import OWN, check_file, check_for_run, check_for_scan, is_cast
from datasets.synthetic_casts import episode, made_video, write_folder


@pytest.fixture
def single(tmp_path):
    return write_folder(tmp_path / "film.cast", made_video(), pictures=True)


def test_all_that_a_cast_is_made_of_is_its_own(tmp_path):
    one, two = (episode(tmp_path, f"e{k}", seed=k) for k in (1, 2))
    Corrections(one).name(1, "Anna")
    join([one, two], tmp_path / "season.cast")
    for home in (one, tmp_path / "season.cast"):
        assert {path.name for path in home.iterdir()} <= OWN
    assert {folder.REPORT, cast_file.RUN, episodes.BALLS, episodes.MODEL} <= OWN


@pytest.mark.parametrize(
    "left",
    [
        [], [".lock"], [".run.json.part"], ["parts/"], ["parts/.settings.json.part"],
        ["parts/settings.json", "parts/000001.npz"], ["parts/000001.npz", "parts/faces/"],
        ["run.json", "parts/"], ["corrections.db"], ["run.json", "tracks.parquet"],
        ["run.json", "cast.json"], ["embeddings.npy"], ["cast.json", "embeddings.npy"],
    ],
)  # fmt: skip
def test_what_a_scan_that_was_cut_off_left_is_taken_up(tmp_path, left):
    _make(tmp_path / "x.cast", left)
    check_for_scan(tmp_path / "x.cast")
    check_for_scan(tmp_path / "none.cast")


@pytest.mark.parametrize(
    ("left", "says"),
    [
        (["state.safetensors"], "training run"), (["log.jsonl", "model.safetensors"], "training"),
        (["study.json", "runs/"], "the folder of a study"), (["holiday.jpg"], "not empty"),
        (["faces/"], "not empty"), (["parts/thesis.txt"], "not empty"),
        (["tracks.parquet"], "not empty"), (["episodes/", "run.json"], "several videos"),
    ],
)  # fmt: skip
def test_a_scan_goes_into_no_folder_of_another_kind(tmp_path, left, says):
    _make(tmp_path / "x.cast", left)
    with pytest.raises(InputError, match=says):
        check_for_scan(tmp_path / "x.cast")


def test_a_run_goes_into_no_cast(single, tmp_path):
    with pytest.raises(InputError, match=r"film.cast is a cast, and a study needs"):
        check_for_run(single, "a study")
    for left in ("tracks.parquet", "cast.json", "log.jsonl", "study.json", "parts/notes.txt"):
        _make(tmp_path / f"of {left}", [left])
        check_for_run(tmp_path / f"of {left}", "a study")


@pytest.mark.parametrize(
    "name", ["cast.json", "corrections.db", "Cast.JSON", "faces/0000_0.jpg", "faces/../run.json"]
)
def test_no_file_of_a_cast_is_written_over(single, name):
    with pytest.raises(InputError, match=r"of the cast .*film.cast; choose another file"):
        check_file(single / name, ".csv")


def test_whatever_way_leads_to_it(single, tmp_path, monkeypatch):
    (tmp_path / "way").symlink_to(single)
    (tmp_path / "link.json").symlink_to(single / "cast.json")
    for path in (tmp_path / "way" / "cast.json", tmp_path / "link.json"):
        with pytest.raises(InputError, match="choose another file"):
            check_file(path, ".csv")
    monkeypatch.chdir(single)
    with pytest.raises(InputError, match="choose another file"):
        check_file(folder.Path("cast.json"), ".json")


def test_what_is_no_part_of_a_cast_may_be_written(single, tmp_path):
    for name in ("cast.json", "run.json", "tracks.parquet"):
        check_file(tmp_path / name, Path(name).suffix)
        (tmp_path / name).write_text("{}")
        check_file(single / f"my {name}", Path(name).suffix)
        if name != "tracks.parquet":
            check_file(tmp_path / name, Path(name).suffix)  # and once more


@pytest.mark.posix
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    assert not is_cast(tmp_path)


def _make(home, names):
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "corrections.db":
            Log(path).append("undo", Reversed(event=1), 0)
        elif name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(json.dumps({"stages": {}} if name == "run.json" else {}))


def test_a_file_of_another_kind_is_not_written_over(tmp_path):
    video = tmp_path / "film.mp4"
    check_file(video, ".csv")  # whoever wants it so, where nothing is
    video.write_bytes(b"a film")
    with pytest.raises(InputError, match=r"film\.mp4 exists and is not a \.csv file"):
        check_file(video, ".csv")
    (tmp_path / "film.CSV").write_text("an earlier one")
    check_file(tmp_path / "film.CSV", ".csv")
