"""Correcting a cast from the command line."""

from __future__ import annotations

import json

import pytest

from castlist.cast.corrections import Corrections
from datasets.synthetic_casts import made_video, write_folder
from tests.programs import castlist


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "film.cast", made_video(), pictures=True)


def test_name_merge_split_undo_log_report(folder):
    assert "Anna Lee (1)" in castlist("name", folder, "1", "Anna Lee").stdout
    assert "3 characters" in castlist("merge", folder, "Anna Lee", "3").stdout
    assert "4 characters" in castlist("split", folder, "0000", "0004").stdout
    assert "named" not in castlist("undo", folder).stdout
    assert "redone: moved 2 tracks to character 5" in castlist("redo", folder).stdout
    told = json.loads(castlist("log", folder, "--json").stdout)
    assert [event["kind"] for event in told] == ["name", "merge", "move", "undo", "redo"]
    assert [event["holds"] for event in told] == [True, True, True, False, False]
    assert "merged 2 characters as “Anna Lee”" in castlist("log", folder).stdout
    assert "1 of them background" in castlist("background", folder, "4").stdout
    castlist("report", folder)
    assert "Anna Lee" in (folder / "report.html").read_text("utf-8")
    castlist("recluster", folder, "--yes")
    cast = Corrections(folder)
    assert cast.character("Anna Lee").number == 1
    assert cast.state.owner[cast.rows(["0000"])[0]] != 1  # it was said that they are two


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["merge", "1", "2"], "share a frame"),
        (["name", "nobody", "x"], "no character 'nobody'; the report lists names and numbers"),
        (["split", "nope"], "--to csv -o -` lists them"),
        (["undo"], "nothing to undo"),
        (
            ["split", "0000", "--to", "2", "--not-a-face"],
            "only one of --to, --not-a-face",
        ),
    ],
)
def test_an_impossible_correction_is_one_message(folder, words, said):
    result = castlist(words[0], folder, *words[1:], code=2)
    assert said in result.stderr
    assert Corrections(folder).last == 0


def test_a_number_means_the_character_even_if_another_has_it_as_its_name(folder):
    cast = Corrections(folder)
    cast.name(3, "1")
    cast.close()
    castlist("name", folder, "1", "Anna")
    castlist("background", folder, "3")
    cast = Corrections(folder)
    assert {one.number: one.name for one in cast.cast.characters if one.name} == {1: "Anna", 3: "1"}
    assert cast.character(3).background
    assert "a visible character" in castlist("name", folder, "2", "\u200b", code=2).stderr


def test_merging_two_names_needs_the_name_option(folder):
    cast = Corrections(folder)
    cast.name(1, "Anna")
    cast.name(3, "Bo")
    assert (
        "Anna and Bo: give the name to keep (--name)"
        in castlist("merge", folder, "1", "3", code=2).stderr
    )


def test_recluster_without_a_terminal_needs_the_yes_option(tmp_path):
    tracks = made_video()
    folder = write_folder(tmp_path / "film.cast", tracks, labels=range(len(tracks)))
    done = castlist("recluster", folder, code=2)
    assert "pass --yes to accept the changes" in done.stderr
    assert Corrections(folder).last == 0


def test_recluster_lists_tracks_that_the_number_of_the_scan_put_together(tmp_path):
    tracks = made_video()
    folder = write_folder(tmp_path / "film.cast", tracks, labels=range(len(tracks)))
    run = json.loads((folder / "run.json").read_text())
    run["settings"]["max_characters"] = 1
    (folder / "run.json").write_text(json.dumps(run))
    said = castlist("recluster", folder, "--yes").stdout
    assert "1 character required 10 pairs of tracks that share a frame in one character" in said
    assert "tracks 0000 and 0001 at 0:00, 0002 and 0003 at 0:03" in said
    assert ", and 7 more.\n" in said
    assert len(Corrections(folder).cast.characters) == 1
    castlist("split", folder, "0000")
    done = castlist("recluster", folder, "--yes", code=2)
    assert "was scanned for 1 character, but corrections require at least" in done.stderr


def test_a_joined_cast_needs_a_folder_of_its_own(folder, tmp_path):
    other = write_folder(tmp_path / "other.cast", made_video(seed=1))
    for out in (".", "/"):
        done = castlist("join", folder, other, "-o", out, code=2)
        assert "a joined cast needs a folder of its own" in done.stderr


def test_cut_remove_and_restore(folder):
    cast = Corrections(folder)
    begin, end = cast.tracks.spans[cast.rows(["0004"])[0]]
    assert "5 characters" in castlist("cut", folder, "0004", f"{(begin + end) / 2}").stdout
    told = castlist("cut", folder, "0004", "7", code=2).stderr
    assert "there is no track '0004'" in told
    assert "give a time in between" in castlist("cut", folder, "0008", "0", code=2).stderr
    castlist("split", folder, "0001", "--not-a-face")
    assert "0001" not in castlist("export", folder, "--to", "csv", "-o", "-").stdout
    castlist("split", folder, "0001", "--a-face")
    assert "4 characters" in [castlist("undo", folder) for _ in range(3)][-1].stdout


def test_the_log_lists_the_tracks_that_moved(folder):
    castlist("split", folder, "0000", "--to", "3")
    (event,) = json.loads(castlist("log", folder, "--json").stdout)
    assert event["moves"] == [{"from": 1, "to": 3, "tracks": ["0000"]}]
