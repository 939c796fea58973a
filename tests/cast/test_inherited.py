"""What was said of a video in its own cast and in a joined one holds in the order it was said."""

from __future__ import annotations

import pytest

from castlist.cast.corrections import Corrections
from castlist.cast.series import add, join, remove
from datasets.synthetic_casts import episode
from tests.cast.test_corrections import tracks_of


@pytest.fixture
def own(tmp_path):
    """The cast of a video; everybody in it is in another video too, but p4."""
    return episode(tmp_path, "e1", 5, pairs=False, seed=1)


@pytest.fixture
def season(own, tmp_path):
    def joined():
        join([own, episode(tmp_path, "e2", 4, pairs=False, seed=2)], tmp_path / "season.cast")
        return tmp_path / "season.cast"

    return joined


def again(season, own):
    """Remove the video and add it again; its tracks have other ids then."""
    with Corrections(season) as cast:
        title = next(film for film in cast.scanned.films if film["name"] == "e1.mp4")
        inside = title["episode"]
    remove(season, inside)
    add(season, own)
    with Corrections(season) as cast:
        return cast.scanned.films[-1]["episode"]


def where(season, track):
    """Return the id that a track is pinned to, and whether it is a face."""
    with Corrections(season) as cast:
        row = cast.rows([track])[0]
        return int(cast.state.pin[row]), not cast.state.not_face[row]


def owner(cast, track):
    return int(cast.state.owner[cast.rows([track])[0]])


def test_a_later_word_of_the_series_is_not_undone_by_an_earlier_one_of_the_video(own, season):
    with Corrections(own) as cast:
        cast.move(["0000"], to=owner(cast, "0001"))
        cast.not_face(["0010"])
        cast.not_face(["0015"])
        cast.not_face(["0015"], False)
    folder = season()
    with Corrections(folder) as cast:
        right = owner(cast, "e1:0002")
        cast.move(["e1:0000"], to=right)
        cast.not_face(["e1:0010"], False)
        cast.not_face(["e1:0015"])
    for _ in range(2):
        name = again(folder, own)
        assert where(folder, f"{name}:0000") == (right, True)
        assert where(folder, f"{name}:0010")[1]
        assert not where(folder, f"{name}:0015")[1]
    # And a word of the video's own cast that is later still holds.
    with Corrections(own) as cast:
        cast.move(["0000"], to=owner(cast, "0003"))
        cast.not_face(["0010"])
        cast.not_face(["0015"])
        cast.not_face(["0015"], False)
    name = again(folder, own)
    with Corrections(folder) as cast:
        assert owner(cast, f"{name}:0000") == owner(cast, f"{name}:0003") != right
    assert where(folder, f"{name}:0000")[0]
    assert not where(folder, f"{name}:0010")[1]
    assert where(folder, f"{name}:0015")[1]


def test_a_name_and_a_mark_are_not_those_of_before(own, season):
    """p4, who is in this video only, and p0, who is in both."""
    with Corrections(own) as cast:
        first, last = owner(cast, "0000"), owner(cast, "0004")
        cast.name(first, "Anna")
        cast.name(last, "Eva")
        cast.background([last])
    folder = season()
    with Corrections(folder) as cast:
        anna, eve = cast.character("Anna").number, cast.character("Eva").number
        cast.name(anna, "")
        cast.name(eve, "Eve")
        cast.background([eve], False)
    name = again(folder, own)
    with Corrections(folder) as cast:
        assert {one.number: one.name for one in cast.cast.characters if one.name} == {eve: "Eve"}
        assert (owner(cast, f"{name}:0000"), owner(cast, f"{name}:0004")) == (anna, eve)
        assert not cast.character("Eve").background
    with Corrections(own) as cast:
        cast.name(owner(cast, "0000"), "Hanna")
    again(folder, own)
    with Corrections(folder) as cast:
        assert cast.character("Hanna").number == anna


def test_a_track_cut_in_the_series_holds_what_was_said_of_each_part_last(own, season):
    with Corrections(own) as cast:
        begin, end = cast.tracks.spans[cast.rows(["0000"])[0]]
        cast.name(owner(cast, "0000"), "Anna")
    folder = season()
    with Corrections(folder) as cast:
        anna = cast.character("Anna").number
        cast.cut("e1:0000", (begin + end) / 2)
        new = owner(cast, "e1:0000b")
        cast.move(["e1:0000a"], to=owner(cast, "e1:0001"))
        other = owner(cast, "e1:0000a")
    name = again(folder, own)
    assert where(folder, f"{name}:0000a") == (other, True)
    assert where(folder, f"{name}:0000b") == (new, True)
    assert where(folder, f"{name}:0005")[0] == anna
    # Cut elsewhere in the video's own cast, and said of one of the parts.
    with Corrections(own) as cast:
        cast.cut("0000", (begin + 3 * end) / 4)
        cast.move(["0000b"], to=owner(cast, "0002"))
    name = again(folder, own)
    with Corrections(folder) as cast:
        parts = [t for t in cast.tracks.ids.tolist() if t.startswith(f"{name}:0000")]
        assert len(parts) == 3
        ends = cast.tracks.spans[cast.rows(parts), 1]
        last = parts[int(ends.argmax())]
        assert owner(cast, last) == owner(cast, f"{name}:0002")


@pytest.mark.parametrize("said", ["of two videos", "of one"])
def test_tracks_that_were_called_different_in_the_series_stay_apart(own, season, said):
    folder = season()
    with Corrections(folder) as cast:
        theirs = tracks_of(cast, owner(cast, "e1:0000"))
        mine = [t for t in theirs if t.startswith("e1:")]
        away = [t for t in theirs if t.startswith("e2:")]
        if said == "of two videos":
            cast.answer(mine, different=[away])
        else:
            cast.answer(mine[:1], different=[mine[1:]])
            away = mine[1:]
    name = again(folder, own)
    with Corrections(folder) as cast:
        one, other = (
            {owner(cast, t.replace("e1:", f"{name}:")) for t in tracks}
            for tracks in (mine[:1], away)
        )
        assert not one & other
        # What was not spoken of goes with the rest of its character.
        assert owner(cast, f"{name}:0001") == owner(cast, f"{name}:0006")


@pytest.mark.parametrize("first", [True, False])
def test_of_two_marks_of_a_person_in_two_videos_the_last_is_joined(tmp_path, first):
    """p0 is in both; the order in which the videos are given does not matter."""
    folders = [episode(tmp_path, f"e{k}", 2, pairs=False, seed=k) for k in (1, 2)]
    for folder, background in ((folders[first], True), (folders[not first], False)):
        with Corrections(folder) as cast:
            cast.background([owner(cast, "0000")], background)
    join(folders, tmp_path / "season.cast")
    with Corrections(tmp_path / "season.cast") as cast:
        number = owner(cast, "e1:0000")
        assert number == owner(cast, "e2:0000")
        assert cast.state.background == {number: False}


def test_a_person_is_kept_apart_from_a_character_with_a_track_of_somebody_else(own, season):
    """p0 of this video looks like p0 of the other, where a track of p1 was put."""
    folder = season()
    with Corrections(folder) as cast:
        number = owner(cast, "e1:0000")
        cast.move(["e1:0001"], to=number)
    with Corrections(own) as cast:
        people = tracks_of(cast, owner(cast, "0000"))
        cast.answer(["0001"], different=[people])
    name = again(folder, own)
    with Corrections(folder) as cast:
        assert owner(cast, f"{name}:0001") == number
        assert owner(cast, "e2:0000") == number
        assert {owner(cast, f"{name}:{track}") for track in people}.isdisjoint({number})
