"""Naming characters by photos: real portraits, and a cast of the same people."""

from __future__ import annotations

import shutil

import cv2
import numpy as np
import pytest

from castlist import InputError, open_describer, open_detector
from castlist.cast.corrections import Corrections
from castlist.cast.history import describe_event
from castlist.cast.photo_matches import (
    accept_match,
    likely_from,
    likeness,
    match_sheet,
    open_matches,
    photo_matches,
)
from castlist.cast.photos import (
    PHOTOS,
    PhotoPerson,
    Photos,
    describe_photos,
    load_photos,
    photo_files,
    remove_photos,
    save_photos,
)
from castlist.io.output_guard import check_file
from castlist.model.shipped import shipped_model
from datasets.demo_video import NAMES
from datasets.synthetic_casts import made_video, write_folder
from tests.portraits import portrait_cast


@pytest.fixture(scope="module")
def networks():
    return open_detector(), open_describer()


@pytest.fixture(scope="module")
def filmed(pictures, networks, tmp_path_factory):
    return portrait_cast(pictures, tmp_path_factory.mktemp("filmed"), *networks)


@pytest.fixture
def folder(filmed, tmp_path):
    return shutil.copytree(filmed, tmp_path / "film.cast")


@pytest.fixture(scope="module")
def known(pictures, networks, tmp_path_factory):
    """All four people, from photos."""
    home = tmp_path_factory.mktemp("photos")
    for name, path in zip(NAMES, pictures, strict=True):
        shutil.copy(path, home / f"{name}.jpg")
    return describe_photos(home, *networks)[0]


def who_is(cast, number):
    return str(cast.tracks.identity[cast.character(number).tracks[0]])


def test_the_right_person_is_proposed_and_a_stranger_is_not(folder, known):
    assert [one.name for one in known.people] == sorted(NAMES)
    with Corrections(folder) as cast:
        matches = photo_matches(cast, known)
        assert {one.name: who_is(cast, one.character) for one in matches} == {
            name: name for name in NAMES[:3]
        }
        assert len(matches) == 3
        assert [one.alike for one in matches] == sorted((o.alike for o in matches), reverse=True)
        sheet = match_sheet(cast, known, matches)
        height, width = cv2.imdecode(np.frombuffer(sheet, np.uint8), 1).shape[:2]
        assert (height, width > 6 * 112) == (3 * 112, True)


def test_answers_hold_and_are_undone(folder, known):
    with Corrections(folder) as cast:
        first, second, third = photo_matches(cast, known)
        accept_match(cast, first)
        assert cast.character(first.name).number == first.character
        event = cast.not_named(second.character, second.name)
        said = describe_event(cast, event)
        assert said == f"answered: character {second.character} is not “{second.name}”"
        assert open_matches(cast, photo_matches(cast, known)) == [third]
        cast.undo()
        assert second in open_matches(cast, photo_matches(cast, known))
        cast.redo()
    with Corrections(folder) as cast:
        assert open_matches(cast, photo_matches(cast, known)) == [third]
        cast.name(third.character, "somebody else")
        assert open_matches(cast, photo_matches(cast, known)) == []


def test_a_second_character_with_the_name_is_merged(folder, known):
    with Corrections(folder) as cast:
        one = photo_matches(cast, known)[0]
        tracks = cast.tracks.ids[cast.character(one.character).tracks].tolist()
        cast.move(tracks[:1])
        halves = [m for m in photo_matches(cast, known) if m.name == one.name]
        assert len(halves) == 2
        for half in halves:
            accept_match(cast, half)
        assert sorted(cast.tracks.ids[cast.character(one.name).tracks].tolist()) == tracks


