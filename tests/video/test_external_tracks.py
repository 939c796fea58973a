"""Given tracks, with a detector and a describer made of paper: no weights are needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from castlist import InputError, TrackSet
from castlist.io.box_tracks import GivenTracks
from castlist.video.detect import Faces
from castlist.video.external_tracks import LANDMARKS, ExternalBoxes, located, track_given_boxes
from castlist.video.frames import open_video
from castlist.video.sampling import ResumePoint
from castlist.video.tracking_settings import TrackingSettings
from datasets.small_videos import plain, write_video


class NoFaces:
    name = "blind"

    def detect(self, image, width=640):
        return Faces(np.empty((0, 4), np.float32), np.empty((0, 5, 2), np.float32), np.empty(0))


class OneFace:
    """Finds one face, always at the same place of what it is shown."""

    name = "sure"

    def __init__(self, *box):
        self.box = np.array([box], np.float32)

    def detect(self, image, width=640):
        points = self.box[0, :2] + LANDMARKS * self.box[0, 2:]
        return Faces(self.box, points[None].astype(np.float32), np.array([0.9], np.float32))


class Colours:
    """Describes a face by its colour."""

    name = "colours"
    aligned = False

    def crop(self, image, box, landmarks):
        x, y, w, h = np.clip(box, 0, 1000).astype(int)
        return image[y : y + h, x : x + w]

    def describe(self, crops):
        return np.array([c.reshape(-1, 3).mean(0) for c in crops], np.float32).reshape(-1, 3)


def given(*tracks, gap=math.inf):
    """Return tracks of (frame, x) pairs."""
    rows = [(str(k), frame, x) for k, one in enumerate(tracks) for frame, x in one]
    return GivenTracks(
        TrackSet.from_faces(
            [name for name, _, _ in rows], frame=[frame for _, frame, _ in rows],
            box=[[x, 10, 20, 20] for _, _, x in rows],
        ),
        gap,
    )  # fmt: skip


@pytest.fixture
def video(tmp_path):
    """Two shots of two seconds."""
    images = [plain((200, 30, 30), (160, 90))] * 50 + [plain((30, 30, 200), (160, 90))] * 50
    with open_video(write_video(tmp_path / "v.mp4", images)) as opened:
        yield opened


def watched(video, tracks, start=None, detector=None):
    boxes = ExternalBoxes(tracks, video)
    how = (detector or NoFaces(), Colours(), TrackingSettings(), start)
    return list(track_given_boxes(video, boxes, *how))


def test_boxes_between_keyframes_lie_on_a_line(video):
    boxes = ExternalBoxes(given([(0, 10), (10, 30), (50, 30)], [(4, 5)]), video)
    assert {row: box[0] for row, box in boxes.at(5).items()} == {0: 20}
    assert {row: box[0] for row, box in boxes.at(4).items()} == {0: 18, 1: 5}
    assert boxes.at(51) == {}


def test_boxes_are_not_interpolated_over_a_long_gap_unless_the_file_says_so(video):
    path = [(0, 10), (25, 10), (51, 10)]
    assert list(ExternalBoxes(given(path), video).at(40)) == [0]
    seconds = ExternalBoxes(given(path, gap=1.0), video)
    assert [list(seconds.at(frame)) for frame in (24, 40, 51)] == [[0], [], [0]]


def test_a_track_is_sampled_as_in_a_scan_and_ends_at_the_cut(video):
    first, second = watched(video, given([(0, 10), (99, 109)], [(30, 60), (49, 60)]))
    assert [t.number.tolist() for t in first.tracks] == [
        [*range(0, 50, 5)], [30, 35, 40, 45],
    ]  # fmt: skip
    (after,) = second.tracks
    assert after.number.tolist() == [*range(50, 100, 5)]
    np.testing.assert_allclose(after.box[0], [60, 10, 20, 20], atol=0.01)
    assert len(after.described) <= TrackingSettings().faces_per_track
    assert after.features[0, 2] > 150 > 100 > after.features[0, 0]
    assert (first.n_frames, second.n_frames) == (10, 10)
    assert [t.end for t in first.tracks] == pytest.approx([2.0, 2.0])
    assert (after.end, second.end) == pytest.approx((4.0, 4.0))
    assert first.next.number == 50


def test_a_track_between_two_sampled_frames_is_not_missed(video):
    (first, _) = watched(video, given([(12, 10), (13, 10)], [(0, 50), (49, 50)]))
    assert [t.number.tolist() for t in first.tracks] == [[0, 5, 10, 12, *range(15, 50, 5)], [12]]
    assert [len(t.features) for t in first.tracks] == [7, 1]
    assert first.tracks[1].end == pytest.approx(15 / 25)  # when it was looked at again


def test_going_on_from_a_cut_is_as_if_it_had_not_stopped(video):
    tracks = given([(0, 10), (99, 109)], [(62, 60), (63, 60)])
    _, second = watched(video, tracks)
    (again,) = watched(video, tracks, ResumePoint(2.0, 50, 1))
    assert [t.number.tolist() for t in again.tracks] == [t.number.tolist() for t in second.tracks]
    np.testing.assert_array_equal(again.tracks[0].features, second.tracks[0].features)


def test_boxes_outside_the_frame_are_ignored(video):
    found = watched(video, given([(0, 500), (99, 500)], [(0, -15), (99, -15)]))
    assert [shot.tracks for shot in found] == [[], []]


def test_tracks_of_another_video_are_refused(video):
    with pytest.raises(InputError, match="are they of another video"):
        ExternalBoxes(given([(5000, 10)]), video)


def test_landmarks_are_the_detectors_or_by_the_box():
    image, box = plain((9, 9, 9), (400, 300)), np.array([100, 50, 60, 80], np.float32)
    by_box = located(image, box, NoFaces())
    np.testing.assert_allclose(by_box.landmarks[0], box[:2] + LANDMARKS * box[2:], atol=1e-3)
    # What the detector is shown is 160 pixels wide for 160 of the picture, around (130, 90).
    found = located(image, box, OneFace(50, 40, 60, 80))
    assert found.score[0] == pytest.approx(0.9)
    np.testing.assert_allclose(found.landmarks[0], by_box.landmarks[0], atol=0.01)
    elsewhere = located(image, box, OneFace(0, 0, 20, 20))
    assert elsewhere.score[0] < 0.5
    assert found.box.tolist() == elsewhere.box.tolist() == [box.tolist()]
