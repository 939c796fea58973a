from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist.cast.appearances import Appearance, appearances, screen_time

SPANS = np.array([(30, 34), (0, 10), (2, 5), (12, 20), (20.5, 21)])


def test_neighbours_merge():
    assert appearances(SPANS, gap=2.0) == [Appearance(0, 21, 4), Appearance(30, 34, 1)]
    assert appearances(SPANS[[1, 3]], gap=1.9) == [Appearance(0, 10, 1), Appearance(12, 20, 1)]


def test_what_touches_is_one_and_a_hole_is_a_hole():
    spans = np.array([(0, 1), (1, 2), (2.001, 3)])
    assert appearances(spans) == [Appearance(0, 2, 2), Appearance(2.001, 3, 1)]


def test_two_tracks_at_once_are_on_screen_once():
    assert screen_time(np.array([(0.0, 8.0), (4.7, 12.7)])) == 12.7
    assert screen_time(SPANS) == pytest.approx(22.5)


def test_a_track_without_times_is_left_out():
    assert appearances(np.array([(np.nan, np.nan), (1, 2)])) == [Appearance(1, 2, 1)]
    assert appearances(np.empty((0, 2))) == []
    assert screen_time(np.empty((0, 2))) == 0


milliseconds = st.integers(0, 3000)


@given(st.lists(st.tuples(milliseconds, milliseconds).map(sorted), max_size=12))
def test_screen_time_is_the_number_of_milliseconds_with_a_track(spans):
    raster = np.zeros(3000, bool)
    for start, end in spans:
        raster[start:end] = True
    found = np.array(spans, float).reshape(-1, 2) / 1000
    assert 1000 * screen_time(found) == pytest.approx(raster.sum(), abs=1e-6)
    merged = appearances(found)
    assert sum(one.n_tracks for one in merged) == len(spans)
    assert all(a.end < b.start for a, b in pairwise(merged))
