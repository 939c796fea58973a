"""Detecting faces in an image.

Other packages can add detectors, classes with the methods of `Detector` (``docs/plugins``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.plugins import plugins
from castlist.video.frames import Image, shrunk
from castlist.video.inference import Input, check_device, open_network
from castlist.video.tracking_settings import TrackingSettings
from castlist.video.weights import DEFAULTS, fetch

DEFAULT_DETECTOR = DEFAULTS[0]
#: Width to which every sampled frame is scaled down: fast, and most faces are large enough.
LOOK_WIDTH = 640
#: Once per second frames are wider, to detect small faces: a share of the video's width, at most
#: the second value.
WIDE_SHARE, WIDEST = 2 / 3, 1280
#: Width of the smallest face that is detected, in pixels of the network's input. Half of the faces
#: of this width are detected per frame (``docs/development/performance.md``).
SMALLEST = 15.0

_CANDIDATE = 0.35  # minimum score of a candidate, which a close-up has to confirm
_CLEAR = 0.8  # score from which on no close-up is needed
#: Pixels between the cells of the network's three grids.
STRIDES = (8, 16, 32)
_OVERLAP = 0.3  # IoU above which two candidates are one face
_CLOSE_SIDE = 128  # side of a close-up in pixels
_CLOSE_FACE = 64  # side of the face in it
#: Score below which a close-up has to confirm a candidate.
WEAK = 0.6
_TILT = 30.0  # degrees by which close-ups are rotated to detect tilted heads
_NEAR = 0.8  # minimum score of a close-up that confirms a weak candidate …
_TILTED = 0.88  # … and of a rotated close-up


def wide_width(width: int) -> int:
    """Return the default width of the frames of a video in which small faces are detected."""
    return round(min(width, max(LOOK_WIDTH, min(WIDE_SHARE * width, WIDEST))))


def smallest_face(size: tuple[int, int], settings: TrackingSettings) -> int:
    """Return the width of the smallest face that can be detected in a video, in its pixels."""
    longest = max(size)
    looked = min(longest, settings.look_width or wide_width(longest))
    return max(settings.min_face, math.ceil(SMALLEST * longest / looked))


@dataclass(frozen=True)
class Faces:
    """The faces of one image, in its pixels.

    Attributes
    ----------
    box : ndarray of shape (n, 4)
        x, y, width, height.
    landmarks : ndarray of shape (n, 5, 2)
        Eyes, nose tip, corners of the mouth; the left one in the image first.
    score : ndarray of shape (n,)
        Detection score, 0 to 1.
    """

    box: NDArray[np.float32]
    landmarks: NDArray[np.float32]
    score: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.box)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Faces:
        return Faces(self.box[chosen], self.landmarks[chosen], self.score[chosen])

    @classmethod
    def none(cls) -> Faces:
        """Return no faces."""
        shapes = ((0, 4), (0, 5, 2), (0,))
        return cls(*(np.empty(shape, np.float32) for shape in shapes))

    @classmethod
    def all(cls, some: Sequence[Faces]) -> Faces:
        """Return the concatenation of faces of the same image."""
        columns = zip(*((one.box, one.landmarks, one.score) for one in some), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


class Detector(Protocol):
    """A detector of faces."""

    name: str

    def detect(self, image: Image, width: int = LOOK_WIDTH) -> Faces:
        """Return candidates for faces in an image, scaled down to a width if it is wider."""

    def closer(
        self, image: Image, box: NDArray[np.floating], turn: float = 0.0, mirror: bool = False
    ) -> Faces:
        """Return the face at a box in a close-up, rotated or mirrored: one face, or none."""


def open_detector(choice: str = DEFAULT_DETECTOR, device: str = "cpu") -> Detector:
    """Return a detector, chosen by name.

    Parameters
    ----------
    choice : str
        ``yunet``, or the name of a plugin.
    device : str
        A key of :data:`castlist.video.inference.DEVICES`.
    """
    check_device(device)
    if choice == DEFAULT_DETECTOR:
        return YuNet(fetch(choice), device)
    added = plugins("detectors")
    if choice not in added:
        names = ", ".join([DEFAULT_DETECTOR, *added])
        raise InputError(f"unknown detector {choice!r}; choose from {names}")
    detector: Detector = added[choice].open(device)
    return detector


class YuNet:
    """YuNet, the face detector of the OpenCV Zoo.

    Parameters
    ----------
    path : path
        Its ONNX file, for images of any size (``scripts/yunet_any_size.py``).
    device : str
        A key of :data:`castlist.video.inference.DEVICES`.
    """

    def __init__(self, path: str | Path, device: str = "cpu") -> None:
        self.name = Path(path).stem
        self._network = open_network(path, Input(), device)

    def _found(self, image: Image) -> Faces:
        """Return candidates for faces in an image of any size, unscaled."""
        height, width = (-(-side // STRIDES[-1]) * STRIDES[-1] for side in image.shape[:2])
        padded = np.zeros((1, height, width, 3), np.uint8)
        padded[0, : image.shape[0], : image.shape[1]] = image
        outputs = [one[0] for one in self._network(padded)]
        return suppress_overlaps(decoded(outputs, width), _OVERLAP)

    def detect(self, image: Image, width: int = LOOK_WIDTH) -> Faces:
        """Return candidates for faces in an image, scaled down to a width if it is wider."""
        height, wide = image.shape[:2]
        scale = min(1.0, width / max(height, wide))
        size = (max(1, round(scale * wide)), max(1, round(scale * height)))
        small = shrunk(image, size) if scale < 1 else image
        faces = self._found(small)
        back = np.array([wide / size[0], height / size[1]], np.float32)
        return Faces(faces.box * np.tile(back, 2), faces.landmarks * back, faces.score)

    def closer(
        self, image: Image, box: NDArray[np.floating], turn: float = 0.0, mirror: bool = False
    ) -> Faces:
        """Return the face at a box in a close-up: one face, or none.

        Parameters
        ----------
        image, box
            The image, and the box of the candidate.
        turn : float
            Degrees by which the close-up is rotated, anticlockwise.
        mirror : bool
            Whether the close-up is mirrored.
        """
        middle = np.asarray(box[:2] + box[2:] / 2, np.float64)
        scale = _CLOSE_FACE / max(float(box[2]), 0.8 * float(box[3]), 1.0)
        angle = np.deg2rad(turn)
        cos, sin = scale * np.cos(angle), scale * np.sin(angle)
        across = np.array([[cos, sin], [-sin, cos]])
        if mirror:
            across[0] *= -1
        there = np.column_stack([across, _CLOSE_SIDE / 2 - across @ middle])
        side = (_CLOSE_SIDE, _CLOSE_SIDE)
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        cut = cv2.warpAffine(image, there, side, flags=method, borderMode=cv2.BORDER_REPLICATE)
        found = self._found(np.asarray(cut, np.uint8))
        off = np.abs(found.box[:, :2] + found.box[:, 2:] / 2 - _CLOSE_SIDE / 2).max(axis=1)
        found = found[off < _CLOSE_FACE / 3]
        found = found[np.argsort(-found.score, kind="stable")[:1]]
        back = np.asarray(cv2.invertAffineTransform(there), np.float64)
        centre = _moved(found.box[:, :2] + found.box[:, 2:] / 2, back)
        size = found.box[:, 2:] / np.float32(scale)
        points = _moved(found.landmarks, back)
        if mirror:  # the left one in the image first
            points = points[:, [1, 0, 2, 4, 3]]
        return Faces(np.concatenate([centre - size / 2, size], axis=1), points, found.score)


def confirmed(image: Image, faces: Faces, detector: Detector, known: NDArray[np.bool_]) -> Faces:
    """Return faces with new scores, after detection in close-ups of doubtful ones.

    Weak candidates are detected again in close-ups, mirrored, and rotated to both sides. This
    lowers the score of backs of heads and hands, and raises that of tilted faces.

    Parameters
    ----------
    image, faces, detector
        The image, its candidates, and the detector.
    known : ndarray of bool, shape (len(faces),)
        Candidates at which a face is expected. They need no close-up.
    """
    score, landmarks = faces.score.copy(), faces.landmarks.copy()
    score[known] = np.maximum(score[known], WEAK)
    for k in np.flatnonzero((faces.score < _CLEAR) & ~known).tolist():
        box, first = faces.box[k], float(faces.score[k])
        near = _close_up(detector, image, box)[0]
        if first >= WEAK:
            score[k] = max(WEAK, 0.7 * first + 0.3 * near)
            continue
        # A confirmed weak face may be part of a track, but is no evidence for one …
        score[k] = WEAK if near >= _NEAR else 0.0
        for turn in (-_TILT, _TILT) if near < _NEAR else ():
            near, found = _close_up(detector, image, box, turn)
            if near >= _TILTED:  # … unless it is weak because it is tilted
                score[k], landmarks[k] = (first + near) / 2, found.landmarks[0]
                break
    return Faces(faces.box, landmarks, score)


def _close_up(
    detector: Detector, image: Image, box: NDArray[np.floating], turn: float = 0.0
) -> tuple[float, Faces]:
    """Return the lower score of a close-up and its mirror image, and the face."""
    found = detector.closer(image, box, turn)
    if not len(found) or found.score[0] < WEAK:
        return 0.0, found
    mirrored = detector.closer(image, box, turn, mirror=True)
    return min(float(found.score[0]), float(mirrored.score.sum())), found


def decoded(outputs: Sequence[NDArray[np.float32]], width: int) -> Faces:
    """Return the candidates in the network's outputs, best first.

    Every cell of three grids has one candidate. Its box and landmarks are relative to the cell, in
    units of the stride; the size of the box is a logarithm. Its score is the geometric mean of a
    class score and an object score.

    Parameters
    ----------
    outputs : sequence of 12 ndarrays
        Class scores for each stride, then object scores, boxes and landmarks likewise; one row per
        cell.
    width : int
        Width of the network's input, in pixels.
    """
    found = [Faces.none()]
    for k, stride in enumerate(STRIDES):
        of_class, of_object, box, point = outputs[k :: len(STRIDES)]
        square = of_class[:, 0] * of_object[:, 0]
        kept = np.flatnonzero(square >= _CANDIDATE**2)
        if not len(kept):  # the usual case
            continue
        row, column = np.divmod(kept, width // stride)
        place = np.stack([column, row], axis=1).astype(np.float32)
        middle, size = (place + box[kept, :2]) * stride, np.exp(box[kept, 2:]) * stride
        landmarks = (place[:, None] + point[kept].reshape(-1, 5, 2)) * stride
        boxes = np.concatenate([middle - size / 2, size], axis=1)
        found.append(Faces(boxes, landmarks, np.sqrt(square[kept])))
    faces = found[0] if len(found) == 1 else Faces.all(found)
    values = np.concatenate([faces.box, faces.landmarks.reshape(-1, 10)], axis=1)
    faces = faces[np.isfinite(values).all(axis=1)]
    return faces[np.argsort(-faces.score, kind="stable")]


def suppress_overlaps(faces: Faces, overlap: float) -> Faces:
    """Return faces, best first, without those whose IoU with a better one is above ``overlap``."""
    kept: list[int] = []
    corner, area = faces.box[:, :2] + faces.box[:, 2:], faces.box[:, 2:].prod(axis=1)
    waiting = np.arange(len(faces))
    while len(waiting):
        best, waiting = int(waiting[0]), waiting[1:]
        kept.append(best)
        first = np.maximum(faces.box[best, :2], faces.box[waiting, :2])
        inside = (np.minimum(corner[best], corner[waiting]) - first).clip(0).prod(axis=1)
        waiting = waiting[inside <= overlap * (area[best] + area[waiting] - inside)]
    return faces[np.array(kept, np.int64)]


def _moved(points: NDArray[np.floating], matrix: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return points transformed by a 2 × 3 matrix."""
    return (points @ matrix[:, :2].T + matrix[:, 2]).astype(np.float32)
