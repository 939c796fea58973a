"""No door of a cast leads to other files of the user (``robustness/strangers.py``)."""

from __future__ import annotations

import shutil

import pytest

from robustness import strangers
from robustness.strangers import DOORS, JOINED, LINKS, SETTINGS, SINGLE, content, outside, told

#: Kinds of links that the default run tries in every place.
#: Folders of a cast; the other places are files.
FOLDERS = {"faces", "parts", "episodes", "episodes/one", "episodes/three", "episodes/one/faces"}
#: Places without which a cast cannot be opened: a link in one of them is refused.
NEEDED = {"run.json", "cast.json", "tracks.parquet", "embeddings.npy", "corrections.db", "faces",
          "episodes", "episodes/one", "model.safetensors", "balls.npz"}  # fmt: skip

pytestmark = pytest.mark.posix


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    home = tmp_path_factory.mktemp("sound")
    strangers.sound_casts(home)
    return home


def places(names):
    """Return every kind of link in every place; those that are not of its kind are slow."""
    return [
        pytest.param(name, kind, marks=() if kind == own else pytest.mark.slow)
        for name in names
        for own in ["folder" if name in FOLDERS else "file"]
        for kind in LINKS
    ]


def visit(tmp_path, sound, hostile, doors=DOORS):
    """Go through doors of a hostile cast; return what each said, after comparing the outside."""
    mine = tmp_path / "mine"
    before, said = content(mine), {}
    for door in doors:
        others = shutil.copytree(sound, tmp_path / door.__name__)
        said[door.__name__] = told(door, hostile, others)
        assert content(mine) == before, door.__name__
        shutil.rmtree(others)
    return said


@pytest.mark.parametrize(("place", "kind"), places(SINGLE))
def test_no_link_in_a_cast_leads_out_of_it(tmp_path, sound, place, kind):
    mine = outside(tmp_path)
    hostile = shutil.copytree(sound / "one.cast", tmp_path / "received" / "x.cast")
    shutil.copy(sound / "one.mp4", hostile.with_suffix(".mp4"))
    LINKS[kind](hostile / place, mine)
    said = visit(tmp_path, sound, hostile)
    if place in NEEDED and "hard" not in kind:
        assert "is a link" in said["open_and_look"]


@pytest.mark.parametrize(("place", "kind"), places(JOINED))
def test_no_link_in_a_cast_of_several_videos_leads_out_of_it(tmp_path, sound, place, kind):
    mine = outside(tmp_path)
    hostile = shutil.copytree(sound / "season.cast", tmp_path / "received" / "x.cast")
    LINKS[kind](hostile / place, mine)
    said = visit(tmp_path, sound, hostile)
    if place in NEEDED and "hard" not in kind:
        assert "is a link" in said["open_and_look"]
        assert "is a link" in said["add_to_it"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_file_that_a_cast_names_is_opened(tmp_path, sound, setting):
    mine = outside(tmp_path)
    hostile = shutil.copytree(sound / "one.cast", tmp_path / "received" / "x.cast")
    shutil.copy(sound / "one.mp4", hostile.with_suffix(".mp4"))
    strangers.name_file(hostile, mine, setting)
    for file in SETTINGS.values():
        (mine / file).unlink()  # that it is missing is not noticed either
    said = visit(tmp_path, sound, hostile)
    assert f"{SETTINGS[setting]}; give that file again" in said["scan_into_it"]
    assert ("give that model again" in said["join_it"]) == (setting == "model")


def test_no_journal_deletes_a_file(tmp_path, sound):
    mine = outside(tmp_path)
    hostile = shutil.copytree(sound / "one.cast", tmp_path / "received" / "x.cast")
    strangers.name_in_journal(hostile, mine / "diary.txt")
    said = visit(tmp_path, sound, hostile)
    assert "names a file, which SQLite would delete" in said["open_and_look"]


def test_every_door_of_a_sound_cast_is_open(tmp_path, sound):
    outside(tmp_path)
    one = shutil.copytree(sound / "three.cast", tmp_path / "received" / "x.cast")
    of_several = [strangers.add_to_it]
    said = visit(tmp_path, sound, one, [one for one in DOORS if one not in of_several])
    assert {door: why for door, why in said.items() if why} == {
        "scan_into_it": f"{one.with_suffix('.mp4')}: no such video file"
    }
    season = shutil.copytree(sound / "season.cast", tmp_path / "received" / "y.cast")
    assert visit(tmp_path, sound, season, of_several) == {"add_to_it": ""}
