"""Make photographs of faces look like television, through real codecs.

``python datasets/television_faces.py LFW PEOPLE OUT --count 60000`` fills small mosaics with
photographs of the people listed in the file PEOPLE, moves them over a few frames, degrades and
encodes these as television does (H.264, MPEG-2 and MPEG-4 at low bit rates, interlacing, grain,
ghosts), decodes them, and detects the faces anew, as a scan would. So landmarks are as wrong as
they are in a scan. OUT gets the aligned faces (``crops.npy``), which photograph each shows, in
which mosaic and how wide it was (``faces.npz``), and every photograph as it is (``clean.npy``).

With ``--describe OUT.parquet``, the faces that are in OUT are described and written as labelled
tracks: those of one photograph in one mosaic are a track, with their mean feature.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from castlist import TrackSet, write_tracks
from castlist.cli.common import progress as progress_bar
from castlist.cli.common import read_names
from castlist.progress import Progress
from castlist.video.align import ALIGNED_SIDE, aligned
from castlist.video.describe import DEFAULT_DESCRIBER, Describer, open_describer
from castlist.video.detect import Detector, open_detector
from castlist.video.frames import Image
from castlist.video.images import face_in
from datasets.recast import photographs

SMALL, LARGE = (12.0, 50.0), (50.0, 110.0)  # widths of faces, in pixels
NEARLY_CLEAN = 0.4  # part of the mosaics with large faces
MOST_PHOTOS = 24  # of a mosaic: as many small faces as large ones
FRAMES, TAKEN = 6, (2, 5)  # of a mosaic, and those that faces are taken from
RATE = 25
MOSAICS = 8  # made at once
DESCRIBED_AT_ONCE = 512
CODECS = ("libx264", "mpeg2video", "mpeg4")


@dataclass(frozen=True)
class Photo:
    """A photograph, and the face in it."""

    image: Image
    box: NDArray[np.float32]
    landmarks: NDArray[np.float32]


@dataclass(frozen=True)
class Broadcast:
    """How a mosaic is shown.

    Attributes
    ----------
    width : float
        Pixels of a face.
    soft : float
        Part of the resolution that is left: video is often enlarged before it is sent.
    grain, ghost, shift : float, float, int
        Standard deviation of film grain; strength and distance of an echo.
    grey, interlaced : bool
        Black and white; every field shown by itself.
    codec, quality : str, float
        How it is encoded, 0 (worst) to 1.
    """

    width: float
    soft: float
    grain: float
    ghost: float
    shift: int
    grey: bool
    interlaced: bool
    codec: str
    quality: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Broadcast:
        """Draw one."""
        clean = rng.random() < NEARLY_CLEAN
        return cls(
            width=float(np.exp(rng.uniform(*np.log(LARGE if clean else SMALL)))),
            soft=float(rng.uniform(0.7, 1.0) if clean else rng.uniform(0.45, 1.0)),
            grain=float(rng.choice([0.0, rng.uniform(1, 9)])),
            ghost=float(rng.choice([0.0, 0.0, 0.0, rng.uniform(0.05, 0.3)])),
            shift=int(rng.integers(2, 7)),
            grey=bool(rng.random() < 0.25),
            interlaced=bool(not clean and rng.random() < 0.2),
            codec=str(rng.choice(CODECS)),
            quality=float(rng.uniform(0.5, 1.0) if clean else rng.uniform(0, 1.0)),
        )


def compose(
    photos: list[Photo], cast: Broadcast, columns: int, rng: np.random.Generator
) -> tuple[list[Image], NDArray[np.float64]]:
    """Return the frames of a mosaic before they are encoded, and where the faces are at first.

    Every photograph moves, by up to a quarter of the face over all frames, in light of its own.
    """
    tile = max(16, 2 * round(1.1 * cast.width))
    rows = -(-len(photos) // columns)
    frames = [np.full((rows * tile, columns * tile, 3), 90, np.uint8) for _ in range(FRAMES)]
    middles = np.empty((len(photos), 2))
    for k, photo in enumerate(photos):
        top, left = tile * (k // columns), tile * (k % columns)
        scale = cast.width * rng.uniform(0.85, 1.15) / float(photo.box[2])
        small = _smaller(photo.image, min(1.0, scale * cast.soft), float(rng.uniform(0, 0.9)))
        light = (rng.uniform(0.4, 1.15), rng.uniform(-25, 25), np.exp(rng.uniform(-0.35, 0.35)))
        small = _lit(small, *light)
        scale /= small.shape[1] / photo.image.shape[1]
        face = (photo.box[:2] + photo.box[2:] / 2) * small.shape[1] / photo.image.shape[1]
        angle, moved = np.deg2rad(rng.normal(0, 6)), rng.uniform(-0.25, 0.25, 2) * cast.width
        cos, sin = scale * np.cos(angle), scale * np.sin(angle)
        turn = np.array([[cos, -sin], [sin, cos]])
        mirrored = rng.random() < 0.5
        if mirrored:
            small = np.ascontiguousarray(small[:, ::-1])
            face[0] = small.shape[1] - face[0]
        start = np.array([tile / 2, tile / 2]) + rng.uniform(-0.06, 0.06, 2) * tile
        middles[k] = np.array([left, top]) + start
        for n, frame in enumerate(frames):
            there = start + moved * n / (FRAMES - 1)
            matrix = np.column_stack([turn, there - turn @ face])
            cut = cv2.warpAffine(
                small, matrix, (tile, tile), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
            )
            frame[top : top + tile, left : left + tile] = cut
    return [_worse(frame, cast, rng) for frame in frames], middles


def _smaller(image: Image, scale: float, blur: float) -> Image:
    side = (max(6, round(scale * image.shape[1])), max(6, round(scale * image.shape[0])))
    small = cv2.resize(image, side, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.GaussianBlur(small, (0, 0), blur) if blur > 0.3 else small, np.uint8)


def _lit(image: Image, gain: float, offset: float, gamma: float) -> Image:
    levels = 255 * (np.arange(256) / 255) ** gamma
    return np.asarray(cv2.LUT(image, np.clip(levels * gain + offset, 0, 255).astype(np.uint8)))


def _worse(frame: Image, cast: Broadcast, rng: np.random.Generator) -> Image:
    """Return a frame with grain, echo, half of its lines, and in grey, as drawn."""
    x = frame.astype(np.float32)
    if cast.ghost:
        x = (1 - cast.ghost) * x + cast.ghost * np.roll(x, cast.shift, axis=1)
    if cast.grain:
        x += rng.normal(0, cast.grain, (*x.shape[:2], 1)).astype(np.float32)
    if cast.grey:
        x = np.repeat(x @ np.array([[0.114], [0.587], [0.299]], np.float32), 3, axis=2)
    if cast.interlaced:
        half = cv2.resize(x[::2], (x.shape[1], x.shape[0]), interpolation=cv2.INTER_LINEAR)
        x = half.astype(np.float32)
    return np.clip(x, 0, 255).astype(np.uint8)


def sent(frames: list[Image], cast: Broadcast) -> list[Image]:
    """Return frames as they are after being encoded and decoded."""
    file = io.BytesIO()
    height, width = (n - n % 2 for n in frames[0].shape[:2])
    with av.open(file, "w", format="matroska") as out:
        stream: Any = out.add_stream(cast.codec, RATE)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        if cast.codec == "libx264":
            stream.options = {"crf": str(round(38 - 18 * cast.quality)), "preset": "veryfast"}
        else:  # a quantiser of 2 (best) to 31
            q = str(round(18 - 15 * cast.quality))
            stream.options = {"qmin": q, "qmax": q, "bf": "2"}
        for n, frame in enumerate(frames):
            image = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(frame[:height, :width]), format="bgr24"
            )
            image.pts = n
            out.mux(stream.encode(image))
        out.mux(stream.encode(None))
    file.seek(0)
    with av.open(file, "r") as back:
        return [
            np.asarray(one.to_ndarray(format="bgr24"), np.uint8) for one in back.decode(video=0)
        ]


def faces_of_mosaic(
    photos: list[Photo], detector: Detector, rng: np.random.Generator
) -> Iterator[tuple[int, float, Image]]:
    """Yield which photograph, the width found, and the aligned face, of one drawn mosaic."""
    cast = Broadcast.draw(rng)
    columns = max(1, int((640 if cast.width < 50 else 960) // (2.2 * cast.width)))
    rows = max(1, int((360 if cast.width < 50 else 540) // (2.2 * cast.width)))
    chosen = rng.choice(len(photos), min(len(photos), columns * rows, MOST_PHOTOS), replace=False)
    frames, middles = compose([photos[k] for k in chosen], cast, columns, rng)
    shown = sent(frames, cast)
    for n in TAKEN:
        if n >= len(shown):
            continue
        found = detector.detect(shown[n], 4096)
        centre = found.box[:, :2] + found.box[:, 2:] / 2
        for k, middle in zip(chosen, middles, strict=True):
            near = np.flatnonzero(np.abs(centre - middle).max(axis=1) < 0.5 * cast.width)
            near = near[(found.score[near] >= 0.6)]
            size = found.box[near, 2]
            near = near[(size > 0.5 * cast.width) & (size < 1.9 * cast.width)]
            if len(near):
                best = near[found.score[near].argmax()]
                crop = aligned(shown[n], found.landmarks[best])
                yield int(k), float(found.box[best, 2]), crop


def read_photos(folder: Path, people: Path) -> tuple[list[Photo], list[str]]:
    """Return the photographs in which a face is found, and the person of each."""
    detector = open_detector()
    photos, who = [], []
    for person, paths in sorted(photographs(folder, read_names(people)).items()):
        for path in paths:
            image, faces = face_in(path, detector)
            if len(faces):
                photos.append(Photo(image, faces.box[0], faces.landmarks[0]))
                who.append(person)
    return photos, who


_photos: list[Photo] = []  # of a worker process, set before it is forked


def _batch(seed: int) -> list[tuple[int, int, float, Image]]:
    rng = np.random.default_rng(seed)
    detector = open_detector()
    return [
        (MOSAICS * seed + k, *face)
        for k in range(MOSAICS)
        for face in faces_of_mosaic(_photos, detector, rng)
    ]


def described(folder: Path, describer: Describer, progress: Progress) -> TrackSet:
    """Return the faces of a folder as labelled tracks, one per photograph and mosaic."""
    crops, faces = np.load(folder / "crops.npy", mmap_mode="r"), np.load(folder / "faces.npz")
    features = []
    for k in range(0, len(crops), DESCRIBED_AT_ONCE):
        progress("describing", k, len(crops))
        features.append(describer.describe(list(crops[k : k + DESCRIBED_AT_ONCE])))
    name = np.char.add(np.char.add(faces["mosaic"].astype(str), "/"), faces["photo"].astype(str))
    # What stands for a track is the mean of its faces.
    ids, first, code = np.unique(name, return_index=True, return_inverse=True)
    means = np.zeros((len(ids), features[0].shape[1]))
    np.add.at(means, code, np.concatenate(features))
    means /= np.bincount(code)[:, None]
    side, none = faces["width"][first], np.zeros(len(ids))
    return TrackSet.from_faces(
        ids, feature=means.astype(np.float32), identity=faces["who"][faces["photo"][first]],
        box=np.stack([none, none, side, side], axis=1), video="television",
        describer=describer.name,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("people", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--describe", type=Path, help="write the faces in OUT as tracks, here")
    parser.add_argument("--describer", default=DEFAULT_DESCRIBER)
    given = parser.parse_args()
    if given.describe:
        with progress_bar() as report:
            describer = open_describer(given.describer)
            write_tracks(given.describe, described(given.out, describer, report))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    cv2.setNumThreads(1)  # threads do not survive the fork below
    photos, who = read_photos(given.photographs, given.people)
    _photos.extend(photos)
    np.save(given.out / "clean.npy", np.stack([aligned(p.image, p.landmarks) for p in photos]))
    shape = (given.count, ALIGNED_SIDE, ALIGNED_SIDE, 3)
    crops = np.lib.format.open_memmap(given.out / "crops.npy", "w+", np.uint8, shape)
    mosaic, photo = np.empty((2, given.count), np.int64)
    width = np.empty(given.count, np.float32)
    done, seed = 0, 1000 * given.seed
    with ProcessPoolExecutor(2) as pool:
        while done < given.count:
            seeds = range(seed, seed + 16)
            seed += 16
            for faces in pool.map(_batch, seeds):
                for face in faces[: given.count - done]:
                    mosaic[done], photo[done], width[done], crops[done] = face
                    done += 1
            print(f"{done} of {given.count} faces", flush=True)
    crops.flush()
    np.savez(given.out / "faces.npz", mosaic=mosaic, photo=photo, width=width, who=np.array(who))


if __name__ == "__main__":
    main()
