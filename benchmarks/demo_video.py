"""A sample video for ``make demo``, composed on the spot from four people's portraits.

The portraits are test pictures inside the wheel of thumbor 7.8.0 (MIT) on PyPI, 800 × 533 pixels
each. thumbor took them from Wikimedia Commons, which holds free works only, one file a person:

- Guido-portrait-2014.jpg, by Daniel Stroud, CC BY-SA 4.0;
- Giunchedi,_Filippo_January_2015_01.jpg, by Myleen Hollero for the Wikimedia Foundation,
  CC BY-SA 3.0 (the file says so itself);
- Katherine_Maher.jpg and Christophe_Henner_-_June_2016.jpg: author and licence stand at
  https://commons.wikimedia.org/wiki/File: followed by the name.

Neither the pictures nor the video are part of castlist. Whoever passes the video on names the
authors, and passes it on under the same licence.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from clip_video import Image, encode

PACKAGE = "thumbor==7.8.0"
SHA256 = "7a613cadfa2e05001ef1ebe647643679bed2f042b3d1bec3b3aa9771d95a1f88"
# One wheel for all machines, whatever runs here: nothing of it is installed or run, so that one
# hash will do, and there is nothing to build.
WHEEL = (
    "--only-binary=:all: --platform=manylinux2014_x86_64 "
    "--implementation=cp --python-version=3.11 --abi=cp311"
)
INSIDE = "thumbor/fixtures/filters/"
# Each picture, and its face: the middle and the width in pixels, read off by eye.
FACES = {
    "800px-Guido-portrait-2014.jpg": (355, 265, 234),
    "800px-Katherine_Maher.jpg": (388, 266, 198),
    "Giunchedi%2C_Filippo_January_2015_01.jpg": (402, 188, 160),
    "800px-Christophe_Henner_-_June_2016.jpg": (280, 222, 314),
}
SIZE = (640, 360)
FPS = 25
SECONDS = 2.0
# One shot a line: who (0 to 3, one or two), how much of the panel's width the face takes at the
# cut and at the end, and the light. The face drifts across the middle while the camera moves.
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
    """Return the pictures, in the order of ``FACES``; download them unless they are there."""
    pictures = [folder / name for name in FACES]
    if all(picture.is_file() for picture in pictures):
        return pictures
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        wheel = _download(Path(place))
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != SHA256:
            raise SystemExit(f"{wheel.name} is not what it was: its SHA-256 is {found}")
        with zipfile.ZipFile(wheel) as archive:
            for picture in pictures:
                picture.write_bytes(archive.read(INSIDE + picture.name))
    return pictures


def compose_demo(
    pictures: Sequence[Path],
    out: Path,
    size: tuple[int, int] = SIZE,
    fps: int = FPS,
    seconds: float = SECONDS,
) -> Path:
    """Write the video: hard cuts, slow pans and zooms, four of the shots with two people."""
    portraits = [read_portrait(picture) for picture in pictures]
    encode(out, _frames(portraits, size, round(seconds * fps)), size, fps)
    return out


def read_portrait(picture: Path) -> tuple[Image, tuple[int, int, int]]:
    """Read a picture; return it with the middle and the width of its face."""
    image = cv2.imread(str(picture))
    if image is None:
        raise SystemExit(f"{picture} cannot be read; remove it, and it will be fetched again")
    return np.asarray(image, np.uint8), FACES[picture.name]


def _download(place: Path) -> Path:
    words = f"-m pip download --quiet --disable-pip-version-check --no-deps {WHEEL} {PACKAGE}"
    result = subprocess.run(
        [sys.executable, *words.split(), "--dest", str(place)], capture_output=True, text=True
    )
    wheels = list(place.glob("*.whl"))
    if result.returncode or not wheels:
        lines = result.stderr.strip().splitlines() or ["pip said nothing"]
        raise SystemExit(
            f"The demo's pictures are in {PACKAGE} on PyPI, and pip could not get it; "
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
    """Show a portrait so that the face takes a part of the panel, a little beside the middle."""
    x, y, across = face
    width, height = size
    # Never smaller than what fills the panel: a portrait has an edge.
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
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    print(compose_demo(fetch_pictures(folder / "pictures"), folder / "sample.mp4"))


if __name__ == "__main__":
    main()
