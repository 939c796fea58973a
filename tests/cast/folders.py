"""Synthetic cast folders: people are directions, their tracks are near them, some side by side."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np

from castlist import TrackSet, complete_linkage, write_tracks
from castlist.cast.cast import make_cast
from castlist.cast.cast_file import RUN, save_cast
from castlist.cast.folder import CAST, FACES, TRACKS, write_points
from castlist.cast.rescan import regroup, was_scanned
from castlist.cast.state import State
from castlist.io.pictures import Cover, frame_of, write_covers
from castlist.video.pictures import frame_view, share_of
from tests.video.videos import write_video

THRESHOLD = 0.5


def made_video(people=4, each=5, *, dim=16, noise=0.1, rate=5.0, pairs=True, seed=0, prefix=""):
    """Return tracks of a video: each shot has one person, or two side by side; 2 s per track.

    Who comes first is on screen a little longer, and so character 1.
    """
    rng = np.random.default_rng(seed)
    who = np.eye(dim)[np.arange(people) % dim] + 0.02 * rng.normal(size=(people, dim))
    turns = [p for _ in range(each) for p in range(people)]
    columns: dict[str, list] = {k: [] for k in ("track", "time", "frame", "box", "feature", "who")}
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


def points_of(tracks: TrackSet) -> np.ndarray:
    means = tracks.mean_features()
    return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)


def write_folder(
    folder: Path, tracks: TrackSet, labels=None, *, rate=5.0, pictures=False, duration=None
) -> Path:
    """Write a folder as a scan does; clustered, or with ``labels``.

    If there is a cast already, it is scanned again, around its corrections.
    """
    folder.mkdir(parents=True, exist_ok=True)
    points = points_of(tracks) if len(tracks) else np.empty((0, 0), np.float32)
    state, about = None, {"threshold": THRESHOLD}
    if labels is None and len(tracks) and was_scanned(folder):
        made = regroup(folder, tracks, points, THRESHOLD, {})
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
        "video": {"name": "film.mp4", "size": [640, 360]},
        "settings": {"model": "shipped", "watching": {"sample_rate": rate}},
    }
    (folder / RUN).write_text(json.dumps(run), "utf-8")
    if pictures:
        (folder / FACES).mkdir(exist_ok=True)
        for row, name in enumerate(tracks.ids.tolist()):
            for k in range(2):
                face = drawn_face(tracks.identity[row], 10 * row + k)
                cv2.imwrite(str(folder / FACES / f"{name}_{k}.jpg"), face)
    return folder


def write_frames(folder: Path, tracks: TrackSet, quality=0.5) -> dict[str, Cover]:
    """Add the frames of all tracks, with the face of each where its first box is."""
    covers = {}
    for row, name in enumerate(tracks.ids.tolist()):
        frame, box = np.full((360, 640, 3), 225, np.uint8), tracks.box[tracks.offsets[row]]
        x, y, w, h = box.astype(int)
        frame[y : y + h, x : x + w] = drawn_face(tracks.identity[row], 10 * row, w)
        frame_of(folder / FACES, name).write_bytes(frame_view(frame))
        covers[name] = Cover(quality, float(tracks.time[tracks.offsets[row]]), share_of(frame, box))
    write_covers(folder / FACES, covers)
    return covers


def drawn_face(person: str, seed: int, size: int = 112) -> np.ndarray:
    """Draw the face of a person, slightly different for each seed."""
    who = np.random.default_rng(abs(hash_of(person)))
    now = np.random.default_rng(seed)
    skin = [(175, 200, 238), (135, 172, 222), (90, 130, 188), (62, 92, 142)][who.integers(4)]
    hair = [(30, 30, 32), (38, 58, 92), (70, 120, 170), (110, 180, 225)][who.integers(4)]
    back = who.integers(60, 200, 3).tolist()
    glasses, beard, long_hair = who.random(3) < 0.4
    picture = np.full((112, 112, 3), back, np.uint8)
    x, y = 56 + now.integers(-5, 6), 60 + now.integers(-4, 5)
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
    picture = cv2.convertScaleAbs(picture, alpha=float(now.uniform(0.75, 1.1)))
    return cv2.resize(picture, (size, size))


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode(), "little") % 2**32


def write_film(path: Path, tracks: TrackSet, fps: int = 5) -> Path:
    """Write a video in which these tracks could have been found."""
    images = []
    room = np.full((360, 640, 3), 225, np.uint8)
    for k in range(8):  # in an empty room, somebody who appears would be a cut
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
