from __future__ import annotations

import numpy as np
import pytest

from castlist.geometry import centres, iou, iou_matrix, pixel_scale

BOX = [0.0, 0, 10, 10]


def test_iou_by_hand():
    a = np.array([BOX] * 5)
    b = np.array([BOX, [5, 0, 10, 10], [5, 5, 10, 10], [10, 0, 10, 10], [2, 2, 5, 5]])
    # 100, 50, 25, 0 and 25 shared of a union of 100, 150, 175, 200 and 100.
    assert iou(a, b) == pytest.approx([1, 1 / 3, 1 / 7, 0, 1 / 4])
    assert iou(a, b[:, [1, 0, 3, 2]]) == pytest.approx([1, 1 / 3, 1 / 7, 0, 1 / 4])
    assert iou(a[0], b) == pytest.approx(iou(a, b))


def test_boxes_without_an_area_overlap_nothing():
    empty = np.zeros((1, 4))
    assert iou(empty, empty).tolist() == [0]
    assert np.isnan(iou(np.full((1, 4), np.nan), np.array([BOX]))).all()


def test_the_matrix_has_every_pair():
    rng = np.random.default_rng(0)
    a, b = (
        np.concatenate([rng.uniform(0, 9, (n, 2)), rng.uniform(1, 9, (n, 2))], 1) for n in (4, 6)
    )
    # Counted on a fine grid of points, independently of corners and areas.
    x, y = np.meshgrid(np.arange(0, 18, 0.05), np.arange(0, 18, 0.05))

    def mask(box):
        return (box[0] <= x) & (x < box[0] + box[2]) & (box[1] <= y) & (y < box[1] + box[3])

    wanted = [[(mask(p) & mask(q)).sum() / (mask(p) | mask(q)).sum() for q in b] for p in a]
    np.testing.assert_allclose(iou_matrix(a, b), wanted, atol=0.02)
    assert iou_matrix(a[:0], b).shape == (0, 6)
    np.testing.assert_array_equal(iou_matrix(a.astype(np.float32), b)[1], iou(a[1].astype("f4"), b))


def test_centres():
    assert centres(np.array([[2, 4, 10, 20]], np.float32)).tolist() == [[7, 14]]
    assert centres(np.array([2.0, 4, 10, 20])).tolist() == [7, 14]


def test_stored_pixels_become_square_ones():
    # PAL in 16:9: 576 lines are shown as 405.
    box = np.array([100, 576, 72, 288]) * pixel_scale((720, 405), (720, 576))
    assert box.tolist() == [100, 405, 72, 202.5]
    for unknown in (None, (0, 0)):
        assert pixel_scale(unknown, (720, 576)).tolist() == [1, 1, 1, 1]
