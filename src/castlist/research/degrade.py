"""Degrading photographs of faces so that they look like frames of television."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.video.frames import Image

#: Ranges of face width, blur (in pixels of the small face), brightness and JPEG quality, and the
#: standard deviation of landmarks (in face widths), as in the episodes of the paper.
WIDTHS = (24.0, 120.0)
BLURS = (0.0, 1.2)
GAINS = (0.35, 1.1)
QUALITIES = (25, 80)
JITTER = 0.02


@dataclass(frozen=True)
class Look:
    """The look of a face on television: width in pixels, blur, brightness and JPEG quality."""

    width: float
    blur: float
    gain: float
    quality: int

    def varied(self, rng: np.random.Generator) -> Look:
        """Return the look at another moment of the same shot.

        Size and brightness change little within a shot; motion blur varies.
        """
        wider, lighter = rng.uniform(0.9, 1.1, 2)
        blur = float(rng.uniform(0, 1.5)) * self.blur
        return replace(self, width=wider * self.width, gain=lighter * self.gain, blur=blur)


def draw_look(rng: np.random.Generator) -> Look:
    """Return a random look."""
    return Look(
        width=float(np.exp(rng.uniform(*np.log(WIDTHS)))),
        blur=float(rng.uniform(*BLURS)),
        gain=float(rng.uniform(*GAINS)),
        quality=int(rng.integers(*QUALITIES)),
    )


def degrade(
    image: Image,
    box: NDArray[np.floating],
    landmarks: NDArray[np.floating],
    look: Look,
    rng: np.random.Generator,
) -> tuple[Image, NDArray[np.float32], NDArray[np.float32]]:
    """Return a picture shrunk, blurred, darkened and recompressed, with inexact landmarks.

    Parameters
    ----------
    image : ndarray
        The picture.
    box, landmarks : ndarrays
        Box and landmarks of its face.
    look : Look
        The look to give it. A face is never enlarged.
    rng : Generator
        Random generator for the errors of the landmarks.

    Returns
    -------
    image, box, landmarks : ndarrays
        The degraded picture, and the box and landmarks in it.
    """
    scale = min(1.0, look.width / max(float(box[2]), 1.0))
    height, across = image.shape[:2]
    size = (max(8, round(scale * across)), max(8, round(scale * height)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    if look.blur > 0.2:
        small = cv2.GaussianBlur(small, (0, 0), look.blur)
    small = np.clip(small * look.gain, 0, 255).astype(np.uint8)
    data = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, look.quality])[1]
    worse = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    ratio = np.array([size[0] / across, size[1] / height])
    moved = landmarks * ratio + rng.normal(scale=JITTER * scale * float(box[2]), size=(5, 2))
    smaller = box * np.tile(ratio, 2)
    return worse, smaller.astype(np.float32), moved.astype(np.float32)
