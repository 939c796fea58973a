"""``castlist export``, as a whole."""

from __future__ import annotations

import json

import pytest

from castlist.cast.corrections import Corrections
from castlist.export.write import To
from datasets.synthetic_casts import made_video, write_folder
from tests.programs import castlist


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = write_folder(tmp_path / "a film é.cast", made_video())
    Corrections(folder).name(1, "Anna é, <Lee>")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("to", list(To))
def test_printed_is_what_is_written(folder, to):
    (path,) = castlist("export", folder, "--to", to).stdout.splitlines()
    assert path.startswith("film." if to in (To.NFO, To.XMP) else "a film é.cast.")
    text = castlist("export", folder, "--to", to, "-o", "-").stdout
    assert (folder.parent / path).read_text("utf-8") == text  # both with line ends made alike
    assert "Lee" in text or to == To.MOT


def test_options_of_formats(folder):
    by_track = castlist("export", folder, "--to", "mot", "-o", "-").stdout
    by_character = castlist("export", folder, "--to", "mot", "-o", "-", "--by", "character").stdout
    assert len({line.split(",")[1] for line in by_track.splitlines()}) == 20
    assert len({line.split(",")[1] for line in by_character.splitlines()}) == 4
    edl = ("export", folder, "--to", "edl", "-o", "-", "--rate", "29.97")
    assert "FCM: DROP FRAME" in castlist(*edl).stdout
    assert "FCM: NON-DROP FRAME" in castlist(*edl, "--no-drop-frame").stdout
    value = json.loads(castlist("export", folder, "--to", "json", "-o", "-").stdout)
    assert len(value["characters"]) == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["film.cast", "--to", "csv"], "film.cast: not a cast"),
        (["a film é.cast", "--to", "xls"], "unknown format 'xls'; choose one of csv, json"),
        (["a film é.cast"], "Missing option '--to'"),
        (["a film é.cast", "--to", "vtt", "--by", "track"], "vtt has no ids; only mot"),
        (["a film é.cast", "--to", "edl", "--drop-frame"], "no drop-frame timecode"),
        (["a film é.cast", "--to", "edl", "--rate", "0"], "frame rate"),
        (["a film é.cast", "--to", "vtt", "--rate", "25"], "vtt is in seconds"),
        (["a film é.cast", "--to", "vtt", "--drop-frame"], "only csv and edl can be drop-frame"),
        (["a film é.cast", "--to", "csv", "--kind", "movie"], "only nfo does"),
        (
            ["a film é.cast", "--to", "vtt", "-o", "a film é.cast/run.json/x"],
            "would overwrite run.json",
        ),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(folder, words, says):
    done = castlist("export", *words, code=2)
    assert says in " ".join(done.stderr.split())
    assert not done.stdout
