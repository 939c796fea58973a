"""Videos that are large in one way: hours, cuts, or faces in a frame."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import av
import cv2
import numpy as np

from datasets.clip_video import Image, encode
from datasets.demo_video import read_portrait

SIDE, TILE = 10, 72  # faces a row and a column, and pixels of a face's tile


def loop(clip: Path, out: Path, times: int) -> None:
    """Write a clip again and again, its packets as they are: hours take seconds."""
    with av.open(str(clip)) as source, av.open(str(out), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        packets = [packet for packet in source.demux(stream) if packet.size]
        clock = stream.time_base
        assert clock is not None
        moments = [(packet.pts or 0, packet.dts or 0) for packet in packets]
        for turn in range(times):
            late = turn * (stream.duration or 0)
            for packet, (shown, decoded) in zip(packets, moments, strict=True):
                # Muxing turns a packet's times into those of the copy's clock.
                packet.stream, packet.time_base = copy, clock
                packet.pts, packet.dts = shown + late, decoded + late
                target.mux(packet)


def portraits(pictures: Sequence[Path]) -> list[list[Image]]:
    """Cut the faces out of the demo's pictures: a list a person."""
    people = []
    for picture in pictures:
        image, (x, y, across) = read_portrait(picture)
        half = min(across, x, y, image.shape[1] - x, image.shape[0] - y)
        face = image[y - half : y + half, x - half : x + half]
        people.append([face, np.ascontiguousarray(face[:, ::-1])])
    return people


def people_in(archive: Path, count: int) -> list[list[Image]]:
    """Read the faces of those with most pictures in an archive of ``…/<person>/<picture>.jpg``."""
    with zipfile.ZipFile(archive) as file:
        of: dict[str, list[str]] = defaultdict(list)
        for name in sorted(file.namelist()):
            if name.endswith(".jpg"):
                of[name.split("/")[-2]].append(name)
        most = sorted(of, key=lambda person: (-len(of[person]), person))[:count]
        return [[_decoded(file.read(name)) for name in of[person][:20]] for person in most]


def mosaic(
    people: Sequence[Sequence[Image]], out: Path, shots: int, seconds: float, fps: int = 10
) -> None:
    """Write a video of hard-cut shots with ``SIDE`` × ``SIDE`` faces, drifting, in each.

    Everybody is in every shot, in another place and if they have one in another picture; fewer
    people than places come more than once.
    """
    size = (SIDE * TILE, SIDE * TILE)
    encode(out, _mosaics(people, shots, round(seconds * fps)), size, fps)


def _mosaics(people: Sequence[Sequence[Image]], shots: int, count: int) -> Iterator[Image]:
    rng = np.random.default_rng(0)
    for shot in range(shots):
        who = rng.permutation(np.arange(SIDE * SIDE) % len(people))
        faces = [people[k][int(rng.integers(len(people[k])))] for k in who]
        drift = rng.uniform(-0.05, 0.05, (SIDE * SIDE, 2))
        light = 1.0 if shot % 2 else 0.6  # so that every change of faces is a cut
        for step in np.linspace(-1, 1, count) if count > 1 else [0.0]:
            tiles = [_tile(face, *(step * d)) for face, d in zip(faces, drift, strict=True)]
            rows = [np.hstack(tiles[SIDE * r : SIDE * r + SIDE]) for r in range(SIDE)]
            yield (np.vstack(rows) * light).astype(np.uint8)


def _tile(face: Image, right: float, down: float) -> Image:
    """Show a face in its tile, moved by parts of the tile."""
    scale = np.array([TILE / face.shape[1], TILE / face.shape[0]])
    matrix = np.array([[scale[0], 0, TILE * right], [0, scale[1], TILE * down]])
    shown = cv2.warpAffine(
        face, matrix, (TILE, TILE), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(shown, np.uint8)


def _decoded(content: bytes) -> Image:
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    edge = [side // 7 for side in image.shape[:2]]  # where bystanders are
    return np.asarray(image[edge[0] : -edge[0], edge[1] : -edge[1]], np.uint8)
