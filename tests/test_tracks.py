from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist import InputError, TrackSet


def test_faces_are_grouped_by_track_in_order_of_first_appearance(tracks):
    assert tracks.ids.tolist() == ["b", "a", "c"]
    assert tracks.face_counts.tolist() == [3, 2, 1]
    assert tracks.frame.tolist() == [1, 2, 3, 2, 3, 9]
    assert tracks.identity.tolist() == ["joyce", "unknown_1", ""]
    assert tracks.shot.tolist() == [4, 4, 5]
    np.testing.assert_array_equal(tracks.end, [0.5, np.nan, 0.2])
    assert tracks.track_of_face.tolist() == [0, 0, 0, 1, 1, 2]
    assert tracks.labelled.tolist() == [True, True, False]
    assert tracks.background.tolist() == [False, True, False]
    np.testing.assert_allclose(tracks.box[3], [4, 5, 6, 7])


def test_features_follow_their_faces(tracks):
    raw = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(tracks.features), raw[[0, 2, 5, 1, 4, 3]])


def test_mean_feature_is_the_plain_mean(tracks):
    raw = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    expected = [raw[[0, 2, 5]].mean(0), raw[[1, 4]].mean(0), raw[3]]
    np.testing.assert_allclose(tracks.mean_features(), expected, rtol=1e-5)
    by_one = tracks.features.means(tracks.offsets, faces_at_once=1)
    np.testing.assert_allclose(by_one, expected, rtol=1e-5)


def test_slicing_keeps_what_belongs_together(tracks):
    part = tracks[[2, 0]]
    assert part.ids.tolist() == ["c", "b"]
    assert part.frame.tolist() == [9, 1, 2, 3]
    np.testing.assert_array_equal(part.mean_features(), tracks.mean_features()[[2, 0]])
    again = part[part.ids == "b"]
    np.testing.assert_array_equal(again.mean_features(), tracks.mean_features()[[0]])
    assert len(tracks[:0]) == 0
    assert tracks[:0].mean_features().shape == (0, 5)


def test_join_of_slices_is_the_whole(tracks):
    joined = TrackSet.join([tracks[:1], tracks[1:]])
    for name in ("ids", "identity", "shot", "end", "offsets", "frame", "time", "box", "score"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(tracks, name))
    assert joined.features._base is tracks.features._base  # nothing was copied
    np.testing.assert_array_equal(joined.mean_features(), tracks.mean_features())


def test_join_keeps_videos_apart(tracks):
    other = TrackSet.from_faces(["b"], feature=np.ones((1, 5)), frame=[2], video="other")
    joined = TrackSet.join([tracks, other])
    assert joined.videos == ("film", "other")
    assert joined.video.tolist() == [0, 0, 0, 1]
    assert joined[joined.video == 1].videos == ("other",)
    assert joined.overlaps().tolist() == [[0, 1]]  # frame 2 of another film is another moment


def test_a_track_ends_when_its_face_is_gone_or_with_its_last_face():
    tracks = TrackSet.from_faces(
        ["a", "b", "a", "c", "d", "d"], time=[3.0, 1.0, 2.0, np.nan, np.nan, 5.0],
        end=[3.2, np.nan, 3.2, np.nan, 4.0, 4.0],
    )  # fmt: skip
    expected = [[2.0, 3.2], [1.0, 1.0], [np.nan, np.nan], [5.0, 5.0]]
    np.testing.assert_array_equal(tracks.spans, expected)
    np.testing.assert_array_equal(tracks[[1, 0]].spans, np.array(expected)[[1, 0]])
    assert tracks[:0].spans.shape == (0, 2)


def test_large_joins_go_to_disk(tracks, monkeypatch):
    monkeypatch.setattr("castlist.features.IN_MEMORY_BYTES", 10)
    other = TrackSet.from_faces(["x", "y"], feature=np.eye(2, 5), video="other")
    joined = TrackSet.join([tracks, other])
    assert joined.features.on_disk
    np.testing.assert_array_equal(joined.mean_features()[:3], tracks.mean_features())
    np.testing.assert_array_equal(joined.mean_features()[3:], np.eye(2, 5))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 6)), min_size=1, max_size=40))
