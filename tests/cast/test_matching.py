from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from castlist.cast.matching import (
    Balls,
    LocalCharacters,
    NameConflict,
    group_across_videos,
    name_conflicts,
    place_in_balls,
)

TAU = 0.8


def at(distance: float) -> np.ndarray:
    """Return two unit vectors whose squared distance is this."""
    cosine = 1 - distance / 2
    return np.array([[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)]], np.float32)


def characters(centres: np.ndarray, sizes: list[int], names=("", "")) -> LocalCharacters:
    """Return one character per video, whose tracks all lie at its centre."""
    of_track = np.repeat(np.arange(len(sizes)), sizes)
    balls = Balls.of(centres[of_track], of_track)
    none = np.empty((0, 2), np.int64)
    return LocalCharacters(of_track, list(names), list(range(len(sizes))), balls, none)


@pytest.mark.parametrize(
    ("share", "sizes", "one_person"),
    [
        (0.55, [8, 8], True),
        (0.65, [8, 8], False),
        # The centre of few tracks is less certain: all of τ counts.
        (0.65, [8, 7], True),
        (1.05, [8, 7], False),
    ],
)
def test_characters_with_many_tracks_must_be_near(share, sizes, one_person):
    centres = at(share * TAU)
    groups = group_across_videos(characters(centres, sizes), TAU)
    assert (groups[0] == groups[1]) == one_person
    there = Balls.of(np.repeat(centres[:1], sizes[0], axis=0), np.full(sizes[0], 7))
    new = characters(centres[1:], sizes[1:], names=("",))
    place, conflicts = place_in_balls(new, there, TAU, first=8)
    assert place.tolist() == [7 if one_person else 8]
    assert conflicts == []


def test_different_names_are_not_grouped_however_near():
    near = at(0.01 * TAU)
    assert len(set(group_across_videos(characters(near, [3, 3]), TAU))) == 1
    named = characters(near, [3, 3], names=("Anna", "Bo"))
    assert len(set(group_across_videos(named, TAU))) == 2


def test_of_the_balls_within_reach_the_largest_is_taken():
    points = at(0.2 * TAU)[[0] * 9 + [1] * 2]
    balls = Balls.of(points, np.repeat([1, 2], [9, 2]))
    row, distance = balls.nearest(points[-1:], TAU / 4)
    assert balls.numbers[row].tolist() == [1]
    assert distance[0] == pytest.approx(0.2 * TAU, abs=1e-5)
    row, _ = balls.nearest(points[-1:], 0.1 * TAU)  # the large one is out of reach
    assert balls.numbers[row].tolist() == [2]


def test_who_shares_a_frame_with_a_larger_one_of_the_group_leaves_it():
    """Four that look alike; the second was beside the first, and the last beside the third."""
    units = characters(at(0.0)[[0, 0, 0, 0]], [9, 8, 7, 6], names=("",) * 4)
    units = replace(units, cannot=np.array([[0, 1], [2, 3]]))
    groups = group_across_videos(units, TAU)
    assert groups[0] == groups[2]
    assert len(set(groups.tolist())) == 3
    assert len(set(group_across_videos(replace(units, cannot=units.cannot[:0]), TAU))) == 1


def test_who_has_no_face_is_a_group_by_itself():
    units = characters(at(0.0)[[0, 0, 0]], [3, 3, 3], names=("",) * 3)
    points, of_track = at(0.0)[[0] * 9], np.where(units.of_track == 1, -1, units.of_track)
    groups = group_across_videos(replace(units, balls=Balls.of(points, of_track)), TAU)
    assert groups[0] == groups[2] != groups[1]
    assert (groups >= 0).all()


@pytest.mark.parametrize(
    ("names", "share", "video", "conflict"),
    [
        (("Anna", "Anna"), 1.2, [0, 1], True),  # one name, two faces
        (("Anna", "Bo"), 0.5, [0, 1], True),  # one face, two names
        (("Anna", "Bo"), 1.2, [0, 1], False),
        (("Anna", "Bo"), 0.5, [0, 0], False),  # whoever named them saw both
        (("Anna", ""), 0.5, [0, 1], False),
    ],
)
def test_names_that_contradict_faces(names, share, video, conflict):
    units = replace(characters(at(share * TAU), [3, 3], names), video=video)
    found = name_conflicts(units, np.array([4, 7]), TAU)
    assert found == ([NameConflict(names, (4, 7))] if conflict else [])
    assert name_conflicts(units, np.array([4, 4]), TAU) == []  # they are one character
