from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest

from castlist import InputError, read_tracks, write_tracks
from castlist.cast.cast_file import check_id, check_number, check_run, valid_embeddings
from castlist.cast.corrections import Corrections
from castlist.cast.events import Reversed
from castlist.cast.history import describe_event
from castlist.cast.series import join
from datasets.synthetic_casts import episode, made_video, write_folder

RUN = {
    "settings": {"tracking": {"sample_rate": 5}},
    "video": {"name": "a.mp4", "duration": 60, "rate": 25.0, "size": [640, 360]},
}


def test_a_valid_run_manifest_is_accepted():
    run = check_run(copy.deepcopy(RUN))
    assert run["video"] == {**RUN["video"], "duration": 60.0}
    assert check_run({"settings": {}})["settings"] == {}


@pytest.mark.parametrize(
    "change",
    [
        {"settings": 5}, {"video": 5}, {"videos": {}}, {"videos": [5]},
        {"video": {"duration": float("nan")}}, {"video": {"duration": 1e400}},
        {"video": {"duration": "60"}}, {"video": {"rate": "abc"}}, {"video": {"rate": True}},
        {"video": {"size": [1]}}, {"video": {"size": 7}}, {"video": {"size": [1, float("inf")]}},
        {"video": {"stored_size": [1]}}, {"video": {"delay": -1}}, {"video": {"name": 5}},
        {"video": {"path": "a\0b"}},
    ],
)  # fmt: skip
def test_an_invalid_run_manifest_is_refused(change):
    with pytest.raises(ValueError, match=r"."):
        check_run({**copy.deepcopy(RUN), **change})


def test_numbers_and_ids_are_validated():
    assert (check_number(0), check_number(2.5), check_id(7)) == (0.0, 2.5, 7)
    for value in (-1, float("nan"), float("inf"), 10**400, True, None, "1"):
        with pytest.raises(ValueError, match="not a number"):
            check_number(value)
    for value in (0, -1, 2**31, 1.0, True, None):
        with pytest.raises(ValueError, match="not the id of a character"):
            check_id(value)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("run.json", {"settings": 5}), ("cast.json", {"next": 0}),
        ("cast.json", {"threshold": float("inf")}),
        ("cast.json", {"duration": 1e300}), ("cast.json", {"threshold": None}),
    ],
)  # fmt: skip
def test_a_folder_with_invalid_files_is_refused(tmp_path, file, change):
    folder = write_folder(tmp_path / "x.cast", made_video())
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(InputError, match=r"x\.cast"):
        Corrections(folder)


def test_embeddings_whose_squares_overflow_are_refused():
    assert valid_embeddings(np.eye(3, dtype=np.float32))
    assert valid_embeddings(np.empty((0, 0)))
    for value in (np.nan, np.inf, -1e30):
        assert not valid_embeddings(np.array([[0.0, value]]))
    assert not valid_embeddings(np.array([[1]]))


def test_a_chain_of_undone_undos_is_described_in_one_line(tmp_path):
    cast = Corrections(write_folder(tmp_path / "x.cast", made_video()))
    for number in range(1, 2000):  # each undoes the one before it: castlist never says so
        cast.log.append("undo", Reversed(event=max(1, number - 1)), number - 1)
    cast.refresh()
    assert describe_event(cast, cast.history[-1][0]) == "undid: event 1998"
    cast.close()


def test_faces_without_a_time_are_refused(tmp_path):
    season = tmp_path / "season.cast"
    join([episode(tmp_path, f"e{k}", seed=k) for k in (1, 2)], season)
    path = season / "episodes" / "e1" / "tracks.parquet"
    tracks = read_tracks(path)
    write_tracks(path, dataclasses.replace(tracks, time=np.full_like(tracks.time, np.nan)))
    with pytest.raises(InputError, match=r"season\.cast: some of its faces have no time"):
        Corrections(season)
