from __future__ import annotations

import numpy as np

from castlist import TrackSet
from castlist.cast.anchors import Anchor, anchors_of, find_anchors
from tests.cast.folders import made_video


def test_a_scan_with_other_names_and_rate_finds_every_track():
    before, after = made_video(rate=5), made_video(rate=2, prefix="x")
    found = find_anchors(after, anchors_of(before, range(len(before))))
    assert [rows.tolist() for rows in found] == [[i] for i in range(len(before))]


def test_side_by_side_the_box_tells_them_apart():
    tracks = made_video(people=2, each=1)
    assert len(tracks.overlaps()) == 1
    left, right = anchors_of(tracks, [0, 1])
    swapped = [Anchor("film.mp4", "?", right.faces), Anchor("film.mp4", "?", left.faces)]
    assert [rows.tolist() for rows in find_anchors(tracks, swapped)] == [[1], [0]]


def test_one_track_may_become_two_and_two_one():
    tracks = made_video(people=1, each=2, pairs=False)
    whole = Anchor("film.mp4", "?", tuple(f for a in anchors_of(tracks, [0, 1]) for f in a.faces))
    assert find_anchors(tracks, [whole])[0].tolist() == [0, 1]
    only_first = tracks[:1]
    assert [len(r) for r in find_anchors(only_first, anchors_of(tracks, [0, 1]))] == [1, 0]


def test_nothing_there_is_nothing_found():
    tracks = made_video(people=1, each=1)
    elsewhere = [
        Anchor("film.mp4", "t", ((0.4, 500.0, 60.0, 90.0, 90.0),)),  # another place
        Anchor("film.mp4", "t", ((99.0, 50.0, 60.0, 90.0, 90.0),)),  # another time
        Anchor("film.mp4", "t", ()),
    ]
    assert [len(rows) for rows in find_anchors(tracks, elsewhere)] == [0, 0, 0]


def test_the_only_video_may_have_another_name():
    tracks = made_video(people=1, each=1)
    faces = anchors_of(tracks, [0])[0].faces
    assert find_anchors(tracks, [Anchor("renamed.mp4", "t", faces)])[0].tolist() == [0]


def test_faces_are_spread_over_the_track_and_known():
    (anchor,) = anchors_of(made_video(people=1, each=1), [0])
    times = [face[0] for face in anchor.faces]
    assert len(times) == 9
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, 1.8)
    assert np.isfinite(anchor.faces).all()


def test_a_neighbour_in_the_same_place_is_not_taken_for_a_track_that_is_gone():
    """Shot and reverse shot: the next person's face begins where the last one's ended."""
    times = np.concatenate([np.arange(0, 2, 0.2), np.arange(2, 4, 0.2)])
    tracks = TrackSet.from_faces(
        ["a"] * 10 + ["b"] * 10, time=times, frame=(times * 25).astype(int), video="film.mp4",
        box=[[200, 60, 90, 90]] * 10 + [[215, 60, 90, 90]] * 10,
    )  # fmt: skip
    assert [len(rows) for rows in find_anchors(tracks[1:], anchors_of(tracks, [0, 1]))] == [0, 1]
