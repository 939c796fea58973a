from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from castlist import TrackSet
from castlist.cast import anchors
from castlist.cast.anchors import Anchor, CutTracks
from datasets.synthetic_casts import made_video, points_of


def anchors_of(tracks, rows):
    return anchors.anchors_of(tracks, rows, ["scan"], looks_of(tracks))


def looks_of(tracks):
    return np.empty((len(tracks), 0)) if tracks.features is None else points_of(tracks)


def find_anchors(tracks, wanted):
    return [same for same, _ in anchors.find_anchors(tracks, wanted, looks_of(tracks))]


def rows_of(tracks, wanted):
    return [rows.tolist() for rows in find_anchors(tracks, wanted)]


def test_a_scan_with_other_names_and_rate_finds_every_track():
    before, after = made_video(rate=5), made_video(rate=2, prefix="x")
    found = find_anchors(after, anchors_of(before, range(len(before))))
    assert [rows.tolist() for rows in found] == [[i] for i in range(len(before))]


def test_side_by_side_the_box_tells_them_apart():
    tracks = made_video(people=2, each=1)
    assert len(tracks.overlaps()) == 1
    left, right = anchors_of(tracks, [0, 1])
    swapped = [
        Anchor("scan", "film.mp4", "?", right.faces),
        Anchor("scan", "film.mp4", "?", left.faces),
    ]
    assert [rows.tolist() for rows in find_anchors(tracks, swapped)] == [[1], [0]]


def test_one_track_may_become_two_and_two_one():
    tracks = made_video(people=1, each=2, pairs=False)
    whole = Anchor(
        "scan", "film.mp4", "?", tuple(f for a in anchors_of(tracks, [0, 1]) for f in a.faces)
    )
    assert find_anchors(tracks, [whole])[0].tolist() == [0, 1]
    only_first = tracks[:1]
    assert [len(r) for r in find_anchors(only_first, anchors_of(tracks, [0, 1]))] == [1, 0]


def test_nothing_there_is_nothing_found():
    tracks = made_video(people=1, each=1)
    elsewhere = [
        Anchor("scan", "film.mp4", "t", ((0.4, 500.0, 60.0, 90.0, 90.0),)),  # another place
        Anchor("scan", "film.mp4", "t", ((99.0, 50.0, 60.0, 90.0, 90.0),)),  # another time
        Anchor("scan", "film.mp4", "t", ()),
    ]
    assert [len(rows) for rows in find_anchors(tracks, elsewhere)] == [0, 0, 0]


def test_the_only_video_may_have_another_name():
    tracks = made_video(people=1, each=1)
    faces = anchors_of(tracks, [0])[0].faces
    assert find_anchors(tracks, [Anchor("scan", "renamed.mp4", "t", faces)])[0].tolist() == [0]


@pytest.mark.parametrize("rate", [1, 5, 25])
def test_faces_of_an_ordinary_scan_are_all_stored_and_of_others_no_more(rate):
    tracks = made_video(people=1, each=1, rate=rate)
    (anchor,) = anchors_of(tracks, [0])
    times = [face[0] for face in anchor.faces]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, tracks.time[-1].round(3))
    assert len(times) == {1: 2, 5: 10, 25: 14}[rate]
    assert np.isfinite(anchor.faces).all()


def walk(time):
    """Return the box of somebody who walks to and fro."""
    return [[300 + 250 * np.sin(t), 60 + 20 * np.cos(3 * t), 90, 90] for t in time]


@pytest.mark.parametrize("seed", range(8))
def test_every_piece_of_a_track_is_found(seed):
    """Of any length, down to one face, and sampled at any times."""
    rng = np.random.default_rng(seed)
    before = np.arange(0, 56.6, 0.2)
    whole = TrackSet.from_faces(["a"] * len(before), time=before, box=walk(before), video="film")
    times = np.arange(rng.uniform(0, 0.1), 56.4, 1 / rng.uniform(2, 12))
    cuts = np.unique(rng.choice(np.arange(1, len(times)), 12))
    names = np.searchsorted(cuts, np.arange(len(times)), side="right")
    pieces = TrackSet.from_faces(names.astype(str), time=times, box=walk(times), video="film")
    (rows,) = find_anchors(pieces, anchors_of(whole, [0]))
    assert rows.tolist() == list(range(len(cuts) + 1))


