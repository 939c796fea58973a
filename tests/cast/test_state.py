from __future__ import annotations

import numpy as np

from castlist.cast.events import BackgroundMark, Edit, Named, NotNamed, Pinned
from castlist.cast.state import Change, State, changes


def find(numbers):
    """Anchor 10·k is of track k, 60 of track 0, 99 of tracks 2 and 3, and others of none."""
    places = {10 * k: [k] for k in range(1, 6)} | {60: [0], 99: [2, 3]}
    return np.array([row for n in numbers for row in places.get(n, [])], np.int64)


def said(*edits):
    """Return six tracks of two characters after some edits."""
    state = State.of(np.array([1, 1, 1, 2, 2, 2]))
    for edit in edits:
        state.apply(edit, find)
    return state


def rows(groups):
    return [[rows.tolist() for rows in group] for group in groups]


def test_the_last_word_about_a_track_holds_and_others_are_as_clustered():
    state = said(
        Edit(pins=(Pinned(id=7, tracks=(60, 10)), Pinned(id=2, tracks=(10,)))),
        Edit(pins=(Pinned(id=1, tracks=(50,)),), not_face=(30, 20)),
    )
    assert state.owner.tolist() == [7, 2, 1, 2, 2, 1]
    assert state.labels.tolist() == [7, 2, -1, -1, 2, 1]
    assert [state.members(n).tolist() for n in (1, 2, 7, 3)] == [[5], [1, 4], [0], []]
    assert state.corrected_ids() == {1, 2, 7}


def test_a_mark_holds_until_the_opposite_is_said():
    state = said(Edit(not_face=(60, 10)), Edit(face=(10, 20)), Edit(checked=(30,)))
    assert state.not_face.tolist() == [True, False, False, False, False, False]
    assert state.checked.tolist() == [False, False, False, True, False, False]


def test_ids_with_a_name_or_mark_are_corrected_and_those_without_are_not():
    state = said(
        Edit(names=(Named(id=1, name="Anna"), Named(id=2, name="Bo")),
             background=(BackgroundMark(id=4, background=False),)),
        Edit(names=(Named(id=2, name=""),)),
    )  # fmt: skip
    assert state.names == {1: "Anna", 2: ""}
    assert state.corrected_ids() == {1, 4}


def test_what_is_said_of_tracks_that_are_gone_has_no_effect():
    state = said(
        Edit(
            pins=(Pinned(id=7, tracks=(77,)),), not_face=(77,), checked=(77,),
            different=(((60, 10), (77,)), ((60, 77), (30,))), same=(((77,), (60,)), ((10,), (20,))),
            mixed=((77,), (40, 77)), waived=((60, 77), (30, 60)),
            not_named=(NotNamed(id=1, name="Anna", tracks=(60, 77)),),
        )
    )  # fmt: skip
    assert state.owner.tolist() == [1, 1, 1, 2, 2, 2]
    assert not state.not_face.any()
    assert not state.checked.any()
    assert rows(state.different) == [[[0], [3]]]
    assert rows(state.same) == [[[1], [2]]]
    assert [part.tolist() for part in state.mixed] == [[4]]
    assert [(name, part.tolist()) for name, part in state.not_named] == [("Anna", [0])]
    assert state.waived == {(0, 3)}


def test_all_pairs_of_a_track_that_became_two_are_waived():
    assert said(Edit(waived=((99, 60), (99, 99)))).waived == {(0, 2), (0, 3), (2, 3)}


def test_different_groups_are_kept_apart_as_far_as_they_are_two_characters():
    state = said(Edit(different=(((60, 10), (20, 30, 40)),)))
    assert rows(state.different_pairs()) == [[[0, 1], [3, 4]]]  # one person by clustering: 0, 1, 2
    state.apply(Edit(pins=(Pinned(id=5, tracks=(60, 20)),), not_face=(30,)), find)
    assert rows(state.different_pairs()) == [[[1], [4]], [[1], [2]], [[0], [4]]]


def test_changes_are_by_character_and_the_largest_is_first():
    moved = changes(np.array([1, 1, 2, 2, 2, -1]), np.array([3, 1, 1, 1, -1, 2]))
    found = [(one.before, one.after, one.tracks.tolist()) for one in moved]
    assert found[0] == (2, 1, [2, 3])
    assert sorted(found[1:]) == [(-1, 2, [5]), (1, 3, [0]), (2, -1, [4])]
    assert isinstance(moved[0], Change)
    assert changes(np.arange(3), np.arange(3)) == ()
