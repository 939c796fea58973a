from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlist import InputError
from castlist.handover.intervals import difference, intersection, padded, union
from castlist.handover.scenes import Mode, SceneSettings, combined, find_scenes
from tests.export.casts import made_cast, two_videos

#: Intervals with ends on a grid of whole numbers, in any order, overlapping or not.
RAW = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=8).map(
    lambda pairs: np.array([(a, a + n) for a, n in pairs], float).reshape(-1, 2)
)
CELLS = np.arange(0, 60) + 0.5  # one point in each cell of the grid


def cells(intervals):
    """Return which cells of the grid are covered, by brute force."""
    return np.array([any(a < t < b for a, b in intervals) for t in CELLS])


@given(RAW, RAW)
def test_operations_equal_brute_force(one, other):
    a, b = union(one), union(other)
    assert (cells(a) == cells(one)).all()
    assert (cells(intersection(a, b)) == (cells(a) & cells(b))).all()
    assert (cells(difference(a, b)) == (cells(a) & ~cells(b))).all()
    for result in (a, intersection(a, b)):
        assert (result[1:, 0] > result[:-1, 1]).all()  # disjoint and sorted


@given(st.lists(RAW, min_size=1, max_size=4))
def test_combining_equals_brute_force(sets):
    sets = [union(one) for one in sets]
    covered = np.array([cells(one) for one in sets])
    assert (cells(combined(sets, Mode.TOGETHER)) == covered.all(axis=0)).all()
    assert (cells(combined(sets, Mode.ANY)) == covered.any(axis=0)).all()


def test_padding_stays_inside_the_video():
    np.testing.assert_allclose(padded(np.array([[0.5, 1], [2, 3.0]]), 1, 3.5), [[0, 3.5]])


SPAN = st.tuples(st.integers(0, 30), st.integers(1, 8), st.integers(0, 2))


@settings(max_examples=25, deadline=None)
@given(spans=st.lists(SPAN, min_size=1, max_size=8))
def test_scenes_of_random_casts_equal_brute_force(tmp_path_factory, spans):
    # Tracks that begin and end on whole seconds: the last look is 0.2 s before the end.
    made = [(float(start), start + n - 0.2, who) for start, n, who in spans]
    cast = made_cast(tmp_path_factory.mktemp("cast"), spans=made)
    who_of = {track: spans[int(track) - 1][2] for track in cast.cast.tracks.ids}
    numbers = {}
    for one in cast.cast.characters:
        numbers[who_of[cast.cast.tracks.ids[one.tracks[0]]]] = one.number
    seen = {
        who: cells([(start, start + n) for start, n, other in spans if other == who])
        for who in numbers
    }
    people = sorted(numbers)
    expected = {
        ("together", ()): np.all([seen[who] for who in people], axis=0),
        ("any", ()): np.any([seen[who] for who in people], axis=0),
    }
    for (mode, _), want in expected.items():
        scenes = find_scenes(cast, [numbers[who] for who in people], mode)
        assert (cells([(one.start, one.end) for one in scenes]) == want).all()
    if len(people) > 1:
        scenes = find_scenes(cast, [numbers[people[0]]], without=[numbers[people[1]]])
        want = seen[people[0]] & ~seen[people[1]]
        assert (cells([(one.start, one.end) for one in scenes]) == want).all()
    cast.close()


def test_people_shown_in_turn_are_together_with_a_gap(tmp_path):
    cast = made_cast(tmp_path, spans=[(0, 2.8, 0), (3, 5.8, 1), (6, 8.8, 0), (9, 11.8, 1)])
    first, second = (one.number for one in cast.cast.characters)
    assert find_scenes(cast, [first, second]) == []
    (scene,) = find_scenes(cast, [first, second], settings=SceneSettings(gap=3.5))
    assert (scene.start, scene.end) == pytest.approx((3, 9))
    assert len(scene.people) == 2


def test_scenes_of_several_videos(tmp_path):
    cast = two_videos(tmp_path)
    names = [one.number for one in cast.cast.characters]
    assert {one.video for one in find_scenes(cast, names, "any")} == {"a.mp4", "b.mp4"}


def test_settings_and_words_are_checked(tmp_path):
    cast = made_cast(tmp_path)
    number = cast.cast.characters[0].number
    with pytest.raises(InputError, match="at least one person"):
        find_scenes(cast, [])
    with pytest.raises(InputError, match="unknown mode 'none'"):
        find_scenes(cast, [number], "none")
    with pytest.raises(InputError, match="both wanted and not wanted"):
        find_scenes(cast, [number], without=[number])
    with pytest.raises(InputError, match="gap must be a number of seconds"):
        SceneSettings(gap=-1)
    with pytest.raises(InputError):
        find_scenes(cast, ["nobody of this name"])
