"""Videos with known cuts, made from clips, photographs and drawn scenes.

``python datasets/cut_videos.py OUT --data DATA --split tune`` writes five videos per condition,
one per frame rate, each with its truth beside it. Every choice is drawn from the seed of the split.
The two splits share neither clips nor photographs: choices are made on ``tune`` and reported on
``test``. ``DATA`` holds ``clips/*.mp4`` (one take each, without cuts), ``faces/pins.zip`` and
``faces/lfw.zip``; without it all scenes are drawn.

Layout of a split's folder:

- ``<condition>-<n>.mp4``: the video.
- ``<condition>-<n>.json``: the truth (``Truth``), with times in seconds.
- ``<condition>-<n>.frames.npy``: all frames, uint8, n × height × 160 × BGR.
- ``<condition>-<n>.times.npy``: the time of each frame in seconds, float64.
"""

from __future__ import annotations

import argparse
import json
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from castlist.video.frames import Frame, open_video, shrunk

SMALL_WIDTH = 160  # pixels of the frames that detectors are given
Image = NDArray[np.uint8]  # height × width × BGR
Floats = NDArray[np.float32]
Camera = Callable[[float], tuple[float, float, float]]  # seconds -> middle x, y and width of view

SEEDS = {"tune": 1, "test": 2}
RATES = (Fraction(12), Fraction(24000, 1001), Fraction(25), Fraction(30000, 1001), Fraction(50))
SIZES = ((320, 240), (480, 360), (640, 360), (512, 288), (400, 300))
SHOTS = 8  # per video, hence seven transitions
SECONDS = (0.6, 6.0)  # of a shot between its transitions
DISSOLVE = (0.3, 1.5)  # seconds
FADE = (0.3, 1.0)  # seconds, out and in each
HOLD = (0.0, 0.6)  # seconds of black or white between
#: Codec, its options and its bit rate: television-like and low quality.
CODECS: tuple[tuple[str, dict[str, str], int], ...] = (
    ("libx264", {"crf": "21", "preset": "superfast"}, 0),
    ("libx264", {"crf": "26", "preset": "superfast"}, 0),
    ("libx264", {"crf": "35", "preset": "superfast"}, 0),
    ("mpeg4", {"g": "12", "bf": "2"}, 1_500_000),
    ("mpeg4", {"g": "100"}, 350_000),
)
CONDITIONS = ("colour", "grey", "dark", "saturated", "flashes", "dissolves", "fades")
#: Kinds of takes and how many of each are in a condition's forty.
TAKES = {
    "talk": 13,
    "still": 3,
    "handheld": 3,
    "pan": 3,
    "fast pan": 3,
    "whip pan": 3,
    "zoom": 2,
    "crash zoom": 2,
    "walker": 3,
    "light switch": 2,
    "exposure": 1,
    "title": 2,
}
MOVING = ("pan", "fast pan", "whip pan", "zoom", "crash zoom")
#: Part of the cuts, where it can be, after which the same person or place is shown at another size.
SIMILAR = 0.9
VERSION = 1  # of what is made; a change makes all videos anew
_ROOM = (1920, 600)  # pixels of a drawn place
_VIEW = 760.0  # pixels of it in the width of a long shot
_SHUTTER = 0.5  # part of a frame's time in which light falls: the blur of fast moves


@dataclass(frozen=True)
class Transition:
    """A change of shot: from its first mixed frame to the first frame of the new shot alone.

    A hard cut has no mixed frame: both times are that of the new shot's first frame.
    """

    kind: str  # cut, similar (a cut to the same person or place), dissolve, fade or white
    start: float
    end: float


@dataclass(frozen=True)
class Event:
    """Something inside a shot that is no cut, or the shot itself."""

    kind: str
    start: float
    end: float


@dataclass(frozen=True)
class Truth:
    """All that is known of a made video; times are seconds from its first frame."""

    name: str
    condition: str
    fps: float
    size: tuple[int, int]
    codec: str
    look: str
    frames: int
    transitions: tuple[Transition, ...]
    shots: tuple[Event, ...]
    events: tuple[Event, ...]  # flashes, whip pans, light switches: where false alarms are expected


@dataclass(frozen=True)
class Edit:
    """How one shot turns into the next, in frames."""

    kind: str
    out: int = 0  # frames of the old shot in the transition
    hold: int = 0  # black or white frames
    into: int = 0  # frames of the new shot in the transition


@dataclass(frozen=True)
class Take:
    """A shot before it is drawn."""

    kind: str
    subject: int  # seed of its place or number of its clip
    filmed: bool  # from a clip, otherwise in a drawn place
    size: float  # of what is shown: 1 is a long shot, 2 shows half as much
    place: float  # of the camera, from 0 to 1
    tint: int | None  # seed of the clip whose mean colour it takes
    seed: int
    frames: int
    alone: tuple[
        int, int
    ]  # frames in which no other shot is seen: the first, and one past the last