def test_files_that_are_no_photos_of_one_face_are_left_out(pictures, networks, tmp_path):
    home = tmp_path / "photos"
    (home / "Anna" / "deeper").mkdir(parents=True)
    (home / "Nobody").mkdir()
    one, other = (cv2.imread(str(path)) for path in pictures[:2])
    cv2.imwrite(str(home / "Anna" / "good.webp"), one)
    cv2.imwrite(str(home / "Anna" / "two.png"), np.hstack([one, other]))
    cv2.imwrite(str(home / "Anna" / "none.png"), np.full((300, 300, 3), 127, np.uint8))
    (home / "Anna" / "damaged.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (home / "Anna" / "notes.txt").write_text("x")
    (home / ".hidden").write_text("x")
    cv2.imwrite(str(home / "\u200b.png"), one)  # no visible letter
    found, left = describe_photos(home, *networks)
    assert [(p.name, p.n_photos) for p in found.people] == [("Anna", 1)]
    why = {said.path.name: said.why for said in left}
    assert why.keys() == {
        "two.png", "none.png", "damaged.jpg", "notes.txt", "deeper", "Nobody", "\u200b.png"
    }  # fmt: skip
    assert why["two.png"].startswith("2 faces")
    assert why["none.png"] == "no face was found"
    assert "cannot be read" in why["damaged.jpg"]
    with pytest.raises(InputError, match="no such folder"):
        photo_files(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no photos"):
        photo_files(tmp_path / "empty")


def test_one_person_may_have_a_folder_and_a_file(tmp_path):
    (tmp_path / "Anna").mkdir()
    for name in ("Anna/1.jpg", "Anna/2.PNG", "Anna.jpeg", "Ben.webp"):
        (tmp_path / name).touch()
    found, left = photo_files(tmp_path)
    assert {name: len(paths) for name, paths in found.items()} == {"Anna": 3, "Ben": 1}
    assert left == []


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u3000", "\u3164", "\u2800", "\u200b"])
def test_a_folder_with_a_blank_name_is_nobody(tmp_path, blank):
    for person in (blank, "Ben"):
        (tmp_path / person).mkdir()
        (tmp_path / person / "1.jpg").touch()
    found, left = photo_files(tmp_path)
    assert list(found) == ["Ben"]
    assert [(said.path.parent.name, "a visible character" in said.why) for said in left] == [
        (blank, True)
    ]
    shutil.rmtree(tmp_path / "Ben")
    with pytest.raises(InputError, match=r"no photos as .* \(.*a visible character"):
        photo_files(tmp_path)


def some_photos(dim=128, describer="SFace"):
    feature = np.zeros(dim, np.float32)
    feature[0] = 1
    return Photos(describer, (PhotoPerson("Anna", feature, b"jpeg", 2),))


def test_photos_are_kept_and_removed(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video(dim=128))
    assert load_photos(folder) is None
    save_photos(folder, some_photos())
    found = load_photos(folder)
    assert (found.describer, found.people[0].name) == ("SFace", "Anna")
    assert (found.people[0].picture, found.people[0].n_photos) == (b"jpeg", 2)
    np.testing.assert_array_equal(found.people[0].feature, some_photos().people[0].feature)
    with pytest.raises(InputError, match="would overwrite"):
        check_file(folder / PHOTOS, ".json")
    remove_photos(folder)
    assert load_photos(folder) is None


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", '{"format": 2, "describer": "", "people": []}',
        '{"format":1,"describer":"x","people":[{"name":"a","feature":[NaN],"picture":"","photos":1}]}',
        '{"format":1,"describer":"x","people":[{"name":"a","feature":[1],"picture":"%","photos":1}]}',
        '{"format":1,"describer":"x","people":[{"name":"a\\u0007","feature":[1],"picture":"","photos":1}]}',
        '{"format":1,"describer":"","people":[{"name":" ","feature":[1],"picture":"","photos":1}]}',
    ],
)  # fmt: skip
def test_damaged_photos_are_one_message(tmp_path, text):
    (tmp_path / PHOTOS).write_text(text)
    with pytest.raises(InputError, match=r"photos\.json: damaged; remove it"):
        load_photos(tmp_path)


def test_photos_of_another_describer_or_length_are_refused(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video(dim=128))
    with Corrections(folder) as cast:
        with pytest.raises(InputError, match="described by EdgeFace, and"):
            photo_matches(cast, some_photos(describer="EdgeFace"))
        with pytest.raises(InputError, match="takes 128-d features, not 64-d"):
            photo_matches(cast, some_photos(64))
        assert photo_matches(cast, Photos("SFace", ())) == []


def test_a_model_without_neighbours_takes_its_threshold():
    model = shipped_model("SFace-TV")
    assert model.reach < likely_from(model) == model.strangers[7]
    model.false_rate = 0.0
    assert likely_from(model) == model.reach
    model.rounds = 0
    assert likely_from(model) == 1 - model.threshold / 2


def test_how_alike_a_photo_is_does_not_depend_on_other_photos():
    model, rng = shipped_model("SFace-TV"), np.random.default_rng(0)
    tracks = rng.normal(size=(6, 128)).astype(np.float32)
    photos = np.concatenate([tracks[[0, 5]], rng.normal(size=(3, 128))]).astype(np.float32)
    numbers, alike = likeness(model, photos, tracks, np.array([7, 7, 3, 3, -1, 9]))
    assert (numbers.tolist(), alike.shape) == ([3, 7, 9], (5, 3))
    assert alike[1, 2] == pytest.approx(1, abs=1e-5)  # the photo is the only track
    assert alike[0].argmax() == 1  # one of two tracks
    assert (alike <= 1 + 1e-5).all()
    for k in range(5):
        alone = likeness(model, photos[k : k + 1], tracks, np.array([7, 7, 3, 3, -1, 9]))[1]
        np.testing.assert_allclose(alone, alike[k : k + 1], atol=1e-5)
