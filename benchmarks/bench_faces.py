"""How small and how tilted a face the detector finds, in scenes made of photographs.

``python benchmarks/bench_faces.py PHOTOS.zip`` pastes photographs of one face each (JPEG files of a
ZIP archive, the face in the middle) into plain 1920 × 1080 scenes and counts in how many the
detector finds the face, by the width of the face and of the picture it is shown, and by the tilt.
"""

from __future__ import annotations

import argparse
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.video.detect import WEAK, Detector, confirmed, open_detector

Image = NDArray[np.uint8]
SIZE = (1920, 1080)
COLUMNS, ROWS = 4, 3  # faces of a scene
FACE = 0.52  # of a photograph's width
WIDTHS, SHOWN, TILTS = (24, 30, 36, 48), (640, 960, 1280), (0, 20, 30, 40)


def scenes(
    photos: Path, width: float, tilt: float, count: int, seed: int = 0
) -> Iterator[tuple[Image, list[tuple[float, float]]]]:
    """Yield scenes, and the middles of the faces in them."""
    rng = np.random.default_rng(seed)
    with zipfile.ZipFile(photos) as archive:
        names = [name for name in archive.namelist() if name.endswith(".jpg")]
        for _ in range(count):
            plain = rng.integers(60, 140, (6, 10, 3)).astype(np.uint8)
            scene = cv2.resize(plain, SIZE, interpolation=cv2.INTER_CUBIC)
            middles = []
            for cell in range(COLUMNS * ROWS):
                data = archive.read(names[rng.integers(len(names))])
                photo = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
                assert photo is not None
                wide = photo.shape[1]
                scale = width / (FACE * wide)
                x = (cell % COLUMNS + 0.5) * SIZE[0] / COLUMNS
                y = (cell // COLUMNS + 0.5) * SIZE[1] / ROWS
                small = cv2.resize(photo, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
                middle = (small.shape[1] / 2, small.shape[0] / 2)
                matrix = cv2.getRotationMatrix2D(middle, tilt, 1.0)
                matrix[:, 2] += [x - middle[0], y - middle[1]]
                scene = cv2.warpAffine(
                    small, matrix, SIZE, dst=scene, borderMode=cv2.BORDER_TRANSPARENT
                )
                middles.append((x, y))
            yield np.asarray(scene, np.uint8), middles


def found(
    detector: Detector, photos: Path, width: float, shown: int, tilt: float, count: int
) -> tuple[float, float]:
    """Return the share of faces found, and processor seconds per scene."""
    hits = total = 0
    spent = 0.0
    for scene, middles in scenes(photos, width, tilt, count):
        began = time.process_time()
        faces = detector.detect(scene, shown)
        faces = confirmed(scene, faces, detector, np.zeros(len(faces), bool))
        spent += time.process_time() - began
        at = (faces.box[:, :2] + faces.box[:, 2:] / 2)[faces.score >= WEAK]
        for middle in middles:
            total += 1
            hits += bool((np.linalg.norm(at - middle, axis=1) < 0.6 * width).any())
    return hits / total, spent / count


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--scenes", type=int, default=8)
    arguments = parser.parse_args(words)
    if not arguments.photos.is_file():
        parser.error(f"{arguments.photos} is no file")
    detector = open_detector()
    print("face width:", " ".join(f"{width:5d}" for width in WIDTHS), "  ms per scene")
    for shown in SHOWN:
        row = [found(detector, arguments.photos, w, shown, 0, arguments.scenes) for w in WIDTHS]
        shares = " ".join(f"{share:5.2f}" for share, _ in row)
        print(f"shown {shown:4d}: {shares} {1000 * row[-1][1]:9.0f}", flush=True)
    print("\ntilt:      ", " ".join(f"{tilt:5d}" for tilt in TILTS))
    for width in (48, 96):
        row = [found(detector, arguments.photos, width, 1280, t, arguments.scenes) for t in TILTS]
        print(f"{width:3d} px wide:", " ".join(f"{share:5.2f}" for share, _ in row), flush=True)


if __name__ == "__main__":
    main()