@dataclass
class Look:
    """The grading of one video, and its noise."""

    name: str
    light: float = 1.0
    grain: float = 0.0
    hue: tuple[float, float, float] | None = None  # of stage light, BGR
    boost: float = 1.0  # of saturation
    grey: bool = False
    flashes: bool = False
    _fields: list[Floats] = field(default_factory=list)

    def grade(self, image: Image, rng: np.random.Generator) -> Image:
        """Return the picture as this video shows it."""
        if self.grey:
            image = _bgr(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY))
        if self.hue is not None:
            grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)[..., None]
            image = _u8(0.12 * image + 0.88 * grey * np.array(self.hue, np.float32))
        if self.boost != 1:
            grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY).astype(np.float32)[..., None]
            image = _u8(grey + self.boost * (image - grey))
        if self.light != 1 or self.grain:
            values = image.astype(np.float32) * self.light
            if self.grain:
                values += self._noise(image.shape, rng)
            image = _u8(values)
        return image

    def _noise(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        # Fields made once and shifted by chance: normal numbers take longer than all the rest.
        high, wide = shape[:2]
        if not self._fields:
            depth = 1 if self.grey else 3
            self._fields = [
                rng.normal(0, self.grain, (high + 64, wide + 64, depth)).astype(np.float32)
                for _ in range(6)
            ]
        y, x = rng.integers(64, size=2)
        return self._fields[int(rng.integers(6))][y : y + high, x : x + wide]


class Stock:
    """The clips and photographs of one split; drawn pictures where there are none."""

    def __init__(self, data: Path | None, split: str) -> None:
        self._data = data
        self._part = sorted(SEEDS).index(split)

    @cached_property
    def clips(self) -> list[Path]:
        """All clips of this split."""
        paths = sorted((self._data / "clips").glob("*.mp4")) if self._data else []
        return paths[self._part :: 2]

    @cached_property
    def _photos(self) -> list[tuple[zipfile.ZipFile, str]]:
        found: list[tuple[zipfile.ZipFile, str]] = []
        for name in ("pins.zip", "lfw.zip") if self._data else ():
            assert self._data is not None
            archive = zipfile.ZipFile(self._data / "faces" / name)
            files = sorted(file for file in archive.namelist() if file.endswith(".jpg"))
            people = sorted({file.split("/")[1] for file in files})
            ours = set(people[self._part :: 2])
            found += [(archive, file) for file in files if file.split("/")[1] in ours]
        return found

    def photo(self, rng: np.random.Generator) -> Image:
        """Return a photograph of a face, or a drawn one."""
        if not self._photos:
            return _drawn_face(rng)
        archive, name = self._photos[int(rng.integers(len(self._photos)))]
        image = cv2.imdecode(np.frombuffer(archive.read(name), np.uint8), cv2.IMREAD_COLOR)
        return np.asarray(image, np.uint8)

    def piece(self, clip: int, begin: float, count: int, fps: float, high: int) -> list[Image]:
        """Return frames of a clip at a frame rate; a clip that ends goes on backwards."""
        with open_video(self.clips[clip]) as video:
            wide = round(high * video.size[0] / video.size[1])
            last = max(0.0, video.duration - 0.1)
            # A clip's first frame may be the last of what was before it.
            begin = max(0.1, begin * max(0.0, last - count / fps))
            kept, times = [], []
            for frame in video.frames(begin):
                if frame.time > begin + count / fps + 0.1:
                    break
                kept.append(_narrow(frame, max(wide, 2)))
                times.append(frame.time)
        images: list[Image] = []
        span = times[-1] - times[0]
        for n in range(count):
            at = (n / fps) % (2 * span) if span else 0.0
            at = times[0] + min(at, 2 * span - at)
            images.append(kept[max(0, int(np.searchsorted(times, at + 1e-6)) - 1)])
        return images


# Drawn places and people


def _drawn_face(rng: np.random.Generator) -> Image:
    image = _u8(cv2.resize(rng.uniform(30, 200, (3, 3, 3)).astype(np.float32), (190, 190)))
    skin = rng.uniform(0.4, 1.0) * np.array((140, 175, 225))
    cv2.ellipse(image, (95, 60), (55, 50), 0, 0, 360, _ink(rng.uniform(10, 120, 3)), -1)
    cv2.ellipse(image, (95, 95), (46, 62), 0, 0, 360, _ink(skin), -1)
    for x in (76, 114):
        cv2.circle(image, (x, 82), 6, (30, 30, 30), -1)
    cv2.ellipse(image, (95, 128), (18, 6), 0, 0, 360, (60, 60, 140), -1)
    return image


def _room(seed: int, stock: Stock) -> Image:
    """Draw a place with people in it, wider than any picture of it."""
    rng = np.random.default_rng([seed, 7])
    wide, high = _ROOM
    mean = stock.photo(rng).reshape(-1, 3).mean(axis=0) if rng.random() < 0.7 else None
    wall = _dull(rng.uniform(40, 200, 3), rng) if mean is None else mean * rng.uniform(0.8, 1.3)
    light = cv2.resize(rng.uniform(0.6, 1.2, (3, 6)).astype(np.float32), _ROOM)[..., None]
    room: Floats = np.ones((high, wide, 3), np.float32)
    room *= wall.astype(np.float32) * np.asarray(light, np.float32)
    floor = int(rng.uniform(0.68, 0.85) * high)
    room[floor:] *= _dull(rng.uniform(0.4, 0.8, 3), rng).astype(np.float32)
    plaster = rng.normal(0, 8, (high // 4, wide // 4)).astype(np.float32)
    room += np.asarray(cv2.resize(plaster, _ROOM), np.float32)[..., None]
    canvas = _u8(room)
    for _ in range(int(rng.integers(10, 18))):  # furniture, windows and pictures on the wall
        w, h = int(rng.uniform(60, 330)), int(rng.uniform(50, 300))
        x, y = int(rng.uniform(-50, wide)), int(rng.uniform(0, floor - h / 3))
        colour = rng.uniform(10, 120, 3) if rng.random() < 0.7 else rng.uniform(170, 250, 3)
        colour = _dull(colour, rng)
        cv2.rectangle(canvas, (x, y), (x + w, y + h), _ink(colour), -1)
        for line in range(0, h, int(rng.uniform(15, 60))):  # shelves and boards
            cv2.line(canvas, (x, y + line), (x + w, y + line), _ink(colour * 0.6), 2)
    left = rng.uniform(0, 120)
    while left < wide - 120:
        side = int(rng.uniform(150, 300))
        _seat(canvas, stock.photo(rng), int(left), int(rng.uniform(0.15, 0.5) * high), side, rng)
        left += side * rng.uniform(0.8, 1.6)
    return canvas


def _seat(canvas: Image, photo: Image, x: int, y: int, side: int, rng: np.random.Generator) -> None:
    """Draw a person: a photograph's middle without its edge, on a body."""
    coat = _ink(_dull(rng.uniform(15, 160, 3), rng))
    middle = (x + side // 2, y + int(1.5 * side))
    cv2.ellipse(canvas, middle, (int(0.55 * side), int(0.85 * side)), 0, 0, 360, coat, -1)
    face = np.asarray(cv2.resize(photo, (side, side), interpolation=cv2.INTER_AREA), np.uint8)
    _paste(canvas, face, _oval(side, side), x, y)


def _oval(wide: int, high: int) -> Floats:
    mask = np.zeros((high, wide), np.float32)
    cv2.ellipse(mask, (wide // 2, high // 2), (int(0.4 * wide), int(0.47 * high)), 0, 0, 360, 1, -1)
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), wide / 40), np.float32)


def _paste(canvas: Image, image: Image, mask: Floats, x: int, y: int) -> None:
    """Lay a picture over another where they meet."""
    high, wide = image.shape[:2]
    left, top = max(x, 0), max(y, 0)
    right, bottom = min(x + wide, canvas.shape[1]), min(y + high, canvas.shape[0])
    if left >= right or top >= bottom:
        return
    part = (slice(top - y, bottom - y), slice(left - x, right - x))
    under = canvas[top:bottom, left:right]
    alpha = mask[part][..., None]
    under[:] = _u8(alpha * image[part] + (1 - alpha) * under)


# Takes


def _wobble(rng: np.random.Generator, amount: float) -> Callable[[float], tuple[float, float]]:
    """Return how far a hand moves a camera, as parts of the view."""
    waves = rng.uniform((0.4, 0, 0.3), (4.0, 2 * math.pi, 1.0), (2, 4, 3))

    def moved(time: float) -> tuple[float, float]:
        x, y = (
            amount
            * float(np.sum(w[:, 2] / w[:, 0] ** 0.7 * np.sin(6.28 * w[:, 0] * time + w[:, 1])))
            for w in waves
        )
        return x / 2, y / 2

    return moved


def _moment(take: Take, fps: float, length: float, rng: np.random.Generator) -> float:
    """Draw when something sudden begins, in seconds: not while another shot is seen as well."""
    first, end = (frame / fps for frame in take.alone)
    return first + float(rng.uniform(0.25, 0.7)) * max(0.0, end - first - length)


def _camera(take: Take, fps: float, rng: np.random.Generator) -> tuple[Camera, list[Event]]:
    """Return the camera's path over a drawn place, and what is sudden in it."""
    wide, high = _ROOM
    seconds = take.frames / fps
    view = (_VIEW / take.size) * float(rng.uniform(0.9, 1.0))
    start = view / 2 + take.place * (wide - view)
    middle = high * float(rng.uniform(0.42, 0.58))
    hand = _wobble(rng, {"handheld": 0.03, "still": 0.0}.get(take.kind, 0.006))
    events: list[Event] = []
    sign = 1 if start < wide / 2 else -1

    def ramp(time: float, begin: float, length: float) -> float:
        part = min(max((time - begin) / length, 0.0), 1.0)
        return part * part * (3 - 2 * part)

    begin, length = 0.0, 1.0
    if take.kind in ("whip pan", "crash zoom"):
        length = float(rng.uniform(0.2, 0.4) if take.kind == "whip pan" else rng.uniform(0.3, 0.5))
        begin = _moment(take, fps, length, rng)
        events.append(Event(take.kind, begin, begin + length))
    farthest = wide - view / 2 - start if sign > 0 else start - view / 2
    reach = min(float(rng.uniform(1.2, 2.5)) * view, farthest)
    ratio = float(rng.uniform(1.8, 2.6) if take.kind == "crash zoom" else rng.uniform(1.3, 2.2))
    if rng.random() < 0.5:
        ratio = 1 / ratio
    speed = float(rng.uniform(0.6, 1.5) if take.kind == "fast pan" else rng.uniform(0.08, 0.25))
    swing = (wide - view) / 2

    def path(time: float) -> tuple[float, float, float]:
        x, width = start, view
        if take.kind in ("pan", "fast pan"):  # slows down and turns back at the ends
            phase = math.acos(min(max((start - wide / 2) / swing, -0.99), 0.99))
            x = wide / 2 + swing * math.cos(phase + speed * view / swing * time)
        elif take.kind == "whip pan":
            x += sign * reach * ramp(time, begin, length)
        elif take.kind == "zoom":
            width *= ratio ** (time / max(seconds, 0.1))
        elif take.kind == "crash zoom":
            width *= ratio ** ramp(time, begin, length)
        width = min(max(width, 200.0), 900.0)
        dx, dy = hand(time)
        return x + dx * width, middle + dy * width, width

    return path, events


def _shoot(room: Image, camera: Camera, time: float, fps: float, size: tuple[int, int]) -> Image:
    """Return what a camera sees, with the blur of its own moves."""

    def exposed(moment: float) -> Image:
        x, y, view = camera(moment)
        wide, high = size
        scale = wide / view
        x = min(max(x, view / 2), _ROOM[0] - view / 2)
        shift = (wide / 2 - scale * x, high / 2 - scale * y)
        matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]])
        flags = cv2.INTER_AREA if scale < 0.6 else cv2.INTER_LINEAR
        seen = cv2.warpAffine(room, matrix, size, flags=flags, borderMode=cv2.BORDER_REFLECT_101)
        return np.asarray(seen, np.uint8)

    before, after = camera(time), camera(time + _SHUTTER / fps)
    scale = size[0] / before[2]
    moved = scale * math.hypot(after[0] - before[0], after[1] - before[1])
    moved += abs(after[2] / before[2] - 1) * size[0] / 2
    steps = min(1 + int(moved / 4), 10)
    if steps == 1:
        return exposed(time)
    total = np.zeros((size[1], size[0], 3), np.float32)
    for step in range(steps):
        total += exposed(time + _SHUTTER / fps * step / (steps - 1))
    return _u8(total / steps)


