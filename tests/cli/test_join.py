"""One cast of several videos, from the command line and on the page."""

from __future__ import annotations

import pytest

from castlist.cast.corrections import Corrections
from datasets.small_videos import plain, write_video
from datasets.synthetic_casts import episode
from robustness.review_server import Server
from tests.cast.test_series import by_track, people
from tests.programs import castlist
from tests.rays import needs_ray


@pytest.fixture
def three(tmp_path):
    return [episode(tmp_path, f"e{k}", people, seed=k) for k, people in ((1, 4), (2, 3), (3, 5))]


@pytest.mark.slow
def test_join_on_ray_gives_the_same_cast(three, tmp_path):
    needs_ray()
    castlist("join", *three, "-o", tmp_path / "here.cast")
    castlist("join", "--ray", *three, "-o", tmp_path / "there.cast")
    here, there = (Corrections(tmp_path / f"{name}.cast") for name in ("here", "there"))
    assert by_track(there) == by_track(here)


def test_join_name_add_review(three, tmp_path):
    season = tmp_path / "season.cast"
    castlist("name", three[0], "1", "Anna")
    told = castlist("join", *three[:2], "-o", season).stdout
    assert "4 characters" in told
    assert "Anna (1)" in told
    assert "?" not in told
    castlist("name", three[2], "1", "Bo")
    told = castlist("add", season, three[2]).stdout
    assert "2 of them are new" in told  # one who was not there, and Bo, who looks like Anna
    assert "look alike, but are called Anna and Bo" in told
    castlist("merge", season, "1", "2", "--waive")
    assert "undone: merged 2 characters" in castlist("undo", season).stdout
    page = (season / "report.html").read_text("utf-8")
    assert "season, 3 videos" in page
    with Server(season) as server:
        cast = server.get("/api/cast")
        assert cast["video"] == "season, 3 videos"
        assert cast["duration"] == 120
        tracks = server.get("/api/characters/1")["all"]
        assert {track["video"] for track in tracks} >= {"e1.mp4", "e2.mp4"}
        assert server.get(f"/api/tracks/{tracks[0]['id']}")["film"] in (0, 1, 2)
        assert server.ask(f"/faces/{tracks[0]['id']}/0")[0] == 200
        assert server.ask("/faces/e1:..%2f..%2frun/0")[0] in (404, 422)
        assert server.get("/api/questions")["questions"] == []  # nobody is in doubt
        assert server.act(kind="name", characters=[2], name="Cleo")[0] == 200
    assert Corrections(season).character("Cleo")


def test_mistakes_are_one_message(three, tmp_path):
    film, season = tmp_path / "film.mp4", tmp_path / "season.cast"
    write_video(film, [plain((9, 9, 9))])
    castlist("join", *three[:2], "-o", season)
    for words, said in (
        (["join", three[0], "-o", tmp_path / "x.cast"], "joining needs at least two casts"),
        (["add", three[0], three[1]], "the cast of one video"),
        (["review", season, "--video", film], "2 videos, and none of them is called film.mp4"),
        (["add", tmp_path / "none.cast", three[1]], "not a cast"),
    ):
        run = castlist(*words, code=2)
        assert said in run.stderr
    assert people(Corrections(three[0]))


def test_a_report_that_cannot_be_written_does_not_lose_the_cast(three, tmp_path):
    season = tmp_path / "season.cast"
    castlist("join", *three[:2], "-o", season)
    (season / "report.html").unlink()
    (season / "report.html").mkdir()
    said = castlist("add", season, three[2], code=2).stderr
    assert f"run `castlist report {season}`" in said
    (season / "report.html").rmdir()
    castlist("report", season)
    assert len(Corrections(season).scanned.films) == 3
