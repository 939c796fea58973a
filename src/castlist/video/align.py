"""Cropping faces: aligned for a describer, and with hair and shoulders to show."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.video.frames import Image, shrunk

#: Positions of eyes, nose and mouth in an aligned face of 112 × 112 pixels, as in ArcFace.
TEMPLATE = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ]
)
ALIGNED_SIDE = 112
PICTURE_SIDE = 224  # maximum side of a picture to show, in pixels
_PICTURE_SPAN = 2.1  # side of the picture in sides of the box: room for hair and shoulders
_PICTURE_ABOVE = 0.46  # share above the face's centre: shoulders need more room than hair


def aligned(image: Image, landmarks: NDArray[np.floating]) -> Image:
    """Return a face rotated, scaled and moved onto the template (least squares; Umeyama, 1991)."""
    matrix = similarity(np.asarray(landmarks, np.float64), TEMPLATE)
    side = (ALIGNED_SIDE, ALIGNED_SIDE)
    return np.asarray(cv2.warpAffine(image, matrix, side, flags=cv2.INTER_CUBIC), np.uint8)


def similarity(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 2 × 3 matrix of the similarity that best maps source points to target points."""
    from_mean, to_mean = source.mean(axis=0), target.mean(axis=0)
    x, y = source - from_mean, target - to_mean
    # In the plane a similarity is a complex number: z ↦ a z, with a = Σ z̄ w / Σ |z|².
    spread = max(float(np.square(x).sum()), 1e-9)
    a = float((x * y).sum()) / spread
    b = float((x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]).sum()) / spread
    turn = np.array([[a, -b], [b, a]])
    return np.column_stack([turn, to_mean - turn @ from_mean])


def square_around(
    box: NDArray[np.floating], side: float | None = None
) -> tuple[float, float, float]:
    """Return left, top and side of the square around a face with hair and shoulders.

    ``side`` replaces the default side, if there is no room for it.
    """
    x, y, w, h = (float(value) for value in box)
    side = max(w, h) * _PICTURE_SPAN if side is None else side
    return x + w / 2 - side / 2, y + h / 2 - side * _PICTURE_ABOVE, side


def picture(image: Image, box: NDArray[np.floating]) -> Image:
    """Return a small square picture of a face with hair and shoulders."""
    height, width = image.shape[:2]
    wanted = square_around(box)[2]
    side = min(max(1, round(wanted)), height, width)
    # At the border, move the square into the image instead of padding it.
    x, y, _ = square_around(box, side)
    left = min(max(round(x), 0), width - side)
    top = min(max(round(y), 0), height - side)
    cut = image[top : top + side, left : left + side]
    size = min(side, PICTURE_SIDE)
    return shrunk(cut, (size, size))


def quality(face: Image, box: NDArray[np.floating], landmarks: NDArray[np.floating]) -> float:
    """Return the quality of a face for recognition, 0 to 1: large, sharp and frontal is best.

    Parameters
    ----------
    face : ndarray
        The aligned face.
    box, landmarks : ndarrays
        Its box and landmarks in the image.
    """
    size = min(1.0, float(min(box[2], box[3])) / ALIGNED_SIDE)
    gray = cv2.cvtColor(face, cv2.COLOR_BGR2GRAY)
    detail = float(cv2.Laplacian(gray, cv2.CV_32F).var())
    eyes = np.asarray(landmarks[:2], np.float64)
    middle, apart = eyes.mean(axis=0), max(float(np.linalg.norm(eyes[1] - eyes[0])), 1e-3)
    aside = float(np.linalg.norm((landmarks[2] - middle) @ (eyes[1] - eyes[0]))) / apart**2
    frontal = max(0.1, 1 - 1.5 * aside)
    return size * (detail / (detail + 100)) * frontal
