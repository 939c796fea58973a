from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from castlist import TrackSet
from castlist.cast.links import not_waived, overlap_summary, pairs_between

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
