"""Describing folders of face pictures: labelled tracks for training and benchmarks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.parallel import in_threads
from castlist.progress import Progress, silent
from castlist.research.degrade import degrade, draw_look
from castlist.tracks import TrackSet
from castlist.video.describe import Describer
from castlist.video.detect import Detector
from castlist.video.frames import Image
from castlist.video.images import SUFFIXES, face_in

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