def test_overlaps_are_the_pairs_that_share_a_frame(faces):
    track, frame = np.array(faces).T
    tracks = TrackSet.from_faces(track, frame=frame)
    expected = set()
    for i in range(len(tracks)):
        for j in range(i + 1, len(tracks)):
            ours = set(frame[track == int(tracks.ids[i])]) - {-1}
            if ours & set(frame[track == int(tracks.ids[j])]):
                expected.add((i, j))
    assert set(map(tuple, tracks.overlaps().tolist())) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"identity": ["a", "b", "a"]}, "track '1'.*more than one identity"),
        ({"shot": [1, 2, 1]}, "track '1'.*more than one shot"),
        ({"end": [1.0, np.nan, 1.0]}, "track '1'.*more than one end"),
        ({"end": [np.inf] * 3}, "end has a value that is not a number"),
        ({"feature": [[1.0], [np.nan], [2.0]]}, "face 1 is not finite"),
        ({"feature": [[1.0], [2.0]]}, "2 features for 3 faces"),
        ({"feature": [1.0, 2.0, 3.0]}, "faces × dims"),
        ({"frame": [1, 2]}, "frame has 2 values for 3 faces"),
    ],
)
def test_inconsistent_columns_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        TrackSet.from_faces([1, 1, 2], **change)


def test_ids_used_twice_are_refused(tracks):
    with pytest.raises(InputError, match="'film', track 'b'.*used twice"):
        TrackSet.join([tracks, tracks[:1]])


def test_a_track_with_no_face_is_refused(tracks):
    from dataclasses import replace

    with pytest.raises(InputError, match="track 'a': the track has no face"):
        replace(tracks, offsets=np.array([0, 3, 3, 6]))


def test_joining_unlike_features_is_refused(tracks):
    wide = TrackSet.from_faces([1], feature=np.ones((1, 9)), video="w")
    with pytest.raises(InputError, match="different dimensions: 5, 9"):
        TrackSet.join([tracks, wide])
    bare = TrackSet.from_faces([1], video="w")
    with pytest.raises(InputError, match="some have none"):
        TrackSet.join([tracks, bare])
    stranger = TrackSet.from_faces([1], feature=np.ones((1, 5)), video="w", describer="other")
    with pytest.raises(InputError, match="different describers: other, test"):
        TrackSet.join([tracks, stranger])
    with pytest.raises(InputError, match="have no features"):
        bare.mean_features()


def test_the_empty_set_works():
    empty = TrackSet.from_faces([], feature=np.empty((0, 4)))
    assert len(empty) == 0
    assert empty.overlaps().shape == (0, 2)
    assert empty.mean_features().shape == (0, 4)


def test_missing_identities_are_not_names():
    tracks = TrackSet.from_faces([1, 2, 3], identity=[None, "joyce", float("nan")])
    assert tracks.identity.tolist() == ["", "joyce", ""]


def test_values_beyond_float32_are_refused():
    with pytest.raises(InputError, match="face 1 is not finite"):
        TrackSet.from_faces([1, 2], feature=[[1.0], [1e300]])


@pytest.mark.parametrize(
    "column",
    [{"frame": [np.nan, 1]}, {"frame": [1, 2**41]}, {"shot": [np.inf] * 2}, {"shot": [2**31] * 2},
     {"frame": np.array([2**64 - 1, 0], np.uint64)}, {"time": [0, np.inf]}, {"time": [1e20, 0]},
     {"box": [[0, 0, 1, -np.inf]] * 2}, {"score": [1e300, 0]}],
)  # fmt: skip
def test_values_that_are_not_numbers_are_refused(column):
    with pytest.raises(InputError, match="not a number or is too large"):
        TrackSet.from_faces(["a", "a"], **column)


@pytest.mark.parametrize("values", [["1", "2"], np.array([0, 10**15], "M8[us]"), [1, None]])
def test_columns_of_other_types_are_refused(values):
    with pytest.raises(InputError, match="time must be numbers, not"):
        TrackSet.from_faces(["a", "a"], time=values)


def test_a_notebook_shows_a_table():
    tracks = TrackSet.from_faces(
        ["a", "a", "b"], feature=np.eye(3, 8), identity=["joyce", "joyce", ""],
        video="<b>A & B</b>", describer="SFace",
    )  # fmt: skip
    table = ElementTree.fromstring(tracks._repr_html_())
    assert [[cell.text for cell in row] for row in table.iter("tr")] == [
        ["Videos", "1: <b>A & B</b>"],
        ["Tracks", "2"],
        ["Faces", "3"],
        ["Labelled", "1 of 2 tracks"],
        ["Features", "8-d"],
        ["Describer", "SFace"],
    ]
    many = TrackSet.join([TrackSet.from_faces(["x"], video=f"e{k}") for k in range(7)])
    text = "".join(ElementTree.fromstring(many._repr_html_()).itertext())
    assert "7: e0, e1, e2, e3, e4 and 2 more" in text
    assert "Featuresnone" in text
    assert "Describernot known" in text