def test_a_neighbour_who_begins_a_frame_early_is_not_taken_for_a_part():
    """In another encoding a cut may lie a frame earlier."""
    first, then = np.arange(0, 10, 0.2), np.arange(9.77, 20, 0.2)
    tracks = TrackSet.from_faces(
        ["a"] * len(first) + ["b"] * len(then), time=np.concatenate([first, then]),
        box=[[200, 60, 90, 90]] * (len(first) + len(then)), video="film.mp4",
    )  # fmt: skip
    assert rows_of(tracks, anchors_of(tracks, [0, 1])) == [[0], [1]]
    assert find_anchors(tracks[1:], anchors_of(tracks, [0]))[0].tolist() == []


def test_a_long_neighbour_is_not_taken_for_a_short_track_that_is_gone():
    times = np.concatenate([[9.8, 9.96], np.arange(10.04, 20, 0.2)])
    tracks = TrackSet.from_faces(
        ["a"] * 2 + ["b"] * (len(times) - 2), time=times, box=[[200, 60, 90, 90]] * len(times),
        video="film.mp4",
    )  # fmt: skip
    assert find_anchors(tracks[1:], anchors_of(tracks, [0]))[0].tolist() == []


def test_somebody_who_passes_before_a_face_is_not_taken_for_it():
    times = np.arange(0, 6, 0.2)
    there, passing = [[300, 60, 90, 90]] * 30, [[100 * t, 60, 90, 90] for t in times]
    tracks = TrackSet.from_faces(
        ["a"] * 30 + ["b"] * 30, time=np.tile(times, 2), box=there + passing, video="film.mp4",
    )  # fmt: skip
    assert rows_of(tracks, anchors_of(tracks, [0, 1])) == [[0], [1]]
    assert find_anchors(tracks[1:], anchors_of(tracks, [0]))[0].tolist() == []


def test_whoever_takes_a_place_for_a_while_is_not_taken_for_who_had_it_before_and_after():
    """Tracks of another tool may have long gaps."""
    times = np.concatenate([np.arange(0, 10, 0.2), np.arange(60, 70, 0.2), np.arange(30, 35, 0.2)])
    tracks = TrackSet.from_faces(
        ["a"] * 100 + ["b"] * 25, time=times, box=[[200, 60, 90, 90]] * 125, video="film.mp4"
    )
    assert rows_of(tracks, anchors_of(tracks, [0, 1])) == [[0], [1]]
    assert rows_of(tracks[1:], anchors_of(tracks, [0])) == [[]]
    assert rows_of(tracks[:1], anchors_of(tracks, [1])) == [[]]


def test_of_few_stored_faces_only_their_own_times_count():
    """Castlist 0.1 stored nine of each track, however long it was."""
    times = np.arange(0, 50, 0.2)
    tracks = TrackSet.from_faces(["a"] * len(times), time=times, box=walk(times), video="film")
    (anchor,) = anchors_of(tracks, [0])
    few = dataclasses.replace(anchor, faces=anchor.faces[::31])
    assert rows_of(tracks, [few]) == [[0]]


def test_a_neighbour_in_the_same_place_is_not_taken_for_a_track_that_is_gone():
    """Shot and reverse shot: the next person's face begins where the last one's ended."""
    times = np.concatenate([np.arange(0, 2, 0.2), np.arange(2, 4, 0.2)])
    tracks = TrackSet.from_faces(
        ["a"] * 10 + ["b"] * 10, time=times, frame=(times * 25).astype(int), video="film.mp4",
        box=[[200, 60, 90, 90]] * 10 + [[215, 60, 90, 90]] * 10,
    )  # fmt: skip
    assert [len(rows) for rows in find_anchors(tracks[1:], anchors_of(tracks, [0, 1]))] == [0, 1]


