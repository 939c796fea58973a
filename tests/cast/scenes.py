"""The tracks of a drawn video as several scans find them, and the moments that they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from castlist import TrackSet
from castlist.cast.cast_file import RUN
from datasets.synthetic_casts import write_folder
from tests.cast.model import STRANGER, Moment, Moments

TENTH = 0.8  # seconds
TOGETHER, APART = 10 * TENTH, 9.0  # seconds: of a face, and between the beginnings of two

#: Where tracks begin besides 0, by the face modulo 3: in tenths. The last two are of `--tracks`.
WHOLE: tuple[tuple[int, ...], ...] = ((), (), ())
HALVES = (((), (5,), ()), ((), (), (5,)))
PIECES = (((9,), (1,), (3, 7)), ((2, 5), (1, 9), (6,)))


def scenes(
    video: str = "film.mp4", faces: int = 12, people: int = 4, *, rate: int = 5, dim: int = 128,
    begins: tuple[tuple[int, ...], ...] = WHOLE, strangers: Mapping[int, int] | None = None,
    without: int | None = None, scale: float = 1.0, first: int = 0, seed: int = 0,
) -> TrackSet:  # fmt: skip
    """Return the tracks of a video as one scan finds them.

    Two faces side by side for eight seconds, then the next two. Scans have different rates and
    divide other faces into several tracks.

    Parameters
    ----------
    rate : int
        Faces per second.
    begins : tuple of tuples of int
        Where the tracks of a face begin, besides its first tenth.
    strangers : dict
        Faces that are of another person in this scan, at the same times and in the same place:
        face → number of the person.
    without : int
        A face that is not found.
    scale : float
        The size of the video's frames: 1 stands for 640 x 360 pixels.
    first : int
        The number of the first track: no id means the same in two scans.
    """
    rng = np.random.default_rng(seed)
    who = rng.integers(0, people, faces)
    looks = np.eye(dim)[who] + 0.45 * rng.normal(size=(faces, dim)) / np.sqrt(dim)
    for face, person in (strangers or {}).items():
        looks[face], who[face] = np.eye(dim)[-person], STRANGER * person
    columns: dict[str, list] = {k: [] for k in ("track", "time", "frame", "box", "feature", "who")}
    number = first
    for face in range(faces):
        if face == without:
            continue
        start, left = APART * (face // 2), 50.0 if face % 2 == 0 else 300.0
        tenth = 0
        for k in range(int(TOGETHER * rate)):
            here = tenth_of(k / rate)
            number += here != tenth and here in begins[face % 3]
            tenth, time = here, start + k / rate
            columns["track"].append(f"{number:04d}")
            columns["time"].append(time)
            columns["frame"].append(round(time * 1000))
            columns["box"].append(np.multiply(scale, [left, 60 + k / rate, 90, 90]))
            noise = np.random.default_rng([face, round(time * 1000)]).normal(size=dim)
            columns["feature"].append(looks[face] + 0.05 * noise)
            columns["who"].append(f"p{who[face]}")
        number += 1
    return TrackSet.from_faces(
        columns["track"], feature=np.array(columns["feature"], np.float32),
        identity=columns["who"], time=columns["time"], frame=columns["frame"],
        box=columns["box"], video=video, describer="SFace",
    )  # fmt: skip


def scan_again(folder: Path, tracks: TrackSet, scale: float = 1.0) -> None:
    """Put another scan into a folder, as `castlist scan` does."""
    about = json.loads((folder / RUN).read_text())
    about["video"]["size"] = [round(640 * scale), round(360 * scale)]
    write_folder(folder, tracks, size=about["video"]["size"])
    (folder / RUN).write_text(json.dumps(about))


def tenth_of(seconds: float) -> int:
    return int(seconds / TENTH + 1e-6)


def moments_of(tracks: TrackSet, row: int) -> Moments:
    """Return which tenths of whose time on screen a track is."""
    own = slice(tracks.offsets[row], tracks.offsets[row + 1])
    video = tracks.videos[tracks.video[row]].removesuffix(".mp4")
    who = int(tracks.identity[row].removeprefix("p"))
    other = who if who >= STRANGER else 0
    right = tracks.box[own.start, 0] > 2 * tracks.box[own.start, 2]
    found = set()
    for time in tracks.time[own].tolist():
        scene = int(time / APART + 1e-6)
        found.add((video, other + 2 * scene + int(right), tenth_of(time - scene * APART)))
    return frozenset(found)


def cut_time(moment: Moment) -> float:
    """Return a time between a moment and the one before it."""
    _, face, tenth = moment
    return APART * (face % STRANGER // 2) + tenth * TENTH - 0.01
