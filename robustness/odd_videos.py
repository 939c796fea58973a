"""Odd videos, made on the fly, whose pictures and times are known.

Each picture shows its number and which side is up, so that whatever decodes a video can be
compared with what was drawn. ``ODD_VIDEOS[name].write(folder)`` writes one, and its attributes say
what must be found in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.small_videos import orient, write_video, write_with_sound

Image = NDArray[np.uint8]  # height × width × BGR

WIDTH, HEIGHT, FPS, COUNT = 128, 72, 25, 50
_BITS = 8
_WRAP = 2**33 / 90_000  # seconds after which the times of MPEG begin again

#: Display matrices (a, b, c, d), and what is stored so that the drawn picture is shown upright.
ORIENTATIONS: dict[str, tuple[tuple[int, int, int, int], Callable[[Image], Image]]] = {
    "as stored": ((1, 0, 0, 1), lambda image: image),
    "mirrored": ((-1, 0, 0, 1), lambda image: image[:, ::-1]),
    "upended": ((1, 0, 0, -1), lambda image: image[::-1]),
    "half turn": ((-1, 0, 0, -1), lambda image: image[::-1, ::-1]),
    "turned right": ((0, 1, -1, 0), lambda image: np.rot90(image)),
    "turned left": ((0, -1, 1, 0), lambda image: np.rot90(image, -1)),
    "transposed": ((0, 1, 1, 0), lambda image: image.swapaxes(0, 1)),
    "transposed and half turn": (
        (0, -1, -1, 0),
        lambda image: image[::-1, ::-1].swapaxes(0, 1),
    ),
}


def drawn(number: int, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Image:
    """Return a picture: bright on the upper left, and below it its number in bars, as bits."""
    image = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    image[: HEIGHT // 2, : WIDTH // 2] = 235
    for bit in range(_BITS):
        side = slice(bit * WIDTH // _BITS, (bit + 1) * WIDTH // _BITS)
        image[HEIGHT // 2 :, side] = 235 if number >> bit & 1 else 20
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_NEAREST), np.uint8)


def number_of(image: Image) -> int:
    """Return the number in a picture; -1 if it is not upright."""
    height, width = image.shape[:2]
    left, right = (
        image[height // 8 : 3 * height // 8, side].mean()
        for side in (slice(width // 8, 3 * width // 8), slice(5 * width // 8, 7 * width // 8))
    )
    if left < 180 or not 60 < right < 120:
        return -1
    middles = [(2 * bit + 1) * width // (2 * _BITS) for bit in range(_BITS)]
    row = image[5 * height // 8 : 7 * height // 8, middles].mean(axis=(0, 2))
    return sum(1 << bit for bit in range(_BITS) if row[bit] > 128)


@dataclass(frozen=True)
class OddVideo:
    """A video, and what must be found in it.

    Attributes
    ----------
    name : str
        Name of its file.
    make : callable
        Writes it to a path.
    times : tuple of float
        When its pictures are shown, in seconds from the first.
    size : (int, int)
        Width and height as shown.
    stored_size : (int, int)
        Those of stored pictures, turned upright.
    delay : float
        Seconds of sound before the first picture.
    share : float
        Part of the file that is there; less than 1 if it is truncated.
    cut_short : bool
        Whether the file tells that more was in it.
    """

    name: str
    make: Callable[[Path], Path]
    times: tuple[float, ...] = tuple(k / FPS for k in range(COUNT))
    size: tuple[int, int] = (WIDTH, HEIGHT)
    stored_size: tuple[int, int] = (WIDTH, HEIGHT)
    delay: float = 0.0
    share: float = 1.0
    cut_short: bool = False

    def write(self, folder: Path) -> Path:
        """Write the video into a folder."""
        path = self.make(folder / self.name)
        if self.share < 1:
            data = path.read_bytes()
            path.write_bytes(data[: round(self.share * len(data))])
        return path


def _pictures(turned: Callable[[Image], Image], size: tuple[int, int]) -> list[Image]:
    return [np.ascontiguousarray(turned(drawn(k, size))) for k in range(COUNT)]


def _oriented(way: str, path: Path, aspect: Fraction | None = None, height: int = HEIGHT) -> Path:
    matrix, turned = ORIENTATIONS[way]
    write_video(path, _pictures(turned, (WIDTH, height)), FPS, aspect=aspect)
    return orient(path, matrix)


def _anamorphic(path: Path, aspect: Fraction, height: int) -> Path:
    images = _pictures(ORIENTATIONS["as stored"][1], (WIDTH, height))
    return write_video(path, images, FPS, aspect=aspect)


def _timed(path: Path, times: tuple[float, ...]) -> Path:
    images = _pictures(ORIENTATIONS["as stored"][1], (WIDTH, HEIGHT))
    return write_video(path, images, FPS, "libx264", times=times, g="10")


def _late(path: Path, delay: float, start: float = 0.0) -> Path:
    images = _pictures(ORIENTATIONS["as stored"][1], (WIDTH, HEIGHT))
    sound = COUNT / FPS + delay
    return write_with_sound(path, images, FPS, sound=sound, delay=delay, start=start)


def _separate(path: Path, flags: str = "") -> Path:
    """Write pictures that are all key frames, so that half of the file has half of them."""
    images = _pictures(ORIENTATIONS["as stored"][1], (WIDTH, HEIGHT))
    container = {"movflags": flags} if flags else {}
    return write_video(path, images, FPS, "libx264", container=container, g="1")


_GAP = tuple(k / FPS + (10 if k >= 25 else 0) for k in range(COUNT))
_GAPS = tuple(k / FPS + 3 * (k // 10) for k in range(COUNT))
_WRAPPED = tuple(_WRAP - 1 + k / FPS for k in range(COUNT))


def _corpus() -> list[OddVideo]:
    videos = [OddVideo(f"{way}.mp4", partial(_oriented, way)) for way in ORIENTATIONS]
    tall, wide = (WIDTH, 128), Fraction(HEIGHT, 128)
    videos += [
        OddVideo("wide pixels.mp4", partial(_oriented, "as stored", aspect=1 / wide, height=128),
                 stored_size=tall),
        OddVideo("wide pixels.mkv", partial(_anamorphic, aspect=1 / wide, height=128),
                 stored_size=tall),
        OddVideo("narrow pixels.mkv", partial(_anamorphic, aspect=Fraction(1, 2), height=HEIGHT),
                 size=(WIDTH // 2, HEIGHT)),
        OddVideo("wide pixels, turned.mp4",
                 partial(_oriented, "turned left", aspect=wide, height=128), stored_size=tall),
        OddVideo("wide pixels, mirrored.mp4",
                 partial(_oriented, "mirrored", aspect=1 / wide, height=128), stored_size=tall),
    ]  # fmt: skip
    videos += [OddVideo(f"late{end}", partial(_late, delay=2.0), delay=2.0)
               for end in (".mp4", ".mkv", ".ts")]  # fmt: skip
    videos += [OddVideo(f"gap{end}", partial(_timed, times=_GAP), _GAP)
               for end in (".mkv", ".mp4", ".ts")]  # fmt: skip
    videos += [OddVideo("gaps.mkv", partial(_timed, times=_GAPS), _GAPS)]
    late_wrap = partial(_late, delay=2.0, start=_WRAP - 3)
    videos += [
        OddVideo("wrap.ts", partial(_timed, times=_WRAPPED)),
        OddVideo("late wrap.ts", late_wrap, delay=2.0),
    ]
    faststart = partial(_separate, flags="faststart")
    pieces = partial(_separate, flags="frag_keyframe+empty_moov")
    videos += [
        OddVideo("truncated.mkv", _separate, share=0.5, cut_short=True),
        OddVideo("truncated.mp4", faststart, share=0.5, cut_short=True),
        OddVideo("truncated.mov", faststart, share=0.5, cut_short=True),
        OddVideo("truncated.flv", _separate, share=0.5, cut_short=True),
        OddVideo("truncated.ts", _separate, share=0.5),  # states no length
        OddVideo("truncated pieces.mp4", pieces, share=0.5),
    ]  # fmt: skip
    return videos


#: All of them, by the names of their files.
ODD_VIDEOS = {video.name: video for video in _corpus()}
