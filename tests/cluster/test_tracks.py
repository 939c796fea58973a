from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlist import BallModel, InputError, TrackSet, cluster_tracks, embed_tracks
from castlist.cluster import tracks as tracks_module
from castlist.cluster.tracks import same_place


@pytest.fixture
def crowd():
    """Tracks 0 and 1 look alike and share a frame; track 2 looks like them too."""
    return TrackSet.from_faces(
        [0, 0, 1, 1, 2], feature=np.array([[0.0], [0.2], [0.1], [0.1], [0.3]]),
        frame=[1, 2, 2, 3, 9],
    )  # fmt: skip


def test_tracks_are_clustered_by_their_means(crowd):
    assert cluster_tracks(crowd, threshold=1.0).labels.tolist() == [0, 0, 0]
    assert cluster_tracks(crowd, threshold=0.01).labels.tolist() == [0, 0, 1]


def test_tracks_that_share_a_frame_can_be_kept_apart(crowd):
    labels = cluster_tracks(crowd, threshold=1.0, overlaps=True).labels
    assert labels[0] != labels[1]
    assert len(set(labels.tolist())) == 2


@pytest.mark.parametrize("asked", ["n_characters", "max_characters"])
def test_a_number_takes_precedence_over_shared_frames(crowd, asked):
    tau = None if asked == "n_characters" else 1.0
    for order in ([0, 1, 2], [2, 1, 0]):
        tracks = crowd[np.array(order)]
        made = cluster_tracks(tracks, threshold=tau, overlaps=True, **{asked: 1})
        assert made.labels.tolist() == [0, 0, 0]
        np.testing.assert_array_equal(made.given_up, tracks.overlaps())
    made = cluster_tracks(crowd, threshold=tau, overlaps=True, **{asked: 2})
    assert len(set(made.labels.tolist())) == 2
    assert len(made.given_up) == 0


def test_without_model_threshold_and_number_it_is_refused(crowd):
    with pytest.raises(InputError, match="a model, a threshold or a number of characters"):
        cluster_tracks(crowd)


@pytest.mark.parametrize(
    ("asked", "words"), [("n_characters", "make 4"), ("min_characters", "make at least 4")]
)
def test_more_characters_than_tracks_are_refused(crowd, asked, words):
    tau = None if asked == "n_characters" else 1.0
    assert cluster_tracks(crowd, threshold=tau, **{asked: 3}).n_clusters == 3
    with pytest.raises(InputError, match=f"cannot {words} characters of 3 tracks; give at most 3$"):
        cluster_tracks(crowd, threshold=tau, **{asked: 4})


def test_bounds_in_the_wrong_order_are_refused(crowd):
    with pytest.raises(InputError, match="minimum number of characters, 3, is greater than .* 2"):
        cluster_tracks(crowd, threshold=1.0, min_characters=3, max_characters=2)


def test_a_model_of_another_describer_is_refused(crowd):
    model = BallModel((1, 2), describer="SFace")
    assert len(cluster_tracks(crowd, model).labels) == 3  # the tracks do not say
    with pytest.raises(InputError, match="features of SFace, but the tracks have .* of other"):
        cluster_tracks(replace(crowd, describer="other"), model)


def iou(a, b):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(w, 0) * max(h, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def made(setups, boxes, frames, faces=3):
    """Make tracks, each in some frames from its first on; boxes and set-ups are of both ends."""
    n = len(setups)
    setup, box = np.full((n, faces), -1), np.full((n, faces, 4), np.nan)
    setup[:, [0, -1]], box[:, [0, -1]] = setups, boxes
    frame = (np.asarray(frames)[:, None] + np.arange(faces)).ravel()
    return TrackSet.from_faces(
        np.repeat(np.arange(n), faces), setup=setup.ravel(), box=box.reshape(-1, 4),
        frame=frame, time=frame / 5, feature=np.random.default_rng(0).normal(size=(n * faces, 4)),
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_same_place_pairs_begin_where_the_other_ended(seed, n):
    rng = np.random.default_rng(seed)
    setups, frames = rng.integers(-1, 3, (n, 2)), rng.integers(0, 40, n)
    boxes = np.concatenate([rng.uniform(0, 60, (n, 2, 2)), rng.uniform(10, 40, (n, 2, 2))], axis=2)
    tracks = made(setups, boxes, frames)
    boxes = boxes.astype(np.float32)  # as tracks keep them
    wanted = {
        tuple(sorted((i, j))) for i in range(n) for j in range(n)
        if frames[i] + 2 < frames[j] and setups[i, 1] == setups[j, 0] >= 0
        and iou(boxes[i, 1], boxes[j, 0]) >= 0.1
    }  # fmt: skip
    assert set(map(tuple, same_place(tracks).tolist())) == wanted


def test_blocks_and_videos_change_nothing(monkeypatch):
    boxes, frames = np.tile([5.0, 5, 20, 20], (9, 2, 1)), 10 * np.arange(9)
    one = made(np.zeros((9, 2), int), boxes, frames)
    whole = same_place(one)
    assert len(whole) == 36
    monkeypatch.setattr(tracks_module, "_ROWS", 2)
    np.testing.assert_array_equal(same_place(one), whole)
    other = TrackSet.from_faces(
        ["a"], setup=[0], box=[[5, 5, 20, 20]], time=[99], feature=[[1.0] * 4], video="other"
    )
    assert len(same_place(TrackSet.join([one, other]))) == 36


@pytest.mark.parametrize("setup", [0, -1])
def test_a_face_turned_away_comes_to_its_place(setup):
    # Two tracks of one place whose faces have nothing in common.
    tracks = TrackSet.from_faces(
        [0, 1], setup=[setup, setup], box=[[5, 5, 20, 20]] * 2, frame=[0, 9], time=[0, 2],
        feature=np.eye(2, 4), video="film",
    )  # fmt: skip
    points = embed_tracks(tracks, BallModel((4, 4), residual=True, rounds=2, reach=0.32))
    assert (points[0] @ points[1] > 0.9) == (setup == 0)
