"""Finding faces in a picture. Another detector is another class with this one method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.progress import Progress, silent
from castlist.video.frames import Image
from castlist.video.weights import DEFAULTS, fetch

#: Pictures are looked at in this width: faces of interest are large enough, and it is fast.
DETECT_WIDTH = 640


@dataclass(frozen=True)
class Faces:
    """The faces found in one picture, in its pixels.

    Attributes
    ----------
    box : ndarray of shape (n, 4)
        x, y, width, height.
    landmarks : ndarray of shape (n, 5, 2)
        Eyes, nose tip, corners of the mouth; what is left in the picture first.
    score : ndarray of shape (n,)
        How sure the detector is, 0 to 1.
    """

    box: NDArray[np.float32]
    landmarks: NDArray[np.float32]
    score: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.box)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Faces:
        return Faces(self.box[chosen], self.landmarks[chosen], self.score[chosen])


class Detector(Protocol):
    """Finds faces."""

    name: str

    def detect(self, image: Image) -> Faces:
        """Find the faces of a picture."""


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """Keep OpenCV from writing on the error stream that its new engine knows no targets."""
    before = cv2.utils.logging.getLogLevel()
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_ERROR)
    try:
        yield
    finally:
        cv2.utils.logging.setLogLevel(before)


def open_detector(progress: Progress = silent) -> Detector:
    """Open the default detector; its weights are fetched if need be."""
    return YuNet(fetch(DEFAULTS[0], progress))


class YuNet:
    """The OpenCV Zoo's YuNet.

    Parameters
    ----------
    path : path
        Its ONNX file.
    score : float
        Faces below this score are not reported.
    """

    def __init__(self, path: str | Path, score: float = 0.6) -> None:
        self.name = Path(path).stem
        self._size = (DETECT_WIDTH, DETECT_WIDTH)
        with quiet_opencv():
            self._net = cv2.FaceDetectorYN.create(str(path), "", self._size, score, 0.3, 5000)

    def detect(self, image: Image) -> Faces:
        """Find the faces of a picture."""
        height, width = image.shape[:2]
        scale = min(1.0, DETECT_WIDTH / max(height, width))
        size = (max(1, round(scale * width)), max(1, round(scale * height)))
        small = cv2.resize(image, size, interpolation=cv2.INTER_AREA) if scale < 1 else image
        if size != self._size:
            self._net.setInputSize(size)
            self._size = size
        found: Any = self._net.detect(small)[1]
        rows = np.empty((0, 15), np.float32) if found is None else np.asarray(found, np.float32)
        rows = rows[np.isfinite(rows).all(axis=1)]
        back = np.array([width / size[0], height / size[1]], np.float32)
        points = rows[:, 4:14].reshape(-1, 5, 2) * back
        return Faces(rows[:, :4] * np.tile(back, 2), points, rows[:, 14])
