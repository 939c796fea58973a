"""Making a good photograph look like a face on television."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.video.frames import Image

#: Face width, blur (in pixels of the small face), brightness, JPEG quality, and how far off
#: landmarks are (in face widths): what the faces of the paper's episodes go through.
WIDTHS = (24.0, 120.0)
BLURS = (0.0, 1.2)
GAINS = (0.35, 1.1)
QUALITIES = (25, 80)
JITTER = 0.02


@dataclass(frozen=True)
class Look:
    """How television shows a face: its width in pixels, blur, light and JPEG quality."""

    width: float
    blur: float
    gain: float
    quality: int

    def varied(self, rng: np.random.Generator) -> Look:
        """Return another moment of the same shot: nearly the same, but sharper or more blurred.

        Size and light change little within a shot; motion blur comes and goes.
        """
        wider, lighter = rng.uniform(0.9, 1.1, 2)
        blur = float(rng.uniform(0, 1.5)) * self.blur
        return replace(self, width=wider * self.width, gain=lighter * self.gain, blur=blur)


def draw_look(rng: np.random.Generator) -> Look:
    """Draw how a face is shown."""
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
    """Shrink, blur, darken and recompress a picture, and move the landmarks a little.

    Parameters
    ----------
    image : ndarray
        A picture.
    box, landmarks : ndarrays
        The face in it.
    look : Look
        What it is to look like. A face is never made larger.
    rng : Generator
        Where the landmarks' errors come from.

    Returns
    -------
    image, box, landmarks : ndarrays
        The same face, worse.
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
