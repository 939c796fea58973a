from __future__ import annotations

import json
import shlex
from urllib.parse import urlencode

import numpy as np
import pytest
from typer.testing import CliRunner

from castlist import TrackSet
from castlist.cast.corrections import Corrections
from castlist.cast.series import join
from castlist.cli.app import app
from datasets.synthetic_casts import episode, write_folder
from robustness.review_server import Server


@pytest.fixture(scope="module")
def server(home):
    with Server(home) as running:
        yield running


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """Two videos with the same people, joined."""
    home = tmp_path_factory.mktemp("series")
    join([episode(home, "one"), episode(home, "two", seed=1, each=3)], home / "season.cast")
    with Server(home / "season.cast") as running:
        yield running


def seconds_seen(corrections, number, moments, video=0):
    """Return whether a character is seen at some times, by brute force over its tracks."""
    tracks = corrections.tracks
    own = [row for row in corrections.character(number).tracks if tracks.video[row] == video]
    return np.array([any(a <= t < b for a, b in tracks.spans[own]) for t in moments])


def test_appearances_are_those_of_the_tracks(server, home):
    line = server.get("/api/timeline/0")
    moments = np.arange(0.05, line["duration"], 0.1)
    with Corrections(home) as cast:
        assert {one["number"] for one in line["characters"]} == {
            one.number for one in cast.cast.characters
        }
        for one in line["characters"]:
            shown = np.array([any(a <= t < b for a, b, _ in one["spans"]) for t in moments])
            assert (shown == seconds_seen(cast, one["number"], moments)).all()
            lasting = sum(end - start for start, end, _ in one["spans"])
            assert one["seconds"] == pytest.approx(lasting, abs=0.01)
            for start, end, track in one["spans"]:  # its picture is of a track within it
                row = int(cast.rows([track])[0])
                assert row in cast.character(one["number"]).tracks
                assert start - 1e-3 <= cast.tracks.spans[row, 0] < end
    ordered = [(one["background"], -one["seconds"]) for one in line["characters"]]
    assert ordered == sorted(ordered)
    assert (line["rate"], line["drop"], line["size"], line["playable"]) == (
        [25, 1], False, [640, 360], True,
    )  # fmt: skip
    assert len(line["frames"]) == 20


def test_a_series_has_a_timeline_per_video(series):
    one, two = (series.get(f"/api/timeline/{k}") for k in range(2))
    assert [video["name"] for video in one["videos"]] == ["one.mp4", "two.mp4"]
    assert (one["name"], two["name"], two["playable"]) == ("one.mp4", "two.mp4", False)
    assert sum(len(who["spans"]) for who in one["characters"]) == 20
    assert sum(len(who["spans"]) for who in two["characters"]) == 12
    assert {who["spans"][0][2].split(":")[0] for who in two["characters"]} == {"two"}
    assert series.ask("/api/timeline/2")[0] == 404


def test_a_cast_without_faces_has_an_empty_timeline(tmp_path):
    write_folder(tmp_path / "film.cast", TrackSet.from_faces([]), duration=5.0)
    with Server(tmp_path / "film.cast") as server:
        line = server.get("/api/timeline/0")
        assert (line["characters"], line["frames"], line["playable"]) == ([], [], False)
        assert server.get("/api/boxes/0?start=0&end=60")["tracks"] == []
        assert server.ask("/api/find?people=1")[0] == 422


def test_a_correction_changes_the_timeline_and_the_boxes(server, home):
    with Corrections(home) as cast:
        track = str(cast.tracks.ids[cast.character(2).tracks[0]])
        start = float(cast.tracks.spans[cast.rows([track])[0], 0])
        before = server.get("/api/timeline/0")
        cast.not_face([track])
        after = server.get("/api/timeline/0")
        window = f"/api/boxes/0?start={start}&end={start + 1}"
        assert after["last"] > before["last"]
        lengths = [
            {one["number"]: len(one["spans"]) for one in line["characters"]}[2]
            for line in (before, after)
        ]
        assert lengths == [5, 4]
        assert 2 not in [one["character"] for one in server.get(window)["tracks"]]
        cast.undo()
        assert 2 in [one["character"] for one in server.get(window)["tracks"]]


def test_boxes_of_a_window_and_one_on_each_side(server, home):
    with Corrections(home) as cast:
        found = server.get("/api/boxes/0?start=3.5&end=4.1")["tracks"]
        tracks, owner = cast.tracks, cast.state.owner
        rows = [k for k in range(len(tracks))
                if tracks.spans[k, 0] < 4.1 and tracks.spans[k, 1] >= 3.5]  # fmt: skip
        assert sorted(one["character"] for one in found) == sorted(owner[rows].tolist())
        for one in found:
            times = [box[0] for box in one["boxes"]]
            assert times == pytest.approx([3.4, 3.6, 3.8, 4.0, 4.2])
            row = next(k for k in rows if owner[k] == one["character"])
            at = tracks.offsets[row] + 2
            assert one["boxes"][0][1:] == pytest.approx(tracks.box[at].tolist(), abs=0.06)


@pytest.mark.parametrize(
    "query", ["start=5&end=5", "start=5&end=1", "start=0&end=900", "start=nan&end=1", "start=-1"]
)
def test_a_window_must_be_one(server, query):
    assert server.ask(f"/api/boxes/0?{query}")[0] == 422
    assert server.ask("/api/boxes/1?start=0&end=5")[0] == 404


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"people": [1, 2]}, ["1", "2"]),
        ({"people": [1, 2], "gap": 3}, ["1", "2", "--gap", "3"]),
        ({"people": [1, 3], "mode": "any", "shortest": 2.1},
         ["1", "3", "--any", "--shortest", "2.1"]),
        ({"people": [1], "without": [2, 4]}, ["1", "--without", "2", "--without", "4"]),
    ],
)  # fmt: skip
def test_scenes_are_those_of_the_command_line(series, asked, words):
    found = series.get(f"/api/find?{urlencode(asked, doseq=True)}")
    told = CliRunner().invoke(app, ["find", str(series.folder), *words, "--json"])
    expected = json.loads(told.stdout)
    assert expected
    kept = ("video", "start", "end", "people")
    assert [{name: one[name] for name in kept} for one in found["scenes"]] == expected
    for one in found["scenes"]:
        assert one["video"] == found["videos"][one["film"]]["name"]
        assert {number for number, _ in one["faces"]} <= set(asked["people"])
        for number, track in one["faces"]:  # a face from the scene
            seen = series.get(f"/api/tracks/{track}")
            assert seen["film"] == one["film"]
            assert seen["start"] < one["end"]
            assert seen["end"] > one["start"]
            tracks = series.get(f"/api/characters/{number}")["all"]
            assert track in [other["id"] for other in tracks]


def test_scenes_of_one_video_and_the_command(series):
    both, one = (series.get(f"/api/find?people=1&people=2{more}") for more in ("", "&video=1"))
    assert one["scenes"] == [scene for scene in both["scenes"] if scene["film"] == 1]
    assert 0 < len(one["scenes"]) < len(both["scenes"])
    name, *words = shlex.split(one["command"])
    assert name == "castlist"
    told = CliRunner().invoke(app, [*words, "--json"])
    assert [scene["start"] for scene in json.loads(told.stdout)] == [
        scene["start"] for scene in one["scenes"]
    ]


@pytest.mark.parametrize(
    "query", ["", "people=99", "people=1&without=1", "people=1&gap=-1", "people=1&mode=both"]
)
def test_people_who_cannot_be_found(series, query):
    status, _, content = series.ask(f"/api/find?{query}")
    assert status == 422
    assert json.loads(content)["error"]
