"""Photos of people that you name: read from a folder, described, and kept beside the cast."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from castlist.cast.corrections import checked_name
from castlist.errors import InputError
from castlist.io.files import printable, replacing
from castlist.io.untrusted import read_small
from castlist.progress import Progress, silent
from castlist.video.align import picture
from castlist.video.describe import Describer
from castlist.video.detect import WEAK, Detector
from castlist.video.images import SUFFIXES, read_picture
from castlist.video.pictures import as_jpeg

#: The file in the cast folder with the people of the last photos, and the sheet of questions.
PHOTOS, SHEET = "photos.json", "photos.jpg"
#: A second face counts if it is at least this wide, relative to the widest: not those in a crowd
#: behind somebody.
_SECOND_FACE = 1 / 3
_MAX_PEOPLE = 10_000


@dataclass(frozen=True)
class PhotoPerson:
    """A person in photos.

    Attributes
    ----------
    name : str
        The name, from the folder or the file.
    feature : ndarray of float32
        The mean feature of the photos, of unit length.
    picture : bytes
        The face in the first photo, as JPEG.
    n_photos : int
        The number of photos that were used.
    """

    name: str
    feature: NDArray[np.float32]
    picture: bytes
    n_photos: int


@dataclass(frozen=True)
class Photos:
    """The people in photos, and the name of the describer of their features."""

    describer: str
    people: tuple[PhotoPerson, ...]


@dataclass(frozen=True)
class LeftOut:
    """A file that was not used, and the reason."""

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{printable(str(self.path))}: {self.why}"


def photo_files(folder: Path) -> tuple[dict[str, list[Path]], list[LeftOut]]:
    """Return the photos of each name, ``<name>/*.jpg`` and ``<name>.jpg``, and what is neither.

    Hidden files are ignored.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    found: dict[str, list[Path]] = {}
    left: list[LeftOut] = []
    for entry in _listed(folder):
        inside = _listed(entry) if entry.is_dir() else [entry]
        if not inside:
            left.append(LeftOut(entry, "an empty folder"))
        for path in inside:
            if path.is_dir():
                left.append(LeftOut(path, "a folder inside the folder of a person"))
            elif path.suffix.lower() not in SUFFIXES:
                left.append(LeftOut(path, f"not a picture ({', '.join(SUFFIXES)})"))
            else:
                try:
                    name = checked_name(entry.name if entry.is_dir() else entry.stem)
                except InputError as error:
                    left.append(LeftOut(path, str(error)))
                    continue
                found.setdefault(name, []).append(path)
    if not found:
        why = f" ({left[0]})" if left else ""
        raise InputError(f"{folder}: no photos as <name>/*.jpg or <name>.jpg{why}")
    return found, left


def _listed(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def describe_photos(
    folder: str | Path, detector: Detector, describer: Describer, *, progress: Progress = silent
) -> tuple[Photos, list[LeftOut]]:
    """Return the people of a folder of photos, and the files that were not used.

    A photo is used if it shows exactly one face; small faces behind it do not count.

    Parameters
    ----------
    folder : path
        A folder of ``<name>/*.jpg`` and ``<name>.jpg`` (also PNG, WebP, BMP).
    detector, describer
        The detector, and the describer that described the cast.
    progress : callable
        Called with the stage, the number of photos done and the total.
    """
    files, left = photo_files(Path(folder))
    total = sum(map(len, files.values()))
    people, done = [], 0
    for name, paths in files.items():
        features, face = [], b""
        for path in paths:
            try:
                feature, shown = _describe(path, detector, describer)
                features.append(feature)
                face = face or shown
            except InputError as error:
                left.append(LeftOut(path, str(error).removeprefix(f"{path}: ")))
            done += 1
            progress("describing photos", done, total)
        if features:
            mean = np.mean(features, axis=0)
            mean = np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)
            people.append(PhotoPerson(name, mean, face, len(features)))
    return Photos(describer.name, tuple(people)), left


def _describe(
    path: Path, detector: Detector, describer: Describer
) -> tuple[NDArray[np.float32], bytes]:
    """Return the feature of the only face in a photo, and its picture."""
    image = read_picture(path)
    faces = detector.detect(image)
    faces = faces[faces.score >= WEAK]
    if not len(faces):
        raise InputError("no face was found")
    width = faces.box[:, 2]
    faces = faces[width >= _SECOND_FACE * width.max()]
    if len(faces) > 1:
        raise InputError(f"{len(faces)} faces; cut out the one that is meant")
    crop = describer.crop(image, faces.box[0], faces.landmarks[0])
    return describer.describe([crop])[0], as_jpeg(picture(image, faces.box[0]))


class _PersonRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: Annotated[str, Field(min_length=1, max_length=1000)]
    feature: Annotated[list[FiniteFloat], Field(min_length=1, max_length=2**14)]
    picture: Annotated[str, Field(max_length=2**20)]
    photos: Annotated[int, Field(ge=1)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    format: Annotated[int, Field(ge=1, le=1)]
    describer: Annotated[str, Field(max_length=1000)]
    people: Annotated[list[_PersonRecord], Field(max_length=_MAX_PEOPLE)]


def save_photos(folder: Path, photos: Photos) -> None:
    """Write the people of photos to a cast folder; they replace those of earlier photos."""
    people = [
        {"name": one.name, "feature": one.feature.astype(float).round(6).tolist(),
         "picture": b64encode(one.picture).decode(), "photos": one.n_photos}
        for one in photos.people
    ]  # fmt: skip
    with replacing(folder / PHOTOS) as partial:
        value = {"format": 1, "describer": photos.describer, "people": people}
        partial.write_text(json.dumps(value), "utf-8")


def load_photos(folder: Path) -> Photos | None:
    """Read the people of photos from a cast folder; None if there are none."""
    path = folder / PHOTOS
    try:
        record = _Record.model_validate_json(read_small(path))
        people = tuple(
            PhotoPerson(
                checked_name(one.name), np.array(one.feature, np.float32),
                b64decode(one.picture, validate=True), one.photos,
            )
            for one in record.people
        )  # fmt: skip
    except FileNotFoundError:
        return None
    except (OSError, ValidationError, ValueError) as error:
        raise InputError(f"{path}: damaged; remove it, and give the photos again") from error
    if len({len(one.feature) for one in people}) > 1:
        raise InputError(f"{path}: damaged; remove it, and give the photos again")
    return Photos(record.describer, people)


def remove_photos(folder: Path) -> None:
    """Remove the people of photos, and the sheet of questions, from a cast folder."""
    for name in (PHOTOS, SHEET):
        (folder / name).unlink(missing_ok=True)


def features_of(people: Sequence[PhotoPerson]) -> NDArray[np.float32]:
    """Return the features of people, one row per person."""
    return np.stack([one.feature for one in people]) if people else np.empty((0, 0), np.float32)
