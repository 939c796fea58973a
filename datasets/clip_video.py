"""Compose a video with known truth from clips of one person each.

``python datasets/clip_video.py CLIPS OUT.mp4`` writes the video and, beside it, OUT.truth.json.
Who is shown when and where is drawn from the seed before a frame is decoded: no detector has a
part in it, so that what a detector finds can be held against it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import av
import cv2
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

Image = NDArray[np.uint8]  # height × width × BGR
Box = tuple[int, int, int, int]  # x, y, width, height

SECONDS = (1.0, 4.0)  # of a shot
SMALL_FACE = (35.0, 50.0)  # pixels wide, whatever the size of the frame
ASPECT = (0.85, 1.15)  # of a panel; a wider or a narrower cut takes off chins or turned heads
# Where the face is in each clip: its middle, then its width, as parts of the clip's width and
# height: medians of a detector's boxes, taken once, to cut clips by. Faces move by a tenth or two
# around them, and none ever leaves.
FACES = {
    "d0": (0.50, 0.56, 0.45),
    "d3": (0.53, 0.61, 0.55),
    "d6": (0.49, 0.56, 0.48),
    "d9": (0.50, 0.52, 0.48),
    "d10": (0.48, 0.53, 0.42),
    "d11": (0.51, 0.56, 0.48),
    "d12": (0.51, 0.52, 0.39),
    "d13": (0.52, 0.45, 0.51),
    "d14": (0.45, 0.59, 0.51),
    "d18": (0.51, 0.56, 0.46),
    "d19": (0.50, 0.54, 0.50),
    "d20": (0.47, 0.45, 0.39),
}
FACE = (0.50, 0.55, 0.47)  # of a clip not in the table


@dataclass(frozen=True)
class Panel:
    """One person, and the part of the frame that shows them: x, y, width, height."""

    person: str
    box: Box


@dataclass(frozen=True)
class Shot:
    """What is shown from one cut (seconds, inclusive) to the next (exclusive)."""

    start: float
    end: float
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Clip:
    """A clip of one person; its size is as shown, rotation done."""

    path: Path
    seconds: float
    width: int
    height: int

    def cut(self, aspect: float) -> Box:
        """Return the largest part of that aspect ratio, as near around the face as it goes."""
        width = min(self.width, round(self.height * aspect))
        height = min(self.height, round(width / aspect))
        x, y, _ = FACES.get(self.path.stem, FACE)
        left = min(max(round(x * self.width - width / 2), 0), self.width - width)
        top = min(max(round(y * self.height - height / 2), 0), self.height - height)
        return left, top, width, height


@dataclass(frozen=True)
class Scene:
    """A shot, and how it is made."""

    shot: Shot
    frames: int
    begins: tuple[float, ...]  # where in its clip each panel's piece begins, seconds
    light: float
    backdrop: tuple[int, int, int] | None  # a plain colour, or the first clip, blurred


def compose(
    clips: Path,
    out: Path,
    *,
    seed: int = 0,
    size: tuple[int, int] = (640, 360),
    shots: int = 64,
    fps: int = 25,
) -> list[Shot]:
    """Write a video of hard-cut shots and return its truth.

    A quarter of the shots has two or three people side by side; a sixth has small faces, a sixth is
    dark. No two shots in a row show the same people. The truth depends on the seed, the other
    arguments and the clips' names, lengths and sizes only.
    """
    if any(side % 2 for side in size):
        raise ValueError(f"the frame's sides must be even for yuv420p, not {size}")
    known = {path.stem: _clip(path) for path in sorted(clips.glob("*.mp4"))}
    if len(known) < 2 or any(clip.seconds < SECONDS[0] for clip in known.values()):
        raise ValueError(f"{clips} must hold at least two .mp4 clips, each of a second or more")
    scenes = _plan(known, np.random.default_rng(seed), size, shots, fps)
    encode(out, (image for scene in scenes for image in _draw(scene, known, size, fps)), size, fps)
    return [scene.shot for scene in scenes]


def truth_at(shots: Sequence[Shot], time: float) -> list[tuple[str, Box]]:
    """Return the people shown at a time, and their boxes."""
    time += 1e-6  # a frame's time comes from the file's own clock: never let it fall before its cut
    return [(p.person, p.box) for s in shots if s.start <= time < s.end for p in s.panels]


def write_truth(shots: Sequence[Shot], path: Path) -> None:
    path.write_text(json.dumps([asdict(shot) for shot in shots], indent=1) + "\n")


def read_truth(path: Path) -> list[Shot]:
    return [
        Shot(s["start"], s["end"], tuple(Panel(p["person"], tuple(p["box"])) for p in s["panels"]))
        for s in json.loads(path.read_text())
    ]


def encode(out: Path, frames: Iterable[Image], size: tuple[int, int], fps: int) -> None:
    """Write frames as they come: no more than a few are in memory."""
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        codec = av.codec.Codec("libx264", "w").name
        options = {"crf": "20", "preset": "veryfast"}
    except av.codec.codec.UnknownCodecError:  # a PyAV built without it
        codec, options = "mpeg4", {"qmin": "2", "qmax": "5"}
    with av.open(str(out), "w") as container:
        stream = container.add_stream(codec, rate=fps, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        to_yuv = VideoReformatter()
        for image in frames:
            frame = av.VideoFrame.from_ndarray(image, "bgr24")
            container.mux(stream.encode(to_yuv.reformat(frame, format="yuv420p", threads=1)))
        container.mux(stream.encode())


def _plan(
    clips: Mapping[str, Clip],
    rng: np.random.Generator,
    size: tuple[int, int],
    shots: int,
    fps: int,
) -> list[Scene]:
    crowds = rng.permutation([2 + i % 3 // 2 if 4 * i < shots else 1 for i in range(shots)])
    small = rng.permutation([6 * i < shots for i in range(shots)])
    dark = rng.permutation([6 * i < shots for i in range(shots)])
    used: dict[str, list[float]] = {person: [] for person in clips}
    scenes: list[Scene] = []
    group: list[str] = []
    first = 0
    for n in range(shots):
        group = _next_group(clips, used, group, min(int(crowds[n]), len(clips) - 1), rng)
        longest = min(SECONDS[1], *(clips[person].seconds for person in group))
        frames = int(rng.integers(math.ceil(SECONDS[0] * fps), int(longest * fps) + 1))
        panels, begins = [], []
        for place, person in enumerate(group):
            cell = (place * size[0] // len(group), size[0] // len(group), size[1])
            panels.append(Panel(person, _place(clips[person], cell, bool(small[n]), rng)))
            begins.append(_begin(clips[person].seconds - frames / fps, used[person], rng))
            used[person].append(begins[-1])
        blue, green, red = (int(value) for value in rng.integers(20, 160, 3))
        scenes.append(
            Scene(
                Shot(first / fps, (first + frames) / fps, tuple(panels)),
                frames,
                tuple(begins),
                light=float(rng.uniform(0.3, 0.45)) if dark[n] else 1.0,
                backdrop=(blue, green, red) if rng.random() < 0.5 else None,
            )
        )
        first += frames
    return scenes


def _next_group(
    clips: Mapping[str, Clip],
    used: Mapping[str, list[float]],
    last: list[str],
    crowd: int,
    rng: np.random.Generator,
) -> list[str]:
    """Draw among those seen least; a person may be in two shots in a row, as in a dialogue."""
    while True:
        turn = {person: len(used[person]) + 2 * rng.random() for person in clips}
        group = sorted(clips, key=turn.__getitem__)[:crowd]
        if set(group) != set(last):
            return group


def _place(clip: Clip, cell: tuple[int, int, int], small: bool, rng: np.random.Generator) -> Box:
    """Draw the size and the place of a panel within its cell: left, width, height."""
    left, across, down = cell
    aspect = float(np.clip(across / down, *ASPECT))
    fill = min(across, down * aspect)
    if small:
        face = FACES.get(clip.path.stem, FACE)[2] * clip.width / clip.cut(aspect)[2]
        width = min(fill, float(rng.uniform(*SMALL_FACE)) / face)
    else:
        width = fill * float(rng.uniform(0.4, 1))
    w, h = int(width), int(width / aspect)
    x, y = int(rng.integers(across - w + 1)), int(rng.integers(down - h + 1))
    return left + x, y, w, h


def _begin(last: float, used: list[float], rng: np.random.Generator) -> float:
    """Draw where a piece begins, far from where earlier pieces of the clip began."""
    tries = rng.uniform(0, max(last, 0), 16)
    if not used:
        return float(tries[0])
    return float(tries[np.abs(tries[:, None] - used).min(axis=1).argmax()])


def _draw(
    scene: Scene, clips: Mapping[str, Clip], size: tuple[int, int], fps: int
) -> Iterator[Image]:
    panels = scene.shot.panels
    pieces = [
        _frames(clips[panel.person], begin, scene.frames, fps)
        for panel, begin in zip(panels, scene.begins, strict=True)
    ]
    canvas = np.empty((size[1], size[0], 3), np.uint8)
    for n, images in enumerate(zip(*pieces, strict=True)):
        if n == 0:
            canvas[:] = _blurred(images[0], size) if scene.backdrop is None else scene.backdrop
        for panel, image in zip(panels, images, strict=True):
            x, y, w, h = panel.box
            left, top, width, height = clips[panel.person].cut(w / h)
            part = image[top : top + height, left : left + width]
            method = cv2.INTER_AREA if w < width else cv2.INTER_CUBIC
            canvas[y : y + h, x : x + w] = cv2.resize(part, (w, h), interpolation=method)
        yield canvas if scene.light == 1 else (canvas * scene.light).astype(np.uint8)


def _blurred(image: Image, size: tuple[int, int]) -> Image:
    """Return a backdrop in the colours of a picture, too blurred to show a face."""
    tiny = cv2.resize(image, (8, 5), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(tiny, size, interpolation=cv2.INTER_LINEAR) * 0.6).astype(np.uint8)


def _clip(path: Path) -> Clip:
    with av.open(str(path)) as container:
        first = next(container.decode(video=0))
        height, width = _upright(first, VideoReformatter()).shape[:2]
        return Clip(path, (container.duration or 0) / av.time_base, width, height)


def _frames(clip: Clip, begin: float, count: int, fps: int) -> Iterator[Image]:
    """Yield a piece of a clip at another frame rate: at each instant, the frame on show."""
    with av.open(str(clip.path)) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        zero = float((stream.start_time or 0) * stream.time_base)
        container.seek(int((zero + begin) / stream.time_base), stream=stream)
        decoded = container.decode(stream)
        to_bgr = VideoReformatter()
        shown, ahead = next(decoded), next(decoded, None)
        for n in range(count):
            while ahead is not None and ahead.time <= zero + begin + n / fps:
                shown, ahead = ahead, next(decoded, None)
            yield _upright(shown, to_bgr)


def _upright(frame: av.VideoFrame, to_bgr: VideoReformatter) -> Image:
    # A reformatter kept from frame to frame, with one thread, is 20 times as fast as to_ndarray's.
    image = to_bgr.reformat(frame, format="bgr24", threads=1).to_ndarray()
    return np.ascontiguousarray(np.rot90(image, frame.rotation // 90), np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--shots", type=int, default=64)
    arguments = parser.parse_args()
    width, height = (int(side) for side in arguments.size.split("x"))
    shots = compose(
        arguments.clips,
        arguments.out,
        seed=arguments.seed,
        size=(width, height),
        shots=arguments.shots,
    )
    write_truth(shots, arguments.out.with_suffix(".truth.json"))
    people = {panel.person for shot in shots for panel in shot.panels}
    print(f"{arguments.out}: {shots[-1].end:.0f} s, {len(shots)} shots, {len(people)} people")


if __name__ == "__main__":
    main()
