from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist.video.align import TEMPLATE, aligned, picture, quality, similarity


@given(
    st.floats(-3.1, 3.1), st.floats(0.2, 5), st.floats(-200, 200), st.floats(-200, 200),
    st.integers(0, 1000),
)  # fmt: skip
def test_a_similarity_is_found_again(angle, scale, dx, dy, seed):
    points = np.random.default_rng(seed).normal(size=(5, 2)) * 30
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = similarity(points, points @ turn.T + [dx, dy])
    np.testing.assert_allclose(found, np.column_stack([turn, [dx, dy]]), atol=1e-6)


def test_the_similarity_is_opencvs_least_squares():
    rng = np.random.default_rng(0)
    points = TEMPLATE * 2.3 + rng.normal(size=(5, 2)) * 4 + 50
    best = similarity(points, TEMPLATE)

    def error(matrix):
        return np.square(points @ matrix[:, :2].T + matrix[:, 2] - TEMPLATE).sum()

    theirs = cv2.estimateAffinePartial2D(points, TEMPLATE, method=cv2.LMEDS)[0]
    assert error(best) <= error(theirs) + 1e-9
    for nudge in rng.normal(scale=1e-3, size=(20, 4)):
        a, b, x, y = nudge
        assert error(best) <= error(best + np.array([[a, -b, x], [b, a, y]])) + 1e-9


def test_landmarks_come_to_lie_on_the_template():
    image = np.zeros((400, 400, 3), np.uint8)
    angle = 0.4
    turn = 1.7 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    landmarks = (TEMPLATE - 56) @ turn.T + 200
    for x, y in landmarks:
        cv2.circle(image, (round(x), round(y)), 5, (255, 255, 255), -1)
    face = aligned(image, landmarks)
    assert face.shape == (112, 112, 3)
    for x, y in TEMPLATE:
        assert face[round(y), round(x), 0] > 200


def test_a_picture_is_square_and_small_even_at_the_border():
    image = np.random.default_rng(0).integers(0, 255, (300, 500, 3), np.uint8)
    for box in ([-20, -10, 60, 80], [480, 250, 40, 60], [10, 10, 400, 280], [5, 5, 3, 4]):
        cut = picture(image, np.array(box, np.float32))
        assert cut.shape[0] == cut.shape[1] <= 224
    assert picture(image, np.array([10, 10, 400, 280], np.float32)).shape[0] == 224


def test_a_picture_shows_hair_and_shoulders_and_nothing_made_up():
    """A frame in which each pixel tells where it is: the square is where it should be."""
    rows, columns = np.mgrid[0:250, 0:250].astype(np.uint8)
    image = np.dstack([columns, rows, rows])
    left, top, right, bottom = 100, 90, 140, 140  # a face
    cut = picture(image, np.array([left, top, right - left, bottom - top], np.float32))
    side = len(cut)
    assert 1.9 * 50 <= side <= 2.3 * 50
    above, below = top - int(cut[0, 0, 1]), int(cut[-1, -1, 1]) - bottom
    assert 0.35 * 50 < above < below < 0.9 * 50
    assert abs((left - int(cut[0, 0, 0])) - (int(cut[-1, -1, 0]) - right)) <= 2
    corner = picture(image, np.array([230, 0, 40, 50], np.float32))  # partly outside
    np.testing.assert_array_equal(corner, image[:side, 250 - side :])


def test_large_sharp_and_frontal_is_best():
    rng = np.random.default_rng(0)
    sharp = cv2.resize(rng.integers(0, 255, (60, 60, 3), np.uint8), (240, 240))
    landmarks = (TEMPLATE - 56) * 1.2 + 120
    box = np.array([50, 50, 140, 140], np.float32)
    best = quality(aligned(sharp, landmarks), box, landmarks)
    assert best > quality(aligned(cv2.GaussianBlur(sharp, (0, 0), 5), landmarks), box, landmarks)
    assert best > quality(
        aligned(sharp, landmarks), np.array([80, 80, 60, 60], np.float32), landmarks
    )
    aside = landmarks.copy()
    aside[2, 0] += 25  # the nose of somebody who looks to the side
    assert best > quality(aligned(sharp, aside), box, aside)
    assert 0 <= best <= 1


@pytest.mark.parametrize("points", [np.zeros((5, 2)), np.ones((5, 2)) * 7])
def test_landmarks_in_one_point_do_no_harm(points):
    image = np.zeros((50, 50, 3), np.uint8)
    assert aligned(image, points).shape == (112, 112, 3)
    assert np.isfinite(
        quality(aligned(image, points), np.array([0, 0, 10, 10], np.float32), points)
    )
