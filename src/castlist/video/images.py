"""Describing folders of face pictures: labelled tracks for training and benchmarks."""

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
from castlist.io.untrusted import file_size
from castlist.parallel import in_threads
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet
from castlist.video.degrade import degrade, draw_look
from castlist.video.describe import Describer
from castlist.video.detect import WEAK, Detector, Faces
from castlist.video.frames import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
_FORMATS = ("JPEG", "PNG", "BMP", "WEBP")
_MAX_PIXELS = 2**27  # more than any camera's
_SMALLEST_SIDE = 160  # smaller pictures are enlarged for the detector
_LONGEST_ENLARGED = 4096  # maximum side of an enlarged picture
_TRACKS_PER_JOB = 16


@dataclass(frozen=True)
class PictureTrack:
    """Pictures of one person that form a track."""

    person: str
    name: str
    pictures: tuple[Path, ...]


def picture_tracks(folder: Path, people: Collection[str] | None = None) -> list[PictureTrack]:
    """Return the tracks ``person/track/*.jpg`` and ``person/*.jpg``; a single picture is a track.

    Parameters
    ----------
    folder : Path
        Folder with one sub-folder per person.
    people : collection of str, optional
        Names of the people to include; by default all.
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
            + (" of the given people" if people is not None else "")
        )
    return found


def _text(name: str) -> str:
    """Return a file's name as valid text, different for different names."""
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
    """Return the described face of every picture as labelled tracks.

    If a picture has several faces, the one nearest to its centre is described.

    Parameters
    ----------
    folder : path
        Folder of ``person/track/*.jpg`` or ``person/*.jpg``.
    open_detector, open_describer : callable
        Called once per thread, such as :func:`castlist.open_detector` and
        :func:`castlist.open_describer`.
    people : collection of str, optional
        Names of the people to include; by default all.
    degraded : int
        Number of degraded copies per picture, which look like television, added to its track.
    television : int
        If positive, replace each picture by this many degraded copies, as in one shot.
    seed : int
        Seed of the random degradation.
    progress : callable
        Called with the stage, the number of tracks done and the total.

    Returns
    -------
    tracks : TrackSet
        Labelled tracks, in order of names.
    faceless : list of Path
        Pictures without a detected face. They are left out.
    """
    folder = Path(folder)
    tracks = picture_tracks(folder, people)
    own = threading.local()
    names: list[str] = []

    def work(start: int) -> list[_Described]:
        if not hasattr(own, "describer"):
            own.detector, own.describer = open_detector(), open_describer()
            names.append(own.describer.name)
        job = tracks[start : start + _TRACKS_PER_JOB]
        seeds = [[seed, start + k] for k in range(len(job))]
        return [
            _describe(
                track, own.detector, own.describer, degraded, television, np.random.default_rng(s)
            )
            for track, s in zip(job, seeds, strict=True)
        ]

    done: list[_Described] = []
    for _, part in in_threads(range(0, len(tracks), _TRACKS_PER_JOB), work):
        done += part
        progress("describing", len(done), len(tracks))
    faceless = [path for one in done for path in one.faceless]
    pairs = [(t, one) for t, one in zip(tracks, done, strict=True) if len(one.features)]
    if not pairs:
        raise InputError(f"{folder}: no face detected in any of {len(faceless)} pictures")
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
    """Return a picture from a file, enlarged if it is too small for the detector."""
    _require_size(path)
    try:
        image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error) as error:
        raise InputError(f"{path}: cannot be read as a picture ({first_line(error)})") from error
    if image is None:
        raise InputError(f"{path}: cannot be read as a picture")
    height, width = image.shape[:2]
    scale = min(_SMALLEST_SIDE / min(height, width), _LONGEST_ENLARGED / max(height, width))
    if scale > 1:
        size = (max(1, round(scale * width)), max(1, round(scale * height)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(image, np.uint8)


def _require_size(path: Path) -> None:
    """Raise an InputError for a picture whose header is damaged or states too large a size."""
    try:
        file_size(path)  # refuses a pipe, which would be waited for
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about Pillow's own size limit
            with PIL.Image.open(path, formats=_FORMATS) as picture:
                width, height = picture.size
                # Check the chunks of a PNG: OpenCV allocates the size that they state, or searches
                # for their end without end.
                picture.verify()
    except Exception as error:  # Pillow raises many types for damaged headers
        raise InputError(f"{path}: cannot be read as a picture ({first_line(error)})") from error
    if not 0 < width * height <= _MAX_PIXELS:
        raise InputError(
            f"{path}: unsupported size ({width} × {height} pixels); the limit is "
            f"{_MAX_PIXELS:,} pixels in total"
        )


def face_in(path: Path, detector: Detector) -> tuple[Image, Faces]:
    """Return a picture and its face nearest to the centre, if any."""
    picture = read_picture(path)
    faces = detector.detect(picture)
    faces = faces[faces.score >= WEAK]
    if len(faces) > 1:
        height, width = picture.shape[:2]
        middle = faces.box[:, :2] + faces.box[:, 2:] / 2 - np.array([width, height]) / 2
        away = np.linalg.norm(middle, axis=1) / faces.box[:, 2]
        faces = faces[np.array([int(np.argmin(away))])]
    return picture, faces
