"""Matching, worked by hand."""

from __future__ import annotations

from itertools import chain

import numpy as np

from castlist.research.score.faces import (
    match_faces,
    seen_faces,
    truth_of_tracks,
)

BOX = [0.0, 0.0, 10.0, 10.0]


def matches(found, truth):
    """Match (time, box) pairs."""
    columns = [np.array([one[k] for one in part], float) for part in (found, truth) for k in (0, 1)]
    return match_faces(*columns).tolist()


def shown(tracks, who):
    """Ask who tracks show, each given as the truth rows of its faces."""
    offsets = np.cumsum([0, *map(len, tracks)])
    return truth_of_tracks(offsets, np.array([*chain(*tracks)], int), np.array(who, str))


def test_a_face_is_matched_within_its_time_only():
    truth = [(1.0, BOX)]
    assert matches([(1.0, BOX), (1.14, BOX), (0.86, BOX), (1.16, BOX), (0.8, BOX)], truth) == [
        0, 0, 0, -1, -1,
    ]  # fmt: skip


def test_a_face_needs_an_overlap_of_three_tenths():
    # 10 wide, moved by 5: 1/3. At 0.15 s that is 1/3 - 0.03, still 0.303. Moved by 5.4: 0.2987.
    moved = [5.0, 0, 10, 10]
    assert matches([(1.0, moved), (1.14, moved), (1.0, [5.4, 0, 10, 10])], [(1.0, BOX)]) == [
        0, 0, -1,
    ]  # fmt: skip


def test_the_largest_overlap_wins_and_time_costs():
    truth = [(1.0, [3.0, 0, 10, 10]), (1.0, BOX), (1.1, BOX)]
    assert matches([(1.0, BOX), (1.1, BOX), (1.0, [2.9, 0, 10, 10])], truth) == [1, 2, 0]


def test_of_equals_the_last_is_taken():
    assert matches([(1.0, BOX)], [(1.0, BOX), (1.0, BOX)]) == [1]
    # As far before as after: the later one, wherever its row stands.
    assert matches([(1.0, BOX)], [(1.125, BOX), (0.875, BOX)]) == [0]


def test_several_faces_may_be_one_of_the_truth():
    assert matches([(1.0, BOX), (1.0, [1.0, 0, 10, 10])], [(1.0, BOX)]) == [0, 0]
    assert seen_faces(np.array([0, 0, -1, 2]), 4).tolist() == [True, False, True, False]


def test_nothing_matches_nothing():
    assert matches([(1.0, BOX)], [(9.0, BOX)]) == [-1]
    empty = np.empty(0), np.empty((0, 4))
    one = np.array([1.0]), np.array([BOX])
    assert match_faces(*empty, *one).tolist() == []
    assert match_faces(*one, *empty).tolist() == [-1]
    assert match_faces(np.array([np.nan, 1.0]), np.array([BOX, [np.nan] * 4]), *one).tolist() == [
        -1, -1,
    ]  # fmt: skip


def test_a_track_shows_who_most_of_its_faces_show():
    who = ["anna", "ben", "notface", "unsure"]
    found = shown([[0, 0, 1], [1], [1, 0], [-1, -1, -1, 0]], who)
    # The third is a tie: who is seen first. Faces without truth do not count.
    assert found.who.tolist() == ["anna", "ben", "ben", "anna"]
    assert found.mixed.tolist() == [True, False, True, False]
    assert found.scored.all()
    assert not found.false.any()


def test_a_fifth_of_somebody_else_is_not_yet_mixed():
    found = shown([[0, 0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0, 1, -1, 2]], ["a", "b", "notface"])
    assert found.mixed.tolist() == [False, True, False]


def test_a_track_that_shows_nobody_is_false_or_unsure():
    who = ["anna", "notface", "unsure"]
    found = shown([[-1, -1], [1, 1, -1], [2, 2, 1], [2, -1], [-1, 2], [1, 0]], who)
    assert found.who.tolist() == ["", "", "", "", "", "anna"]
    assert found.unmatched.tolist() == [True, False, False, False, True, False]
    assert found.notface.tolist() == [False, True, False, False, False, False]
    assert found.false.tolist() == [True, True, False, False, True, False]


def test_no_tracks_and_no_truth():
    found = shown([], ["anna"])
    assert (len(found.who), len(found.mixed), len(found.false)) == (0, 0, 0)
    assert shown([[-1]], []).unmatched.tolist() == [True]
