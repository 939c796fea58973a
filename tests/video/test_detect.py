from __future__ import annotations

import cv2
import numpy as np
import pytest

from castlist.video.detect import (
    LOOK_WIDTH,
    WEAK,
    Faces,
    confirmed,
    open_detector,
    smallest_face,
    wide_width,
)
from castlist.video.tracking_settings import TrackingSettings

BOX = np.array([40, 30, 40, 50], np.float32)


def faces(*scores):
    n = len(scores)
    return Faces(
        np.tile(BOX, (n, 1)), np.zeros((n, 5, 2), np.float32), np.array(scores, np.float32)
    )


class Near:
    """Sees a face of these scores from near: by the turn, and mirrored."""

    name = "near"

    def __init__(self, mirrored=0.9, **turned):
        self.mirrored, self.turned, self.asked = mirrored, turned, 0

    def detect(self, image, width=LOOK_WIDTH):
        raise AssertionError("not asked")

    def closer(self, image, box, turn=0.0, mirror=False):
        self.asked += 1
        score = self.turned.get({0: "upright", -30: "left", 30: "right"}[turn], 0.0)
        found = faces(min(score, self.mirrored) if mirror else score)
        return Faces(found.box, found.landmarks + 7, found.score)


def scored(first, near, known=False):
    image = np.zeros((100, 100, 3), np.uint8)
    return confirmed(image, faces(first), near, np.array([known]))


def test_clear_and_expected_faces_need_no_close_up():
    near = Near()
    assert scored(0.85, near).score[0] == pytest.approx(0.85)
    assert scored(0.4, near, known=True).score[0] == pytest.approx(WEAK)
    assert near.asked == 0


def test_a_hand_is_less_of_a_face_from_near_and_mirrored():
    assert scored(0.75, Near(upright=0.9)).score[0] == pytest.approx(0.7 * 0.75 + 0.3 * 0.9)
    assert scored(0.75, Near(upright=0.9, mirrored=0.2)).score[0] == pytest.approx(WEAK)
    assert scored(0.75, Near()).score[0] == pytest.approx(WEAK)


def test_a_weak_candidate_needs_to_be_confirmed():
    assert scored(0.45, Near(upright=0.7)).score[0] == 0
    assert scored(0.45, Near(upright=0.85)).score[0] == pytest.approx(WEAK)


def test_a_tilted_face_has_the_landmarks_of_the_turned_picture():
    found = scored(0.45, Near(upright=0.5, right=0.93, mirrored=0.91))
    assert found.score[0] == pytest.approx((0.45 + 0.91) / 2)
    np.testing.assert_array_equal(found.landmarks, 7)


@pytest.mark.parametrize(
    ("width", "wide", "smallest"),
    [(320, 320, 15), (640, 640, 15), (1280, 853, 23), (1920, 1280, 23)],
)
def test_how_small_a_face_can_be_seen_depends_on_the_video(width, wide, smallest):
    assert wide_width(width) == wide
    assert smallest_face((width, width * 9 // 16), TrackingSettings()) == smallest


def test_a_look_width_that_is_given_says_how_small_a_face_can_be():
    assert smallest_face((3840, 2160), TrackingSettings()) == 45
    assert smallest_face((3840, 2160), TrackingSettings(look_width=3840, min_face=10)) == 15


def test_real_faces_are_found_small_and_tilted(pictures):
    detector = open_detector()
    for path in pictures:
        image = cv2.imread(str(path))
        height, width = image.shape[:2]
        for scale, turn in ((0.5, 0.0), (0.3, 30.0), (0.3, -30.0)):
            matrix = cv2.getRotationMatrix2D((width / 2, height / 2), turn, scale)
            picture = cv2.warpAffine(image, matrix, (width, height))
            found = detector.detect(picture)
            found = confirmed(picture, found, detector, np.zeros(len(found), bool))
            assert (found.score >= WEAK).any(), (scale, turn)