def _in_place(
    take: Take, stock: Stock, fps: float, size: tuple[int, int]
) -> tuple[Iterator[Image], list[Event]]:
    """Draw a take in a drawn place."""
    rng = np.random.default_rng([take.seed, 11])
    room = _room(take.subject, stock)
    seconds = take.frames / fps
    camera, events = _camera(take, fps, rng)
    effects: list[Callable[[Image, float], Image]] = []
    if take.kind == "walker":
        effects.append(_walker(stock, seconds, size, rng))
    if take.kind in ("light switch", "exposure"):
        effects.append(_lights(take, fps, rng, events))
    if take.kind == "title":
        effects.append(_title(seconds, size, rng))
    if take.kind == "talk":
        effects.append(_head(stock, size, rng))

    def frames() -> Iterator[Image]:
        for n in range(take.frames):
            image = _shoot(room, camera, n / fps, fps, size)
            for effect in effects:
                image = effect(image, n / fps)
            yield image

    return frames(), events


def _filmed(
    take: Take, stock: Stock, fps: float, size: tuple[int, int]
) -> tuple[Iterator[Image], list[Event]]:
    """Draw a take from a clip."""
    rng = np.random.default_rng([take.seed, 13])
    high = min(480, round(size[1] * max(1.0, take.size)))
    images = stock.piece(take.subject, float(rng.random()), take.frames, fps, high)
    height, width = images[0].shape[:2]
    wide = min(width, height * size[0] / size[1]) / take.size
    tall = wide * size[1] / size[0]
    x = (width - wide) * (0.25 + 0.5 * take.place)
    y = (height - tall) * float(rng.uniform(0.35, 0.6))
    hand = _wobble(rng, 0.008 if rng.random() < 0.4 else 0.0)
    mirrored = take.tint is not None
    gain = np.ones(3, np.float32)
    if take.tint is not None:  # as if both were in the same room
        other = stock.piece(take.tint, 0.5, 1, fps, 120)[0].reshape(-1, 3).mean(axis=0)
        gain = np.clip(other / images[0].reshape(-1, 3).mean(axis=0), 0.5, 2).astype(np.float32)
    effects = [_title(take.frames / fps, size, rng)] if take.kind == "title" else []

    def frames() -> Iterator[Image]:
        for n, image in enumerate(images):
            dx, dy = hand(n / fps)
            left = min(max(x + dx * wide, 0), width - wide)
            top = min(max(y + dy * wide, 0), height - tall)
            scale = size[0] / wide
            matrix = np.array([[scale, 0, -scale * left], [0, scale, -scale * top]])
            warped = cv2.warpAffine(image, matrix, size, borderMode=cv2.BORDER_REPLICATE)
            seen = np.asarray(warped, np.uint8)
            if mirrored:
                seen = _u8(seen[:, ::-1] * gain)
            for effect in effects:
                seen = effect(seen, n / fps)
            yield seen

    return frames(), []


