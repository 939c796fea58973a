"""A correction covers its tracks, the last one wins, and clustering moves the other tracks.

Ordinary use that once went wrong, step by step; and random use, beside a dictionary.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.links import OverlappingTracksError
from castlist.cast.recluster import accept, propose
from datasets.synthetic_casts import made_video, write_folder
from tests.cast.test_corrections import people, shape, tracks_of


@pytest.fixture
def cast(tmp_path):
    """Four people, five tracks each; odd tracks share frames with the one before them."""
    with Corrections(write_folder(tmp_path / "film.cast", made_video())) as cast:
        yield cast


def again(cast):
    accept(cast, propose(cast))


def test_a_later_name_lands_on_nobody_else(tmp_path):
    cast = Corrections(write_folder(tmp_path / "film.cast", made_video(people=3, pairs=False)))
    cast.name(1, "Anna")
    again(cast)
    cast.name(3, "Bea")
    assert {one.number: one.name for one in cast.cast.characters} == {1: "Anna", 2: "", 3: "Bea"}
    assert people(cast) == {1: {"p0"}, 2: {"p1"}, 3: {"p2"}}


@pytest.mark.parametrize("named", [False, True])
def test_a_stray_that_went_two_ways_takes_nobody_along(tmp_path, named):
    """Merged into Anna by mistake, moved to Bea, clustered again."""
    tracks = made_video(people=3, each=6, pairs=False)
    labels = np.unique(tracks.identity, return_inverse=True)[1]
    stray = int(np.flatnonzero(labels == 1)[-1])  # of Bea
    labels[stray] = 9
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, labels))
    anna, bea, alone = (int(cast.state.owner[row]) for row in (0, 1, stray))
    cast.name(anna, "Anna")
    if named:
        cast.name(bea, "Bea")
    cast.merge([anna, alone])
    cast.move([str(tracks.ids[stray])], to=bea)
    theirs = set(tracks_of(cast, bea))
    for _ in range(3):
        again(cast)
        assert cast.character("Anna").number == anna
        assert people(cast)[anna] == {"p0"}
        assert str(tracks.ids[stray]) in tracks_of(cast, bea)
        assert theirs == set(tracks_of(cast, bea))
        assert len(people(cast)) == 3
        assert cast.character(bea).name == ("Bea" if named else "")


def test_a_stray_that_was_named_along_brings_nobody(tmp_path):
    """Anna is named while one track of Bob is with her: his others stay who they are."""
    tracks = made_video(people=3, each=6, pairs=False)
    labels = np.unique(tracks.identity, return_inverse=True)[1]
    stray = int(np.flatnonzero(labels == 1)[-1])
    labels[stray] = 0
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, labels))
    anna, bob = (int(cast.state.owner[row]) for row in (0, 1))
    cast.name(anna, "Anna")
    before = shape(cast)
    again(cast)
    assert shape(cast) == before
    assert len(tracks_of(cast, bob)) == 5


def test_a_stray_that_was_moved_brings_nobody(tmp_path):
    """A track of Cy is moved to Bea, whom nobody has named: his others stay who they are."""
    tracks = made_video(people=3, each=6, pairs=False)
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks))
    cast.move(["0002"], to=2)
    before = shape(cast)
    again(cast)
    assert shape(cast) == before


def test_only_those_called_the_same_come_from_a_character_that_is_two(cast):
    """In answer(one, same=[x], different=[y]), x and y may be in one other character."""
    cast.merge([2, 4])  # two people in one
    x, y = tracks_of(cast, 2)[:1], tracks_of(cast, 2)[-1:]
    rest = set(tracks_of(cast, 2)) - set(x)
    one = ["0002"]
    cast.answer(one, same=[x], different=[y], waive=True)
    assert set(x) <= set(tracks_of(cast, 3))
    assert set(tracks_of(cast, 2)) == rest
    # Where the whole of it is the same person, all of it comes.
    cast.undo()
    cast.answer(one, same=[x], waive=True)
    assert rest | set(x) <= set(tracks_of(cast, 3))


def test_different_holds_until_a_later_correction_and_again_after_undo(tmp_path):
    """Two pieces of one person, who would be clustered together if nobody had spoken."""
    tracks = made_video(people=1, each=8, pairs=False)
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, [0, 0, 0, 0, 1, 1, 1, 1]))
    a, b = tracks_of(cast, 1), tracks_of(cast, 2)
    cast.answer(a[:2], different=[b[:2]])
    again(cast)

    def together():
        owner = cast.state.owner
        return [(i, j) for i in cast.rows(a[:2]) for j in cast.rows(b[:2]) if owner[i] == owner[j]]

    assert not together()
    cast.merge([int(cast.state.owner[cast.rows(a[:1])[0]]), int(cast.state.owner[-1])])
    assert together()
    again(cast)
    assert together()
    cast.undo()
    cast.undo()
    again(cast)
    assert not together()


def test_pinned_tracks_stay_though_clustering_would_move_them(tmp_path):
    """Two people in a named character: it is never changed, and there is a question about it."""
    from castlist.cast.questions import questions

    tracks = made_video(people=2, each=8, pairs=False, noise=0.05)
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks, np.zeros(16, int)))
    cast.name(1, "Anna")
    again(cast)
    assert len(cast.character("Anna").tracks) == 16
    asked = questions(cast.points, cast.facts, cast.state)
    assert any(pair.other.character == 1 for question in asked for pair in question.pairs)


def test_no_id_is_given_twice(cast):
    given = set(np.unique(cast.state.owner).tolist())
    for track in ("0000", "0004", "0008"):
        cast.move([track])
        now = int(cast.state.owner[cast.rows([track])[0]])
        assert now not in given
        given.add(now)
        cast.undo()
    cast.move(["0000"])
    again(cast)
    write_folder(cast.folder, made_video(people=6, each=4, prefix="new"))
    cast.refresh()
    new = set(np.unique(cast.state.owner).tolist()) - given
    cast.move(["new0001"])
    assert int(cast.state.owner[cast.rows(["new0001"])[0]]) > max(new | given)


def test_a_mixed_track_is_cut_and_made_whole_again(cast):
    before = shape(cast)
    row = cast.rows(["0004"])[0]
    begin, end = cast.tracks.spans[row]
    cast.cut("0004", (begin + end) / 2)
    assert not cast.has_track("0004")
    assert "0004a" in tracks_of(cast, 1)
    assert tracks_of(cast, 5) == ["0004b"]
    spans = cast.tracks.spans[cast.rows(["0004a", "0004b"])]
    assert spans[0, 0] == begin
    assert spans[1, 1] == end
    assert spans[0, 1] <= (begin + end) / 2 <= spans[1, 0]
    cast.cut("0004b", (begin + 3 * end) / 4, keep="after")
    assert tracks_of(cast, 5) == ["0004bb"]
    again(cast)
    assert "0004a" in tracks_of(cast, 1)
    assert "0004bb" in tracks_of(cast, 5)
    assert "0004ba" in tracks_of(cast, 6)
    cast.move(["0004ba"], to=3)
    fresh = Corrections(cast.folder)
    assert shape(fresh) == shape(cast)
    for _ in range(4):
        cast.undo()
    assert shape(cast) == before
    with pytest.raises(InputError, match="faces from .* give a time in between"):
        cast.cut("0004", begin)
    with pytest.raises(InputError, match="before” or “after"):
        cast.cut("0004", (begin + end) / 2, keep="both")


def test_corrections_of_a_track_hold_for_its_parts(cast):
    cast.name(1, "Anna")
    begin, end = cast.tracks.spans[cast.rows(["0004"])[0]]
    cast.cut("0004", (begin + end) / 2)
    assert "0004a" in tracks_of(cast, "Anna")
    cast.not_face(["0004b"])
    cast.undo()
    cast.undo()
    cast.cut("0004", begin + 0.3)  # elsewhere: a part of the same name, and not the same one
    write_folder(cast.folder, made_video(rate=10, prefix="new"), rate=10)
    cast.refresh()
    assert "new0004a" in tracks_of(cast, "Anna")
    assert cast.tracks.spans[cast.rows(["new0004a"])[0], 1] == pytest.approx(begin + 0.3)
    assert not cast.lost


def pinned_to(cast, number):
    return sorted(cast.tracks.ids[cast.state.pin == number].tolist())


def test_a_move_pins_all_listed_tracks(cast):
    """0002 and 0006 are of p2 already, which is character 3; 0010 is too, and is not listed."""
    assert {"0002", "0006", "0010"} <= set(tracks_of(cast, 3))
    cast.move(["0000", "0002", "0006"], to=3)
    assert pinned_to(cast, 3) == ["0000", "0002", "0006"]
    assert (cast.state.pin > 0).sum() == 3


def test_an_answer_pins_the_tracks_it_lists(cast):
    """0001 is not with the others of p1, but with 0003, of p3, whose 0007 is not listed."""
    cast.answer(["0005"], different=[["0001"]], instead=[["0003"]], waive=True)
    assert pinned_to(cast, 4) == ["0001", "0003"]
    assert (cast.state.pin > 0).sum() == 2
    assert {"0001", "0003", "0007"} <= set(tracks_of(cast, 4))


def test_two_groups_of_an_answer_share_a_frame_with_what_they_come_to(cast):
    """Of the tracks of p2, 0006 shares frames with 0007, and 0010 with 0011; p3 has both."""
    with pytest.raises(OverlappingTracksError) as caught:
        cast.answer(["0002"], different=[["0006"], ["0010"]], instead=[["0003"], ["0015"]])
    assert sorted(caught.value.pairs) == [("0006", "0007"), ("0010", "0011")]
    cast.answer(["0002"], different=[["0006"], ["0010"]], instead=[["0003"], ["0015"]], waive=True)
    assert pinned_to(cast, 4) == ["0003", "0006", "0010", "0015"]


def test_two_groups_that_share_a_frame_are_not_put_into_one_character(cast):
    """0004 and 0005 share a frame; both are called tracks of p2, each by its own group."""
    with pytest.raises(OverlappingTracksError) as caught:
        cast.answer(["0000"], different=[["0004"], ["0005"]], instead=[["0002"], ["0006"]])
    assert caught.value.pairs == [("0004", "0005")]
    assert cast.last == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_word_pins_exactly_the_tracks_it_lists(tmp_path, seed):
    """Moves to a character, and *not this but that*: nothing else is pinned, and nothing less."""
    rng = random.Random(seed)
    tracks = made_video(people=5, each=5, noise=0.4, pairs=False, seed=seed)
    with Corrections(write_folder(tmp_path / "film.cast", tracks)) as cast:
        pins: dict[str, int] = {}
        for _ in range(25):
            own = {one.number: tracks_of(cast, one.number) for one in cast.cast.characters}
            if len(own) < 2:
                break
            me, other = rng.sample(sorted(own), 2)
            ids = [t for of in own.values() for t in of]
            if rng.random() < 0.5:
                listed = sorted({rng.choice(own[me]), *rng.sample(ids, 4)})
                cast.move(listed, other)
            elif len(own[me]) > 1:
                one, wrong = rng.sample(own[me], 2)
                target = rng.sample(own[other], rng.randint(1, len(own[other])))
                cast.answer([one], different=[[wrong]], instead=[target])
                listed = [wrong, *target]
            else:
                continue
            pins |= dict.fromkeys(listed, other)
            now = dict(zip(cast.tracks.ids.tolist(), cast.state.pin.tolist(), strict=True))
            assert {track: pin for track, pin in now.items() if pin} == pins


# Random use


def told(cast):
    """Return who each track is, by its id."""
    return {str(track): int(n) for track, n in zip(cast.tracks.ids, cast.state.owner, strict=True)}


@pytest.mark.parametrize("seed", range(6))
def test_random_use_beside_a_dictionary(tmp_path, seed):
    """The model: the last word about a track, names by id. It knows nothing of clustering."""
    rng = random.Random(seed)
    tracks = made_video(people=5, each=5, noise=0.4, seed=seed)
    cast = Corrections(write_folder(tmp_path / "film.cast", tracks))
    said: dict[str, int] = {}
    names: dict[int, str] = {}
    past = []
    reclustered = 0
    for step in range(40):
        numbers = [one.number for one in cast.cast.characters]
        one, other = rng.sample(numbers, 2)
        before = dict(said), dict(names), shape(cast)
        verb = rng.choice(["name", "merge", "move", "split", "again", "undo", "background"])
        try:
            if verb == "name":
                cast.name(one, f"n{step}")
                said |= dict.fromkeys(tracks_of(cast, one), one)
                names[one] = f"n{step}"
            elif verb == "background":
                cast.background([one], rng.random() < 0.5)
                said |= dict.fromkeys(tracks_of(cast, one), one)
            elif verb == "merge":
                name = f"m{step}" if {one, other} <= names.keys() else None
                both = [*tracks_of(cast, one), *tracks_of(cast, other)]
                cast.merge([one, other], name=name)
                said |= dict.fromkeys(both, one)
                if name or one in names or other in names:
                    names[one] = name or names.get(one) or names[other]
            elif verb in ("move", "split"):
                some = tracks_of(cast, one)
                chosen = rng.sample(some, rng.randint(1, len(some)))
                cast.move(chosen, other if verb == "move" else None)
                to = other if verb == "move" else max(told(cast)[t] for t in chosen)
                said |= dict.fromkeys(chosen, to)
            elif verb == "again":
                again(cast)
                reclustered += 1
            elif past:
                cast.undo()
                said, names, wanted = past.pop()
                assert shape(cast) == wanted
                continue
            else:
                continue
            past.append(before)
        except (OverlappingTracksError, InputError):
            assert shape(cast) == before[2]
            continue
        owner = told(cast)
        assert {track: owner[track] for track in said} == said
        shown = {n: name for n, name in names.items() if n in owner.values()}
        assert {c.number: c.name for c in cast.cast.characters if c.name} == shown
    assert reclustered
    assert shape(Corrections(cast.folder)) == shape(cast)
    while cast.undoable:
        cast.undo()
    assert told(cast) == told(Corrections(write_folder(tmp_path / "other.cast", tracks)))
