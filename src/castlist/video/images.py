"""Pictures of faces in files: photos of people, and faces to learn from."""

from __future__ import annotations

import warnings
from pathlib import Path

import cv2
import numpy as np
import PIL.Image

from castlist.errors import InputError, first_line
from castlist.io.untrusted import file_size
from castlist.video.detect import WEAK, Detector, Faces
from castlist.video.frames import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
_FORMATS = ("JPEG", "PNG", "BMP", "WEBP")
_MAX_PIXELS = 2**27  # more than any camera's
_SMALLEST_SIDE = 160  # smaller pictures are enlarged for the detector
_LONGEST_ENLARGED = 4096  # maximum side of an enlarged picture


def read_picture(path: Path) -> Image:
    """Return a picture from a file, enlarged if it is too small for the detector."""
    _require_size(path)
    try:
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error) as error:
        raise InputError(f"{path}: cannot be read as a picture ({first_line(error)})") from error
    if image is None:
        raise InputError(f"{path}: cannot be read as a picture")
    height, width = image.shape[:2]
    scale = min(_SMALLEST_SIDE / min(height, width), _LONGEST_ENLARGED / max(height, width))
    if scale > 1:
        size = (max(1, round(scale * width)), max(1, round(scale * height)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(image, np.uint8)


def _require_size(path: Path) -> None:
    """Raise an InputError for a picture whose header is damaged or states too large a size."""
    try:
        file_size(path)  # refuses a pipe, which would be waited for
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about Pillow's own size limit
            with PIL.Image.open(path, formats=_FORMATS) as picture:
                width, height = picture.size
                # Check the chunks of a PNG: OpenCV allocates the size that they state, or searches
                # for their end without end.
                picture.verify()
    except Exception as error:  # Pillow raises many types for damaged headers
        raise InputError(f"{path}: cannot be read as a picture ({first_line(error)})") from error
    if not 0 < width * height <= _MAX_PIXELS:
        raise InputError(
            f"{path}: unsupported size ({width} × {height} pixels); the limit is "
            f"{_MAX_PIXELS:,} pixels in total"
        )


def face_in(path: Path, detector: Detector) -> tuple[Image, Faces]:
    """Return a picture and its face nearest to the centre, if any."""
    picture = read_picture(path)
    faces = detector.detect(picture)
    faces = faces[faces.score >= WEAK]
    if len(faces) > 1:
        height, width = picture.shape[:2]
        middle = faces.box[:, :2] + faces.box[:, 2:] / 2 - np.array([width, height]) / 2
        away = np.linalg.norm(middle, axis=1) / faces.box[:, 2]
        faces = faces[np.array([int(np.argmin(away))])]
    return picture, faces