def _head(
    stock: Stock, size: tuple[int, int], rng: np.random.Generator
) -> Callable[[Image, float], Image]:
    """Return an effect that draws a nodding head: where no clips are, somebody talks."""
    side = int(size[1] * rng.uniform(0.5, 0.85))
    face = np.asarray(cv2.resize(stock.photo(rng), (side, side)), np.uint8)
    mask = _oval(side, side)
    left, top = int(rng.uniform(0.1, 0.9) * (size[0] - side)), int(0.8 * (size[1] - side))
    nod = _wobble(rng, 0.05)

    def draw(image: Image, time: float) -> Image:
        dx, dy = nod(time)
        _paste(image, face, mask, left + round(dx * side), top + round(dy * side))
        return image

    return draw


def _walker(
    stock: Stock, seconds: float, size: tuple[int, int], rng: np.random.Generator
) -> Callable[[Image, float], Image]:
    """Return an effect that lets somebody walk through the picture, near the camera."""
    high = int(size[1] * rng.uniform(0.85, 1.4))
    wide = int(high * rng.uniform(0.45, 0.6))
    figure = np.zeros((high, wide, 3), np.uint8)
    figure[:] = _ink(_dull(rng.uniform(10, 140, 3), rng))
    stripes = rng.uniform(0.8, 1.2, (high // 8 + 1, 1, 1))
    figure = _u8(figure * np.repeat(stripes, 8, axis=0)[:high])
    mask = np.zeros((high, wide), np.float32)
    cv2.ellipse(mask, (wide // 2, high), (wide // 2, int(0.68 * high)), 0, 0, 360, 1, -1)
    side = int(0.42 * high)
    head = np.asarray(cv2.resize(stock.photo(rng), (side, side)), np.uint8)
    left = (wide - side) // 2
    _paste(figure, head, np.ones((side, side), np.float32), left, 0)
    mask[:side, left : left + side] = np.maximum(mask[:side, left : left + side], _oval(side, side))
    mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), 1.5), np.float32)
    length = min(float(rng.uniform(0.7, 1.8)), seconds)
    begin = float(rng.random()) * (seconds - length)
    back = rng.random() < 0.5

    def draw(image: Image, time: float) -> Image:
        part = (time - begin) / length
        if not 0 <= part <= 1:
            return image
        part = 1 - part if back else part
        x = int(-wide + part * (size[0] + wide))
        y = size[1] - high + int(0.02 * high * (1 + math.sin(11 * time))) + max(0, high - size[1])
        _paste(image, figure, mask, x, y)
        return image

    return draw


def _lights(
    take: Take, fps: float, rng: np.random.Generator, events: list[Event]
) -> Callable[[Image, float], Image]:
    """Return an effect that switches lights, or lets the exposure drift."""
    if take.kind == "exposure":
        depth, period = float(rng.uniform(0.2, 0.4)), float(rng.uniform(1.5, 4.0))

        def drift(image: Image, time: float) -> Image:
            return _u8(image * np.float32(1 + depth * math.sin(6.28 * time / period)))

        return drift
    length = int(rng.integers(1, 4)) / fps
    begin = _moment(take, fps, length, rng)
    dark = (rng.uniform(0.4, 0.65) * rng.uniform(0.85, 1.15, 3)).astype(np.float32)
    off = rng.random() < 0.5
    events.append(Event(take.kind, begin, begin + length))

    def switch(image: Image, time: float) -> Image:
        part = min(max((time - begin) / length, 0.0), 1.0)
        part = part if off else 1 - part
        return _u8(image * (1 + part * (dark - 1)))

    return switch


def _title(
    seconds: float, size: tuple[int, int], rng: np.random.Generator
) -> Callable[[Image, float], Image]:
    """Return an effect that moves lettering over the picture."""
    wide, high = size
    words = ["CAST LIST", "Directed by", "A FILM IN COLOUR", "Part Two", "BREAKING NEWS", "Live"]
    lines = [words[int(rng.integers(len(words)))] for _ in range(4)]
    letters = high / 240 * float(rng.uniform(0.6, 1.2))
    rolling = rng.random() < 0.5
    speed = float(rng.uniform(0.15, 0.5))
    bar = not rolling and rng.random() < 0.5
    appears = float(rng.uniform(0.1, 0.5)) * seconds if bar else 0.0

    def draw(image: Image, time: float) -> Image:
        if time < appears:
            return image
        image = np.ascontiguousarray(image)
        if bar:
            cv2.rectangle(image, (0, int(0.82 * high)), (wide, int(0.95 * high)), (120, 30, 20), -1)
        for number, line in enumerate(lines):
            if rolling:
                x, y = wide // 5, high + int(number * 0.2 * high - speed * time * high)
            else:
                x = wide + int(number * 0.8 * wide - 2 * speed * (time - appears) * wide)
                y = int(0.91 * high)
            at = (x, y)
            cv2.putText(image, line, at, cv2.FONT_HERSHEY_DUPLEX, letters, (0, 0, 0), 4)
            cv2.putText(image, line, at, cv2.FONT_HERSHEY_DUPLEX, letters, (240, 240, 240), 1)
        return image

    return draw


# Videos


def _plan(
    condition: str, fps: float, kinds: Sequence[str], clips: int, rng: np.random.Generator
) -> tuple[list[Take], list[Edit]]:
    """Draw the shots of a video and the transitions between them."""
    edits = [_edit(condition, fps, rng) for _ in kinds[1:]]
    takes: list[Take] = []
    for n, kind in enumerate(kinds):
        seconds = float(np.exp(rng.uniform(*np.log(SECONDS))))
        first = edits[n - 1].into if n else 0
        end = first + math.ceil(seconds * fps)
        frames = end + (edits[n].out if n < len(edits) else 0)
        last = takes[-1] if takes else None
        filmed = clips > 0 and (kind == "talk" or (kind == "title" and rng.random() < 0.5))
        size, place = float(rng.uniform(1.0, 1.8)), float(rng.random())
        tint = None
        subject = int(rng.integers(1 << 30))
        if filmed:
            others = [i for i in range(clips) if not (last and last.filmed and last.subject == i)]
            subject = others[int(rng.integers(len(others)))]
        # After a moving camera the same place could look as before, and the cut be none.
        fixed = last is not None and last.kind not in MOVING and last.filmed == filmed
        similar = n and edits[n - 1].kind == "cut" and rng.random() < SIMILAR
        if last is not None and fixed and similar:
            edits[n - 1] = Edit("similar")
            if filmed and clips > 1 and rng.random() < 0.5:
                tint = last.subject
            else:
                subject = last.subject
                size = 1.0 if last.size > 1.4 else float(last.size * rng.uniform(1.5, 1.9))
                place = (last.place + float(rng.uniform(0.4, 0.6))) % 1
        seed = int(rng.integers(1 << 30))
        takes.append(Take(kind, subject, filmed, size, place, tint, seed, frames, (first, end)))
    return takes, edits


def _edit(condition: str, fps: float, rng: np.random.Generator) -> Edit:
    def frames(seconds: tuple[float, float]) -> int:
        return max(1, round(float(rng.uniform(*seconds)) * fps))

    if condition == "dissolves" and rng.random() < 0.65:
        length = frames(DISSOLVE)
        return Edit("dissolve", length, 0, length)
    if condition == "fades" and rng.random() < 0.65:
        hold = frames(HOLD) if rng.random() < 0.8 else 0
        return Edit("white" if rng.random() < 0.25 else "fade", frames(FADE), hold, frames(FADE))
    return Edit("cut")


def _look(condition: str, number: int, rng: np.random.Generator) -> Look:
    """Draw a video's grading."""
    if condition == "grey":
        if number % 2:
            return Look("grey", grey=True)
        return Look("grey, grain", grey=True, grain=float(rng.uniform(6, 14)))
    if condition == "dark":
        light = float(rng.uniform(0.15, 0.35))
        return Look("dark", light=light, grain=float(rng.uniform(1.5, 4)))
    if condition == "saturated":
        if number % 2:
            hue = cv2.cvtColor(
                np.array([[[rng.integers(180), 235, 255]]], np.uint8), cv2.COLOR_HSV2BGR
            )
            blue, green, red = (float(value) / 160 for value in hue[0, 0])
            return Look("stage light", hue=(blue, green, red))
        return Look("boosted", boost=float(rng.uniform(2.2, 3.5)))
    return Look(condition, flashes=condition == "flashes")


def _flashes(
    frames: int, fps: float, size: tuple[int, int], rng: np.random.Generator
) -> tuple[dict[int, Floats], list[tuple[int, int]]]:
    """Draw how much which frames of a shot are lit by flashes, and when these are."""
    lit: dict[int, Floats] = {}
    spans: list[tuple[int, int]] = []
    margin = math.ceil(0.15 * fps)
    room = frames - 2 * margin
    wide, high = size
    y, x = np.mgrid[0:high, 0:wide].astype(np.float32)
    for _ in range(int(rng.integers(1, 4)) if room > 3 else 0):
        length = int(rng.integers(1, 4))
        first = margin + int(rng.integers(max(room - length, 1)))
        spot = np.ones((high, wide, 1), np.float32)
        if rng.random() < 0.4:  # a flash that lights a part
            far = np.hypot(x - rng.uniform(0, wide), y - rng.uniform(0, high)) / wide
            spot = np.exp(-((far / rng.uniform(0.3, 0.6)) ** 2))[..., None]
        power = float(rng.uniform(0.5, 0.95))
        spans.append((first, first + length))
        for n in range(length):
            lit[first + n] = (power * (1 - 0.35 * n) * spot).astype(np.float32)
    return lit, spans


def _frames(
    takes: Sequence[Take],
    edits: Sequence[Edit],
    look: Look,
    stock: Stock,
    fps: float,
    size: tuple[int, int],
    seed: Sequence[int],
    truth: dict[str, list[Any]],
) -> Iterator[Image]:
    """Yield the frames of a video; write down what is where."""
    rng = np.random.default_rng([*seed, 17])
    shown = 0
    tail: list[Image] = []  # frames of the old shot that are in the transition
    for n, take in enumerate(takes):
        frames, events = (_filmed if take.filmed else _in_place)(take, stock, fps, size)
        edit = edits[n - 1] if n else Edit("none")
        start = shown
        if edit.kind == "dissolve":
            for number, old in enumerate(tail):
                part = (number + 1) / (len(tail) + 1)
                yield look.grade(
                    _u8((1 - part) * old.astype(np.float32) + part * next(frames)), rng
                )
            origin, shown = start, shown + len(tail)
        elif edit.kind in ("fade", "white"):
            blank = np.full((size[1], size[0], 3), 255 if edit.kind == "white" else 0, np.float32)
            for number, old in enumerate(tail):
                part = (number + 1) / (len(tail) + 1)
                yield look.grade(_u8((1 - part) * old + part * blank), rng)
            for _ in range(edit.hold):
                yield look.grade(_u8(blank), rng)
            for number in range(edit.into):
                part = (number + 1) / (edit.into + 1)
                yield look.grade(_u8(part * next(frames) + (1 - part) * blank), rng)
            origin = start + len(tail) + edit.hold
            shown = origin + edit.into
        else:
            origin = start
        if n:
            truth["transitions"].append(Transition(edit.kind, start / fps, shown / fps))
        alone = take.alone[1] - take.alone[0]
        truth["shots"].append(Event(take.kind, shown / fps, (shown + alone) / fps))
        truth["events"] += [
            Event(e.kind, e.start + origin / fps, e.end + origin / fps) for e in events
        ]
        flashes, spans = _flashes(alone, fps, size, rng) if look.flashes else ({}, [])
        truth["events"] += [Event("flash", (shown + a) / fps, (shown + b) / fps) for a, b in spans]
        for number in range(alone):
            image = next(frames)
            if number in flashes:
                power = flashes[number]
                image = _u8(image * (1 + power) + power * 150)
            yield look.grade(image, rng)
        shown += alone
        tail = list(frames)


def make_video(
    out: Path,
    condition: str,
    number: int,
    *,
    split: str = "tune",
    data: Path | None = None,
    kinds: Sequence[str] | None = None,
) -> Truth:
    """Write one video and its truth; return the truth.

    Parameters
    ----------
    out : Path
        Folder for ``<condition>-<number>.mp4`` and ``.json``.
    condition : str
        One of ``CONDITIONS``.
    number : int
        Place in ``RATES``.
    split : str
        ``tune`` or ``test``.
    data : Path, optional
        Folder of clips and photographs; without it all is drawn.
    kinds : sequence of str, optional
        Kinds of takes, see ``TAKES``; drawn by default.
    """
    stock = Stock(data, split)
    seed = [SEEDS[split], CONDITIONS.index(condition)]
    deck = np.random.default_rng(seed).permutation(
        [kind for kind, count in TAKES.items() for _ in range(count)]
    )
    codecs = np.random.default_rng([*seed, 1]).permutation(len(CODECS))
    sizes = np.random.default_rng([*seed, 2]).permutation(len(SIZES))
    seed.append(number)
    rng = np.random.default_rng([*seed, 3])
    rate, size = RATES[number], SIZES[int(sizes[number % len(SIZES)])]
    kinds = (
        [str(k) for k in deck[SHOTS * number : SHOTS * (number + 1)]] if kinds is None else kinds
    )
    look = _look(condition, number, rng)
    takes, edits = _plan(condition, float(rate), kinds, len(stock.clips), rng)
    lists: dict[str, list[Any]] = {"transitions": [], "shots": [], "events": []}
    name = f"{condition}-{number}"
    out.mkdir(parents=True, exist_ok=True)
    images = _frames(takes, edits, look, stock, float(rate), size, seed, lists)
    codec, options, bits = CODECS[int(codecs[number % len(CODECS)])]
    count = _encode(out / f"{name}.mp4", images, size, rate, codec, options, bits)
    words = " ".join(
        [codec, *(f"{k}={v}" for k, v in options.items()), *([str(bits)] * bool(bits))]
    )
    ordered = {key: tuple(value) for key, value in lists.items()}
    truth = Truth(name, condition, float(rate), size, words, look.name, count, **ordered)
    (out / f"{name}.json").write_text(json.dumps(asdict(truth), indent=1) + "\n")
    return truth


def not_there(data: Path | None) -> str | None:
    """Return what is missing in a folder of clips and photographs; None if nothing is."""
    for name in ("clips", "faces/pins.zip", "faces/lfw.zip"):
        if data is not None and not (data / name).exists():
            return f"there is no {data / name}"
    return None


def read_truth(path: Path) -> Truth:
    """Return the truth written beside a video."""
    values: Mapping[str, Any] = json.loads(path.read_text())
    return Truth(
        **{
            **values,
            "size": tuple(values["size"]),
            "transitions": tuple(Transition(**one) for one in values["transitions"]),
            "shots": tuple(Event(**one) for one in values["shots"]),
            "events": tuple(Event(**one) for one in values["events"]),
        }
    )


def _narrow(frame: Frame, width: int) -> Image:
    """Return the picture of a frame, not wider than a width."""
    image = frame.image()
    height, wide = image.shape[:2]
    if wide <= width:
        return image
    return shrunk(image, (width, max(1, round(height * width / wide))))


def decode_small(path: Path) -> tuple[NDArray[np.float64], Image]:
    """Return the times of a video's frames and the frames as the cut detector is given them."""
    with open_video(path) as video:
        pairs = [(frame.time, _narrow(frame, SMALL_WIDTH)) for frame in video.frames()]
    return np.array([time for time, _ in pairs]), np.stack([image for _, image in pairs])


def make_split(folder: Path, split: str, data: Path | None = None, workers: int = 2) -> list[Truth]:
    """Make the videos of a split and their small frames unless they are there; return the truth."""
    jobs = [(folder, c, n, split, data) for c in CONDITIONS for n in range(len(RATES))]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(_make, jobs))


