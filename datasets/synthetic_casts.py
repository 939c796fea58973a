"""Synthetic casts: tracks around one vector per person, cast folders, drawn faces and films.

Tests and the robustness harnesses use them where no real video is needed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist import TrackSet, complete_linkage, write_tracks
from castlist.cast.cast import make_cast
from castlist.cast.cast_file import RUN, save_cast
from castlist.cast.folder import CAST, FACES, TRACKS, write_points
from castlist.cast.rescan import regroup, was_scanned
from castlist.cast.state import State
from castlist.io.pictures import Cover, frame_of, write_covers
from castlist.video.pictures import frame_view, share_of
from datasets.small_videos import write_video

THRESHOLD = 0.5
Image = NDArray[np.uint8]  # height × width × BGR


def made_video(
    people: int = 4, each: int = 5, *, dim: int = 16, noise: float = 0.1, rate: float = 5.0,
    pairs: bool = True, seed: int = 0, prefix: str = "",
) -> TrackSet:  # fmt: skip
    """Return the tracks of a video whose shots show one person, or two side by side.

    A track lasts two seconds. The first person is on screen a little longer than the others, and is
    therefore character 1.
    """
    rng = np.random.default_rng(seed)
    who = np.eye(dim)[np.arange(people) % dim] + 0.02 * rng.normal(size=(people, dim))
    turns = [p for _ in range(each) for p in range(people)]
    columns: dict[str, list[Any]] = {
        k: [] for k in ("track", "time", "frame", "box", "feature", "who")
    }
    start = 0.0
    for number, person in enumerate(turns):
        beside = pairs and number % 2 == 1  # shares the frames of the one before it
        if not beside and number:
            start += 3.0
        for time in np.arange(start, start + 2.0 + 0.1 * (people - 1 - person), 1 / rate):
            columns["track"].append(f"{prefix}{number:04d}")
            columns["time"].append(time)
            columns["frame"].append(round(time * 25))
            columns["box"].append([300.0 if beside else 50.0, 60 + 5 * (time - start), 90, 90])
            columns["feature"].append(who[person] + noise * rng.normal(size=dim))
            columns["who"].append(f"p{person}")
    return TrackSet.from_faces(
        columns["track"], feature=np.array(columns["feature"], np.float32),
        identity=columns["who"], time=columns["time"], frame=columns["frame"],
        box=columns["box"], video="film.mp4", describer="SFace",
    )  # fmt: skip


def points_of(tracks: TrackSet) -> NDArray[np.float32]:
    """Return the mean features of tracks, with unit length."""
    means = tracks.mean_features()
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def write_folder(
    folder: Path, tracks: TrackSet, labels: ArrayLike | None = None, *, rate: float = 5.0,
    pictures: bool = False, duration: float | None = None, size: tuple[int, int] = (640, 360),
) -> Path:  # fmt: skip
    """Write the cast folder that a scan would leave; cluster the tracks unless labels are given.

    If the folder holds a cast already, this is another scan of its video: corrections are kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    points = points_of(tracks) if len(tracks) else np.empty((0, 0), np.float32)
    state: State | None = None
    video = {"name": "film.mp4", "size": list(size)}
    about: dict[str, Any] = {"threshold": THRESHOLD}
    if labels is None and len(tracks) and was_scanned(folder):
        made = regroup(folder, tracks, points, THRESHOLD, {}, video=video)
        labels, state = made.labels, State.of(made.labels)
        about |= {"next": made.next_id, "taken": made.taken}
    elif labels is None:
        labels = complete_linkage(points, THRESHOLD, cannot_link=tracks.overlaps()).labels
    if duration is None:
        duration = float(tracks.spans.max(initial=0.0))
    write_tracks(folder / TRACKS, tracks)
    write_points(folder, points)
    cast = make_cast(tracks, np.asarray(labels), points, duration, state)
    save_cast(cast, folder / CAST, about)
    run = {
        "video": video,
        "settings": {"model": "shipped", "tracking": {"sample_rate": rate}},
    }
    (folder / RUN).write_text(json.dumps(run), "utf-8")
    if pictures:
        (folder / FACES).mkdir(exist_ok=True)
        for row, name in enumerate(tracks.ids.tolist()):
            for k in range(2):
                face = drawn_face(tracks.identity[row], 10 * row + k)
                cv2.imwrite(str(folder / FACES / f"{name}_{k}.jpg"), face)
    return folder


