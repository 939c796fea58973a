from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from castlist import TrackSet
from castlist.cast.links import (
    Links,
    not_waived,
    overlap_error,
    overlap_summary,
    pairs_between,
)
from castlist.cast.state import State

NO_PAIRS = np.empty((0, 2), np.int64)
PAIR = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda p: p[0] < p[1])


@given(st.sets(PAIR), st.sets(PAIR))
def test_only_waived_pairs_are_left_out(pairs, waived):
    rows = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    assert [(i, j) for i, j in not_waived(rows, waived).tolist()] == sorted(pairs - waived)


def test_pairs_are_between_groups_and_listed_once():
    overlaps = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [4, 5]])
    groups = [np.array([0, 1]), np.array([2, 3])]
    assert pairs_between(groups, overlaps, {(1, 3)}) == [(0, 2)]
    assert pairs_between([np.array([7])], overlaps, set()) == []
    assert pairs_between([np.array([0]), np.array([3])], overlaps, set()) == []  # beside others


def test_a_summary_has_the_count_and_the_first_pairs_with_times():
    tracks = TrackSet.from_faces(
        ["a", "a", "b", "b"], feature=np.zeros((4, 1)), frame=[1, 2, 2, 3], time=[0.1, 0.2, 0.2, 9]
    )
    pairs = tracks.overlaps()
    assert overlap_summary(tracks, pairs) == {
        "count": 1,
        "pairs": [{"tracks": ["a", "b"], "time": 0.2}],
    }
    many = overlap_summary(tracks, np.repeat(pairs, 1000, axis=0))
    assert (many["count"], len(many["pairs"])) == (1000, 100)
    assert overlap_summary(tracks, pairs[:0]) == {"count": 0, "pairs": []}


def linked(pins, balls, before=None):
    """Return links around pins; ``balls`` are those that each track falls into."""
    pins, balls = np.array(pins), np.array(balls)
    state = State.of(pins if before is None else np.array(before))
    state.pin[:] = pins
    return Links.around(state, NO_PAIRS, state.owner, lambda rows: balls[rows])


def test_every_large_ball_of_a_character_attracts_and_an_outlier_does_not():
    """Anna with and without her glasses, 4 tracks and 2 of them, and one that is somewhere else."""
    anna = linked([1] * 7, [5, 5, 5, 5, 8, 8, 9])
    assert anna.rows.tolist() == [0, 1, 2, 3, 4, 5]
    groups = [{0, 1, 2, 3}, {4, 5}]
    assert all(any({i, j} <= group for group in groups) for i, j in anna.must.tolist())
    assert set(anna.must.ravel().tolist()) == {0, 1, 2, 3, 4, 5}
    assert len(anna.cannot) == 0  # both looks are Anna


def test_a_ball_is_large_by_all_tracks_of_the_character_and_links_pinned_ones_only():
    """Three tracks of hers are said by a person, and four are as clustered."""
    anna = linked([1, 0, 0, 1, 0, 0, 1], [5, 5, 5, 5, 8, 8, 9], before=[1] * 7)
    assert anna.rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert anna.must.tolist() == [[0, 3]]


def test_each_look_is_kept_apart_from_those_of_another():
    both = linked([1, 1, 1, 1, 2, 2], [5, 5, 8, 8, 6, 6])
    apart = {frozenset((i < 4, i // 2) for i in pair) for pair in both.cannot.tolist()}
    assert apart == {frozenset({(True, 0), (False, 2)}), frozenset({(True, 1), (False, 2)})}


def test_the_earliest_frame_that_tracks_share_is_told():
    tracks = TrackSet.from_faces(
        ["a", "b", "c", "c", "d", "d"], feature=np.zeros((6, 1)), frame=[90, 90, 50, 60, 50, 60],
        time=[9.0, 9.0, 5.0, 6.0, 5.0, 6.0],
    )  # fmt: skip
    both = overlap_error(tracks, [(0, 1), (2, 3)])
    assert (both.seconds, both.pairs) == (5.0, [("c", "d"), ("a", "b")])
    assert str(both).startswith("2 pairs of these tracks share a frame, the first at 5.0 s")
    assert str(overlap_error(tracks, [(0, 1)])).startswith(
        "1 pair of these tracks shares a frame, at 9.0 s"
    )


def test_how_large_the_balls_of_others_are_means_nothing():
    both = linked([1] * 2 + [2] * 6, [5] * 2 + [6] * 6)
    assert both.rows.tolist() == list(range(8))
    assert {(0, 1), (2, 3)} <= set(map(tuple, both.must.tolist()))


def test_what_is_no_face_makes_no_ball_large_and_takes_no_part():
    pins, balls = np.array([1, 1, 1, 1, 1]), np.array([5, 8, 8, 8, 8])
    state = State.of(pins)
    state.pin[:] = pins
    state.not_face[1:] = True
    links = Links.around(state, np.array([[0, 1]]), state.owner, lambda rows: balls[rows])
    assert links.rows.tolist() == [0]
    assert all(len(pairs) == 0 for pairs in (links.must, links.cannot, links.avoid, links.apart))


def test_two_people_are_kept_apart_by_every_loose_track_and_one_of_each_pinned_group():
    """Tracks 0 to 3 were called different from 4 to 6; of these, 2, 3 and 6 are pinned."""
    state = State.of(np.array([1, 1, 1, 1, 2, 2, 2]))
    state.pin[:] = [0, 0, 1, 1, 0, 0, 2]
    state.different.append((np.arange(4), np.arange(4, 7)))

    def apart():
        return {tuple(sorted(pair)) for pair in Links.of(state, NO_PAIRS).cannot.tolist()}

    assert apart() == {(i, j) for i in (0, 1, 2) for j in (4, 5, 6)}
    state.pin[4:6] = 1  # said later: they are the same person
    assert apart() == {(0, 6), (1, 6), (2, 6)}
