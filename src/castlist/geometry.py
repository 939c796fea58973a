"""Overlaps, centres and pixels of boxes, given as x, y, width and height."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.floating]


def iou(a: Boxes, b: Boxes) -> NDArray[np.float64]:
    """Return the intersection over union of boxes, 0 (disjoint) to 1 (equal).

    Boxes without an area have 0; NaN gives NaN.

    Parameters
    ----------
    a, b : ndarray of shape (..., 4)
        Boxes, of shapes that NumPy broadcasts: row by row if both have the same number of rows.
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    low = np.maximum(a[..., :2], b[..., :2])
    high = np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:])
    shared = np.maximum(high - low, 0).prod(axis=-1)
    union = a[..., 2:].prod(axis=-1) + b[..., 2:].prod(axis=-1) - shared
    return np.asarray(shared / np.maximum(union, 1e-9))


def iou_matrix(a: Boxes, b: Boxes) -> NDArray[np.float64]:
    """Return the intersection over union of every box of ``a`` with every box of ``b``.

    Parameters
    ----------
    a, b : ndarray of shape (n, 4) and (m, 4)
        Boxes.

    Returns
    -------
    ndarray of float64, shape (n, m)
        As of :func:`iou`.
    """
    return iou(np.asarray(a)[:, None], np.asarray(b)[None])


def centres(boxes: Boxes) -> NDArray[np.floating]:
    """Return the centres of boxes, of shape (..., 2), in their own type."""
    return np.asarray(boxes[..., :2] + boxes[..., 2:] / 2)


def pixel_scale(shown: Sequence[int] | None, stored: Sequence[int] | None) -> NDArray[np.float64]:
    """Return what boxes in stored pixels are multiplied by, to be in the pixels that are shown.

    They differ in anamorphic video, whose stored pixels are not square.

    Parameters
    ----------
    shown, stored : (int, int), optional
        Width and height of the video in both. If one is not known, the pixels are the same.

    Returns
    -------
    ndarray of float64, shape (4,)
        The factors of x, y, width and height.
    """
    if not shown or not stored or min(*shown, *stored) <= 0:
        return np.ones(4)
    return np.tile(np.divide(shown, stored), 2)
