from __future__ import annotations

import json

import av
import pytest

from castlist.cli.handover import _Cover, _To
from castlist.handover.blur import Cover
from castlist.handover.edit_list import EDIT_LISTS
from tests.export.casts import made_cast
from tests.handover.test_reel import lengths, write_film
from tests.programs import castlist

#: Anna is seen from 0 to 4 s and from 6 to 7 s, Ben from 2 to 5 s.
SPANS = [(0.0, 3.8, 0), (2.0, 4.8, 1), (6.0, 6.8, 0)]


@pytest.fixture(scope="module")
def cast(tmp_path_factory):
    folder = tmp_path_factory.mktemp("episode") / "v.cast"
    write_film(folder.parent / "v.mp4", seconds=8, size=(640, 360))
    with made_cast(folder, video="v.mp4", spans=SPANS, duration=8.0) as made:
        first, second = made.cast.characters
        made.name(first.number, "Anna")
        made.name(second.number, "Ben")
    return folder


def scenes(cast, *words):
    found = json.loads(castlist("find", cast, *words, "--json").stdout)
    return [(one["start"], one["end"]) for one in found]


def test_find(cast):
    assert scenes(cast, "Anna", "Ben") == [(2.0, 4.0)]
    assert scenes(cast, "Anna", "Ben", "--any") == [(0.0, 5.0), (6.0, 7.0)]
    assert scenes(cast, "Anna", "--without", "Ben") == [(0.0, 2.0), (6.0, 7.0)]
    assert scenes(cast, "Anna", "--shortest", "2") == [(0.0, 4.0)]
    text = castlist("find", cast, "Anna", "Ben").stdout
    assert "1 scene, 2.0 s" in text
    assert "Carl" in castlist("find", cast, "Carl", code=2).stderr


def test_reel(cast, tmp_path):
    done = castlist("reel", cast, "Anna", "-o", tmp_path / "anna.mp4", "--exact")
    assert "2 scenes, 5.0 s" in done.stdout
    assert lengths(tmp_path / "anna.mp4")["video"] == pytest.approx(5, abs=0.05)
    assert "before the scenes" not in done.stdout
    castlist("reel", cast, "Anna", "--together", "Ben", "--to", "edl", "-o", tmp_path / "a.edl")
    assert "FROM CLIP NAME: v.mp4" in (tmp_path / "a.edl").read_text()
    wrong = castlist("reel", cast, "Ben", "--without", "Anna", "--together", "Anna",
                     "-o", tmp_path / "x.mp4", code=2)  # fmt: skip
    assert "both wanted and not wanted" in wrong.stderr


def test_every_edit_list_is_offered():
    assert {one.value for one in _To} == set(EDIT_LISTS)


def test_graph(cast, tmp_path):
    castlist("graph", cast, "-o", tmp_path / "cast.graphml")
    castlist("graph", cast, "-o", tmp_path / "cast.svg")
    assert "Anna" in (tmp_path / "cast.svg").read_text()
    assert ".graphml or .svg" in castlist("graph", cast, "-o", tmp_path / "x.png", code=2).stderr


def test_blur(cast, tmp_path):
    done = castlist("blur", cast, "--all-but", "Anna", "-o", tmp_path / "out.mp4")
    assert "A face that was not found is not covered." in done.stdout
    with av.open(str(tmp_path / "out.mp4")) as film:
        assert sum(1 for _ in film.decode(video=0)) == 200
    castlist("blur", cast, "--cover", "blur", "-o", tmp_path / "soft.mp4")
    assert (tmp_path / "soft.mp4").stat().st_size > 0
    assert {one.value for one in _Cover} == set(Cover)


def test_voices(cast, tmp_path):
    (tmp_path / "talk.rttm").write_text("SPEAKER v 1 6.0 1.0 <NA> <NA> spk1 <NA> <NA>\n")
    (tmp_path / "in.srt").write_text("1\n00:00:06,200 --> 00:00:06,800\nHello.\n")
    words = ("voices", cast, tmp_path / "talk.rttm")
    assert json.loads(castlist(*words, "--json").stdout)[0]["label"] == "Anna"
    castlist(*words, "--subtitles", tmp_path / "in.srt", "-o", tmp_path / "out.srt")
    assert "Anna: Hello." in (tmp_path / "out.srt").read_text()
    assert "--out" in castlist(*words, "--subtitles", tmp_path / "in.srt", code=2).stderr


def test_files_of_a_cast_are_not_overwritten(cast, tmp_path):
    before = (cast / "cast.json").read_bytes()
    for words in (
        ("reel", cast, "Anna", "--to", "edl", "-o", cast / "cast.json"),
        ("graph", cast, "-o", cast / "faces" / "x.svg"),
        ("blur", cast, "-o", cast / "faces" / "x.mp4"),
        ("reel", cast, "Anna", "-o", cast / "faces" / "x.mp4"),
    ):
        assert "of the cast" in castlist(*words, code=2).stderr, words
    assert (cast / "cast.json").read_bytes() == before
