from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from castlist import CastlistError, Corrections, InputError
from castlist.export.write import FORMATS, ExportSettings, To, export_cast, export_lines
from tests.export.casts import made_cast, two_videos


@pytest.mark.parametrize("to", list(To))
def test_one_video_is_one_file_named_after_its_cast(tmp_path, monkeypatch, to):
    cast = made_cast(tmp_path / "film é.cast")
    monkeypatch.chdir(tmp_path)
    (path,) = export_cast(cast, to)
    own = 'Folge 1 é <a&b>, "x"' if FORMATS[to].made_by else "film é.cast"  # sidecars: the video's
    assert path.name == f"{own}{FORMATS[to].suffix}"
    text = path.read_bytes().decode()
    assert text == "".join(export_lines(cast, to))
    (tmp_path / "out").mkdir()
    assert export_cast(cast, to, tmp_path / "out") == [tmp_path / "out" / path.name]
    (named,) = export_cast(cast, to, tmp_path / "new" / "x.y")
    assert named.read_bytes().decode() == text


@pytest.mark.parametrize("to", list(To))
def test_several_videos(tmp_path, to):
    cast = two_videos(tmp_path)
    suffix = FORMATS[to].suffix
    if to in (To.CSV, To.JSON):
        (path,) = export_cast(cast, to, tmp_path / f"one{suffix}")
        assert {"a.mp4", "b.mp4"} <= set(path.read_text("utf-8").replace('"', ",").split(",")) | {
            line.rpartition(",")[2] for line in path.read_text("utf-8").splitlines()
        }
        return
    paths = export_cast(cast, to, tmp_path / "out")
    stems = ("a", "b") if FORMATS[to].made_by else ("a.mp4", "b.mp4")
    assert [p.name for p in paths] == [f"{stem}{suffix}" for stem in stems]
    assert paths[0].read_text("utf-8") != paths[1].read_text("utf-8")
    with pytest.raises(InputError, match="has 2 videos"):
        export_cast(cast, to)
    with pytest.raises(InputError, match="give a folder"):
        export_lines(cast, to)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="give a folder"):
        export_cast(cast, to, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("to", "settings", "says"),
    [
        ("xls", {}, "unknown format 'xls'; choose one of csv, json"),
        ("csv", {"by": "track"}, "csv has no ids; only mot"),
        ("mot", {"by": "face"}, "unknown ids 'face'; choose track or character"),
        ("otio", {"drop_frame": True}, "otio has no timecode; only csv and edl"),
        ("edl", {"drop_frame": True}, "no drop-frame timecode at 25"),
        ("edl", {"rate": -1.0}, "frame rate"),
        ("edl", {"rate": 0.0}, "frame rate"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(tmp_path, to, settings, says):
    cast = made_cast(tmp_path / "film.cast")
    with pytest.raises(InputError, match=says):
        export_cast(cast, to, tmp_path / "out", ExportSettings(**settings))
    assert [p.name for p in tmp_path.iterdir()] == ["film.cast"]


@pytest.mark.parametrize("name", ["cast", "run"])
def test_the_cast_itself_is_not_written_over(tmp_path, monkeypatch, name):
    cast = made_cast(tmp_path / name)
    cast.name(1, "Anna")
    before = {path: path.read_bytes() for path in cast.folder.iterdir()}
    os.link(cast.folder / f"{name}.json", tmp_path / "hard.json")
    monkeypatch.chdir(cast.folder)
    for out in (None, cast.folder, cast.folder / "corrections.db", Path("faces/x.json")):
        with pytest.raises(InputError, match="choose another file"):
            export_cast(cast, "json", out)
    export_cast(cast, "json", tmp_path / "hard.json")  # a name of its own, replaced as such
    assert {path: path.read_bytes() for path in before} == before
    assert Corrections(cast.folder).character("Anna")


def test_videos_of_awkward_names_have_a_file_each(tmp_path):
    cast = two_videos(tmp_path)
    for videos, files in (
        (("e 1.mp4", "e  1.mp4"), ["e 1.mp4.vtt", "e 1.mp4 (2).vtt"]),
        (("../x", "..\\X"), [".._x.vtt", ".._X (2).vtt"]),
        (("\0", "/"), ["video.vtt", "_.vtt"]),
        (("..", "\udc80"), ["...vtt", "?.vtt"]),
        (("é" * 300, "é" * 301), [f"{'é' * 100}.vtt", f"{'é' * 100} (2).vtt"]),
    ):
        cast.tracks = replace(cast.tracks, videos=videos)
        cast._cast = None
        out = tmp_path / "out" / "in"
        paths = export_cast(cast, "vtt", out)
        assert paths == [out / name for name in files]
        assert sorted(tmp_path.rglob("*.vtt")) == sorted(paths)
        for path in paths:
            path.unlink()


def test_a_place_that_cannot_be_written(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CastlistError, match="cannot write"):
        export_cast(cast, "vtt", tmp_path / "file" / "x.vtt")


def test_what_was_corrected_is_what_is_written(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    cast.name(2, "Anna")
    assert "Anna" in "".join(export_lines(Corrections(cast.folder), "vtt"))
    cast.undo()
    assert "Anna" not in "".join(export_lines(Corrections(cast.folder), "vtt"))