def _make(job: tuple[Path, str, int, str, Path | None]) -> Truth:
    folder, condition, number, split, data = job
    name = f"{condition}-{number}"
    mark = folder / f"{name}.made"
    made = f"{VERSION} {split} {bool(data)}"
    if not mark.is_file() or mark.read_text() != made:
        cv2.setNumThreads(1)
        make_video(folder, condition, number, split=split, data=data)
        times, images = decode_small(folder / f"{name}.mp4")
        np.save(folder / f"{name}.times.npy", times)
        np.save(folder / f"{name}.frames.npy", images)
        mark.write_text(made)
    return read_truth(folder / f"{name}.json")


def _encode(
    path: Path,
    images: Iterable[Image],
    size: tuple[int, int],
    rate: Fraction,
    codec: str,
    options: dict[str, str],
    bits: int,
) -> int:
    """Write frames as they come; return how many."""
    try:
        av.codec.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:  # a PyAV built without it
        codec, options, bits = "mpeg4", {}, 1_500_000
    count = 0
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1
        if bits:
            stream.bit_rate = bits
        to_yuv = VideoReformatter()
        for image in images:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), "bgr24")
            frame = to_yuv.reformat(frame, format="yuv420p", threads=1)
            frame.pts, frame.time_base = count, 1 / rate
            container.mux(stream.encode(frame))
            count += 1
        container.mux(stream.encode())
    return count


def _u8(values: NDArray[Any]) -> Image:
    return np.asarray(np.clip(values, 0, 255), np.uint8)


def _bgr(grey: NDArray[Any]) -> Image:
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


def _dull(colour: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return a colour as rooms and clothes have them: most are nearly grey."""
    grey = colour.mean()
    return np.asarray(grey + float(rng.uniform(0.1, 0.7)) * (colour - grey))


def _ink(colour: NDArray[Any]) -> tuple[int, int, int]:
    blue, green, red = (int(min(max(value, 0), 255)) for value in colour)
    return blue, green, red


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--split", choices=sorted(SEEDS), default="tune")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if missing := not_there(arguments.data):
        parser.error(missing)
    for truth in make_split(arguments.out, arguments.split, arguments.data, arguments.workers):
        print(
            f"{truth.name}: {truth.frames / truth.fps:.0f} s, {truth.fps:.3f} frames per second, "
            f"{len(truth.transitions)} transitions, {truth.look}, {truth.codec}"
        )


if __name__ == "__main__":
    main()
