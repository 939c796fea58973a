from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlist import BallModel, TrackSet, embed_tracks
from castlist.cluster import editing
from castlist.cluster.editing import same_place


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
def test_pairs_are_those_of_which_one_begins_where_the_other_ended(seed, n):
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
    monkeypatch.setattr(editing, "_ROWS", 2)
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
