"""``castlist name --from``: one question per likely match, and nothing is named unasked."""

from __future__ import annotations

import shutil

import pytest

from castlist import open_describer, open_detector
from castlist.cast.corrections import Corrections
from castlist.cast.photos import PHOTOS, SHEET
from castlist.errors import counted
from datasets.demo_video import NAMES
from datasets.synthetic_casts import made_video, write_folder
from tests.portraits import portrait_cast
from tests.programs import castlist


@pytest.fixture(scope="module")
def filmed(pictures, tmp_path_factory):
    home = tmp_path_factory.mktemp("filmed")
    return portrait_cast(pictures, home, open_detector(), open_describer())


@pytest.fixture
def folder(filmed, tmp_path):
    return shutil.copytree(filmed, tmp_path / "film.cast")


@pytest.fixture
def photos(pictures, tmp_path):
    home = tmp_path / "photos"
    home.mkdir()
    for name, path in zip(NAMES, pictures, strict=True):
        shutil.copy(path, home / f"{name}.jpg")
    return home


def names(folder):
    with Corrections(folder) as cast:
        rows = {one.name: cast.tracks.identity[one.tracks[0]] for one in cast.cast.characters}
        return {name: str(who) for name, who in rows.items() if name}


def test_yes_names_and_no_is_not_asked_again(folder, photos):
    (photos / "notes.txt").write_text("x")
    done = castlist("name", folder, "--from", photos, typed="y\nmaybe\nn\ns\n")
    assert "notes.txt: not a picture" in done.stderr
    assert "christophe: no character looks like this person" in done.stdout
    assert (folder / SHEET).is_file()
    named = names(folder)
    assert len(named) == 1
    assert all(name == who for name, who in named.items())
    assert f"Not answered: {counted(1, 'question')}" in done.stdout
    again = castlist("name", folder, "--from", photos, typed="y\n")
    assert f"{next(iter(named))}: " in again.stdout  # has this name already
    assert "All questions are answered" in again.stdout
    assert len(names(folder)) == 2
    assert not (folder / PHOTOS).exists()
    assert not (folder / SHEET).exists()


def test_without_anybody_to_ask_nothing_is_named(folder, photos):
    done = castlist("name", folder, "--from", photos)
    assert "Not answered: 3 questions" in done.stdout
    assert names(folder) == {}
    assert (folder / PHOTOS).is_file()


def test_two_names_for_one_character_are_asked_in_turn(folder, photos):
    shutil.copy(photos / "guido.jpg", photos / "Guido van Rossum.jpg")
    done = castlist("name", folder, "--from", photos, typed="y\n" * 9)
    assert len(names(folder)) == 3
    assert done.stdout.count("[q]uit") == 3  # after the first yes, the second name is not asked


def test_impossible_requests_are_one_message(folder, photos, tmp_path):
    other = write_folder(tmp_path / "other.cast", made_video())  # described by SFace
    for words, said in [
        (["name", folder], "give a character and its name"),
        (["name", folder, "1", "Anna", "--from", photos], "but not both"),
        (["name", folder, "--from", tmp_path / "nowhere"], "no such folder"),
        (["name", folder, "--from", photos, "--describer", "nothing"], "unknown describer"),
        (["name", folder, "1", "x", "--describer", "sface"], "only for --from"),
        (["name", other, "--from", photos, "--describer", "sface-tv"], "described by SFace, and"),
    ]:
        assert said in castlist(*words, code=2).stderr
