"""The paper's base CNNs (sec. 4): SE-ResNet50-256 and ResNet50 of VGGFace2, as describers.

Features are not normalised: they are what the network gives.

The release's ReadMe speaks of BGR, but it is Caffe's. These state dicts came over MatConvNet, which
turns the first layer around: their definitions list the mean in RGB order, and Oxford's own
``pytorch_feature_extractor.py`` feeds RGB. So RGB is the default; ``channels="BGR"`` is there for
weights whose first layer still is Caffe's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.errors import InputError, first_line
from castlist.extras import require

Channels = Literal["RGB", "BGR"]

#: Mean of VGGFace2's training faces, of 255, as OpenCV orders channels.
_MEAN_BGR = np.array([91.4953, 103.8827, 131.0912], np.float32)
_SHORTER_SIDE, _SIZE = 256, 224


class VggFace2Describer:
    """Describes faces with a published VGGFace2 CNN.

    Parameters
    ----------
    path : path
        The published weights; see :func:`load_vggface2`.
    name : str
        ``"SE-ResNet50-256"`` or ``"ResNet50"``.
    device : str
        Where the network runs.
    batch_size : int
        Faces at once.
    channels : {"RGB", "BGR"}
        Order of the channels that the weights take; pictures are BGR whatever it is.

    Attributes
    ----------
    name : str
        Name of the base CNN.
    dim : int
        Length of a feature.
    """

    aligned = False

    def __init__(
        self,
        path: str | Path,
        name: str = "SE-ResNet50-256",
        device: str = "cpu",
        batch_size: int = 16,
        *,
        channels: Channels = "RGB",
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size must be 1 or more, not {batch_size}")
        if channels not in get_args(Channels):
            raise InputError(f"channels are RGB or BGR, not {channels!r}")
        require("torch", f"the describer {name}")
        from castlist.video.vggface2_net import DIMS, load_vggface2

        try:
            self._net = load_vggface2(path, name).to(device)
        except (RuntimeError, AssertionError) as error:  # torch: no such device here
            raise InputError(f"device {device!r}: {first_line(error)}") from error
        self.name, self.dim = name, DIMS[name]
        self._batch_size, self._channels = batch_size, channels

    def crop(
        self, image: NDArray[np.uint8], box: NDArray[np.floating], landmarks: object = None
    ) -> NDArray[np.uint8]:
        """Cut out a face with its whole head; landmarks are not needed."""
        x, y, width, height = extend_box(box, image.shape)
        return image[y : y + height, x : x + width].copy()  # not a view that keeps the picture

    def describe(self, crops: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Describe faces.

        Parameters
        ----------
        crops : sequence of uint8 arrays of shape (height, width, 3)
            BGR, cut out by :meth:`crop`.

        Returns
        -------
        float32 array of shape (n, dim)
            One feature a face.
        """
        features = np.empty((len(crops), self.dim), np.float32)
        for start in range(0, len(crops), self._batch_size):
            some = crops[start : start + self._batch_size]
            batch = np.stack([as_input(one, self._channels) for one in some])
            features[start : start + len(some)] = self._net.features(batch)
        return features


def extend_box(
    box: ArrayLike, image_shape: Sequence[int], by: float = 0.3
) -> tuple[int, int, int, int]:
    """Extend a face's box, so that it has the whole head in it, and keep it inside the image.

    Parameters
    ----------
    box : (x, y, width, height)
        In pixels.
    image_shape : (height, width, ...)
        Shape of the image it is in.
    by : float
        Width and height grow by this share.

    Returns
    -------
    (x, y, width, height) : tuple of int
        Cut it out with ``image[y : y + height, x : x + width]``.
    """
    given = np.asarray(box, float).tolist()
    x, y, width, height = given
    if not all(map(math.isfinite, given)) or width <= 0 or height <= 0:
        raise InputError(f"a box is x, y, width and height, the last two above 0, not {given}")
    # VGGFace2's "extended by a factor 0.3 (except the extension outside image)": each side grows to
    # 1.3 times its length about the same centre, 0.15 at either end (Oxford's demo_ijbb.m).
    left, right = _inside(x, width, by, int(image_shape[1]))
    top, bottom = _inside(y, height, by, int(image_shape[0]))
    if left >= right or top >= bottom:
        raise InputError(
            f"the box {given} has no pixel in its image of {image_shape[1]} × {image_shape[0]}"
        )
    return left, top, right - left, bottom - top


def as_input(crop: NDArray[np.uint8], channels: Channels = "RGB") -> NDArray[np.float32]:
    """Turn the BGR crop of an extended box into the network's input, (3, 224, 224).

    The shorter side becomes 256, the middle 224 × 224 pixels stay, the training faces' mean goes.
    """
    if crop.dtype != np.uint8 or crop.ndim != 3 or crop.shape[2] != 3 or crop.size == 0:
        raise InputError(
            f"a crop is a uint8 array (height, width, 3), not {crop.dtype} of shape {crop.shape}"
        )
    scale = _SHORTER_SIDE / min(crop.shape[:2])
    height, width = (round(side * scale) for side in crop.shape[:2])
    resized = cv2.resize(crop, (width, height), interpolation=cv2.INTER_LINEAR)
    top, left = (height - _SIZE) // 2, (width - _SIZE) // 2
    middle = resized[top : top + _SIZE, left : left + _SIZE].astype(np.float32) - _MEAN_BGR
    if channels == "RGB":
        middle = middle[:, :, ::-1]
    return np.ascontiguousarray(middle.transpose(2, 0, 1))


def _inside(start: float, length: float, by: float, limit: int) -> tuple[int, int]:
    """Both ends of an extended side, rounded, within 0 and the limit."""
    grown = length * by / 2
    return max(0, round(start - grown)), min(limit, round(start + length + grown))