def episode(
    home: Path, name: str, people: int = 4, *, labels: ArrayLike | None = None, seed: int = 0,
    **options: Any,
) -> Path:  # fmt: skip
    """Write the cast folder of one episode; person k is the same person in all episodes."""
    tracks = made_video(people, dim=128, seed=seed, **options)
    tracks = replace(tracks, videos=(f"{name}.mp4",))
    folder = write_folder(home / f"{name}.cast", tracks, labels, pictures=True)
    run = json.loads((folder / RUN).read_text())
    run["video"] = {"name": f"{name}.mp4", "bytes": len(name), "changed": seed, "duration": 40.0}
    (folder / RUN).write_text(json.dumps(run))
    return folder


def write_frames(folder: Path, tracks: TrackSet, quality: float = 0.5) -> dict[str, Cover]:
    """Write one frame per track, with a drawn face in the first box of the track."""
    covers = {}
    for row, name in enumerate(tracks.ids.tolist()):
        frame, box = np.full((360, 640, 3), 225, np.uint8), tracks.box[tracks.offsets[row]]
        x, y, w, h = box.astype(int)
        frame[y : y + h, x : x + w] = drawn_face(tracks.identity[row], 10 * row, w)
        frame_of(folder / FACES, name).write_bytes(frame_view(frame))
        begin, end = tracks.offsets[row : row + 2].tolist()
        times = (float(tracks.time[begin]), float(tracks.time[(begin + end) // 2]))
        covers[name] = Cover(quality, times[0], share_of(frame, box), times)
    write_covers(folder / FACES, covers)
    return covers


def drawn_face(person: str, seed: int, size: int = 112) -> Image:
    """Return a drawn face: the person sets its features, the seed its pose and light."""
    who = np.random.default_rng(abs(hash_of(person)))
    now = np.random.default_rng(seed)
    skin = [(175, 200, 238), (135, 172, 222), (90, 130, 188), (62, 92, 142)][who.integers(4)]
    hair = [(30, 30, 32), (38, 58, 92), (70, 120, 170), (110, 180, 225)][who.integers(4)]
    back = who.integers(60, 200, 3).tolist()
    glasses, beard, long_hair = who.random(3) < 0.4
    picture = np.full((112, 112, 3), back, np.uint8)
    x, y = 56 + int(now.integers(-5, 6)), 60 + int(now.integers(-4, 5))
    cv2.ellipse(picture, (x, y - 8), (38, 46 if long_hair else 40), 0, 0, 360, hair, -1)
    cv2.ellipse(picture, (x, y), (31, 39), 0, 0, 360, skin, -1)
    if beard:
        cv2.ellipse(picture, (x, y + 16), (27, 23), 0, 0, 180, hair, -1)
    for side in (-13, 13):
        cv2.circle(picture, (x + side, y - 6), 4, (30, 30, 30), -1)
        if glasses:
            cv2.circle(picture, (x + side, y - 6), 10, (20, 20, 20), 2)
    smile = int(now.integers(2, 9))
    cv2.ellipse(picture, (x, y + 17), (12, smile), 0, 0, 180, (60, 60, 170), 2)
    lit = cv2.convertScaleAbs(picture, alpha=float(now.uniform(0.75, 1.1)))
    return np.asarray(cv2.resize(lit, (size, size)), np.uint8)


def hash_of(text: str) -> int:
    """Return a number that depends on the text only."""
    return int.from_bytes(text.encode(), "little") % 2**32


def write_film(path: Path, tracks: TrackSet, fps: int = 5) -> Path:
    """Write a video with drawn faces in the boxes of the tracks."""
    images = []
    room = np.full((360, 640, 3), 225, np.uint8)
    for k in range(8):  # stripes: in an empty room, a face that appears would count as a cut
        room[:, 80 * k : 80 * k + 40] = 40
    for i in range(int(tracks.time.max() * fps) + fps):
        image = room.copy()
        for row in range(len(tracks)):
            faces = slice(tracks.offsets[row], tracks.offsets[row + 1])
            near = np.abs(tracks.time[faces] - i / fps)
            if near.min() < 0.5 / fps:
                x, y, w, h = tracks.box[faces][near.argmin()].astype(int)
                image[y : y + h, x : x + w] = drawn_face(tracks.identity[row], 10 * row, w)
        images.append(image)
    return write_video(path, images, fps, codec="libx264")