def test_another_face_in_the_same_place_is_another_track():
    """Somebody else stands where they stood, as in another cut of the video."""
    before = made_video(people=2, each=3, pairs=False)
    after = made_video(people=2, each=3, pairs=False)
    order = np.arange(6).reshape(3, 2)[:, ::-1].ravel()  # the two have changed places
    swapped = TrackSet.from_faces(
        np.repeat(after.ids, 5),
        time=np.tile(np.arange(5) / 2.5, 6) + np.repeat(3.0 * np.arange(6), 5),
        frame=np.arange(30), box=[[50, 60, 90, 90]] * 30, video="film.mp4", describer="SFace",
        feature=np.repeat(after.mean_features()[order], 5, axis=0),
    )  # fmt: skip
    found = anchors.find_anchors(swapped, anchors_of(before, range(6)), looks_of(swapped))
    assert [(same.tolist(), other.tolist()) for same, other in found] == [
        ([], [row]) for row in range(6)
    ]


def test_features_of_another_describer_are_not_compared():
    tracks = made_video(people=1, each=1)
    (anchor,) = anchors_of(tracks, [0])
    other = dataclasses.replace(anchor, describer="another", feature=-anchor.feature)
    assert find_anchors(tracks, [other])[0].tolist() == [0]
    same = dataclasses.replace(anchor, feature=-anchor.feature)
    assert find_anchors(tracks, [same])[0].tolist() == []


def test_a_video_that_was_removed_from_a_series_is_not_taken_for_the_one_that_is_left():
    tracks = made_video(people=1, each=1)
    gone = dataclasses.replace(anchors_of(tracks, [0])[0], video="removed.mp4")
    here = anchors_of(tracks, [0])[0]
    found = anchors.find_anchors(tracks, [gone, here], looks_of(tracks), renamed=False)
    assert [same.tolist() for same, _ in found] == [[], [0]]
    both = TrackSet.join([tracks, dataclasses.replace(made_video(people=1, each=1, prefix="x"),
                                                      videos=("other.mp4",))])  # fmt: skip
    found = anchors.find_anchors(both, [gone, here], looks_of(both))
    assert [same.tolist() for same, _ in found] == [[], [0]]


def test_parts_of_a_cut_track_have_their_own_features_and_the_embedding_of_those_like_them():
    """Ann is in the first three faces of a track and Bob in the others; both have other tracks."""
    ann, bob = np.eye(4)[:2]
    tracks = TrackSet.from_faces(
        ["mixed"] * 6 + ["ann"] * 2 + ["bob"] * 2, time=np.arange(10.0), frame=np.arange(10),
        box=[[200, 60, 90, 90]] * 10, feature=[*[ann] * 3, *[bob] * 3, *[ann] * 2, *[bob] * 2],
    )  # fmt: skip
    rows = {name: row for row, name in enumerate(tracks.ids.tolist())}
    cut = CutTracks.whole(tracks).cut(rows["mixed"], 2.5)
    after = {name: row for row, name in enumerate(cut.tracks.ids.tolist())}
    assert set(after) == {"mixeda", "mixedb", "ann", "bob"}
    looks = cut.mean_features(points_of(tracks))
    np.testing.assert_allclose(looks[after["mixeda"]], ann, atol=1e-6)
    np.testing.assert_allclose(looks[after["mixedb"]], bob, atol=1e-6)
    points = np.zeros((3, 4), np.float32)
    points[rows["mixed"]], points[rows["ann"]], points[rows["bob"]] = np.eye(4)[[3, 2, 0]]
    placed = cut.points(points, looks)
    np.testing.assert_allclose(placed[after["ann"]], np.eye(4)[2])
    # Only two tracks are whole: a part is in the middle of both.
    np.testing.assert_allclose(placed[after["mixeda"]], [0.5**0.5, 0, 0.5**0.5, 0], atol=1e-6)
    assert cut.parts.tolist() == sorted([after["mixeda"], after["mixedb"]])


def test_faces_whose_place_is_not_known_are_not_stored():
    box = np.tile(np.array([50.0, 60, 90, 90]), (4, 1))
    box[1], box[2, 0] = np.nan, np.nan  # none of it, and a part of it
    tracks = TrackSet.from_faces(["a"] * 4, time=np.arange(4.0), frame=np.arange(4), box=box)
    (anchor,) = anchors_of(tracks, [0])
    assert anchor.faces == ((0.0, 50.0, 60.0, 90.0, 90.0), (3.0, 50.0, 60.0, 90.0, 90.0))
