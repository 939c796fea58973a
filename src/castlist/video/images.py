"""Folders of face pictures as tracks with identities: for training and for benchmarks."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
from numpy.typing import NDArray

from castlist.errors import InputError, first_line
from castlist.parallel import in_threads
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet
from castlist.video.degrade import degrade, draw_look
from castlist.video.describe import Describer
from castlist.video.detect import WEAK, Detector, Faces
from castlist.video.frames import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
_FORMATS = ("JPEG", "PNG", "BMP", "WEBP")
_MOST_PIXELS = 2**27  # more than any camera's
_SMALLEST_SIDE = 160  # smaller pictures are enlarged for the detector
_LONGEST_ENLARGED = 4096  # a strip is not enlarged beyond that
_TRACKS_A_JOB = 16


@dataclass(frozen=True)
class PictureTrack:
    """Pictures of one person that belong together."""

    person: str
    name: str
    pictures: tuple[Path, ...]


def picture_tracks(folder: Path, people: Collection[str] | None = None) -> list[PictureTrack]:
    """List ``person/track/*.jpg`` and ``person/*.jpg``; a picture on its own is a track.

    Parameters
    ----------
    folder : Path
        One folder a person.
    people : collection of str, optional
        Only these.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    found = []
    for person in sorted(path for path in folder.iterdir() if path.is_dir()):
        if people is not None and person.name not in people:
            continue
        who = _text(person.name)
        for entry in sorted(person.iterdir()):
            name = f"{who}/{_text(entry.name)}"
            if entry.is_dir():
                inside = tuple(p for p in sorted(entry.iterdir()) if p.suffix.lower() in SUFFIXES)
                if inside:
                    found.append(PictureTrack(who, name, inside))
            elif entry.suffix.lower() in SUFFIXES:
                found.append(PictureTrack(who, name, (entry,)))
    if not found:
        raise InputError(
            f"{folder}: no pictures as person/track/*.jpg or person/*.jpg"
            + (" of the people asked for" if people is not None else "")
        )
    return found


def _text(name: str) -> str:
    """Return a file's name as text, and another for another name, which ``?`` would not be."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def describe_folder(
    folder: str | Path,
    open_detector: Callable[[], Detector],
    open_describer: Callable[[], Describer],
    *,
    people: Collection[str] | None = None,
    degraded: int = 0,
    television: int = 0,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[TrackSet, list[Path]]:
    """Describe the face in the middle of every picture.

    Parameters
    ----------
    folder : path
        ``person/track/*.jpg`` or ``person/*.jpg``.
    open_detector, open_describer : callable
        Called once a thread.
    people : collection of str, optional
        Only these.
    degraded : int
        Copies of each picture that look like television, added to its track.
    television : int
        Make each picture a stretch of this many faces of one such look, instead of itself.
    seed : int
        How they are degraded.
    progress : callable
        Told how far it is.

    Returns
    -------
    tracks : TrackSet
        Labelled, in the order of names.
    faceless : list of Path
        Pictures in which no face was found, which are left out.
    """
    folder = Path(folder)
    tracks = picture_tracks(folder, people)
    own = threading.local()
    names: list[str] = []

    def work(start: int) -> list[_Described]:
        if not hasattr(own, "describer"):
            own.detector, own.describer = open_detector(), open_describer()
            names.append(own.describer.name)
        job = tracks[start : start + _TRACKS_A_JOB]
        seeds = [[seed, start + k] for k in range(len(job))]
        return [
            _describe(
                track, own.detector, own.describer, degraded, television, np.random.default_rng(s)
            )
            for track, s in zip(job, seeds, strict=True)
        ]

    done: list[_Described] = []
    for _, part in in_threads(range(0, len(tracks), _TRACKS_A_JOB), work):
        done += part
        progress("describing", len(done), len(tracks))
    faceless = [path for one in done for path in one.faceless]
    pairs = [(t, one) for t, one in zip(tracks, done, strict=True) if len(one.features)]
    if not pairs:
        raise InputError(f"{folder}: no face was found in any of {len(faceless)} pictures")
    counts = [len(one.features) for _, one in pairs]
    described = TrackSet.from_faces(
        np.repeat([track.name for track, _ in pairs], counts),
        feature=np.concatenate([one.features for _, one in pairs]),
        identity=np.repeat([track.person for track, _ in pairs], counts),
        box=np.concatenate([one.box for _, one in pairs]),
        score=np.concatenate([one.score for _, one in pairs]),
        video=_text(folder.name),
        describer=names[0],
    )
    return described, faceless


@dataclass(frozen=True)
class _Described:
    features: NDArray[np.float32]
    box: NDArray[np.float32]
    score: NDArray[np.float32]
    faceless: list[Path]


def _describe(
    track: PictureTrack, detector: Detector, describer: Describer, degraded: int,
    television: int, rng: np.random.Generator,
) -> _Described:  # fmt: skip
    crops: list[Image] = []
    boxes, scores, faceless = [], [], []
    for path in track.pictures:
        image, faces = face_in(path, detector)
        if not len(faces):
            faceless.append(path)
            continue
        box, landmarks = faces.box[0], faces.landmarks[0]
        look = draw_look(rng)
        looks = [look.varied(rng) for _ in range(television)]
        looks += [draw_look(rng) for _ in range(degraded)]
        own = [] if television else [describer.crop(image, box, landmarks)]
        own += [describer.crop(*degrade(image, box, landmarks, one, rng)) for one in looks]
        crops += own
        boxes += [box] * len(own)
        scores += [faces.score[0]] * len(own)
    features = describer.describe(crops) if crops else np.empty((0, 0), np.float32)
    return _Described(
        features, np.array(boxes, np.float32).reshape(-1, 4), np.array(scores, np.float32), faceless
    )


def read_picture(path: Path) -> Image:
    """Read a picture, a small one enlarged so that the detector can work on it."""
    _require_size(path)
    try:
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error) as error:
        raise InputError(f"{path}: not a picture that can be read ({first_line(error)})") from error
    if image is None:
        raise InputError(f"{path}: not a picture that can be read")
    height, width = image.shape[:2]
    scale = min(_SMALLEST_SIDE / min(height, width), _LONGEST_ENLARGED / max(height, width))
    if scale > 1:
        size = (max(1, round(scale * width)), max(1, round(scale * height)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(image, np.uint8)


def _require_size(path: Path) -> None:
    """Refuse a picture that says it is larger than any photograph, before it is decoded."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow has a limit of its own
            with PIL.Image.open(path, formats=_FORMATS) as picture:
                width, height = picture.size
                # The pieces of a PNG: OpenCV makes room for what they claim, or looks for their
                # end for ever.
                picture.verify()
    except Exception as error:  # of a damaged header, Pillow says it in many ways
        raise InputError(f"{path}: not a picture that can be read ({first_line(error)})") from error
    if not 0 < width * height <= _MOST_PIXELS:
        raise InputError(
            f"{path}: a picture of {width} × {height} pixels; castlist reads up to "
            f"{_MOST_PIXELS:,} in all"
        )


def face_in(path: Path, detector: Detector) -> tuple[Image, Faces]:
    """Return a picture and the face it is of, if any: in the middle, and large."""
    picture = read_picture(path)
    faces = detector.detect(picture)
    faces = faces[faces.score >= WEAK]
    if len(faces) > 1:
        height, width = picture.shape[:2]
        middle = faces.box[:, :2] + faces.box[:, 2:] / 2 - np.array([width, height]) / 2
        away = np.linalg.norm(middle, axis=1) / faces.box[:, 2]
        faces = faces[np.array([int(np.argmin(away))])]
    return picture, faces
