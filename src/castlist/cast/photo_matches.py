"""Which characters look like the people in photos: one question per likely match."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.cast.corrections import Corrections
from castlist.cast.current import CurrentCast
from castlist.cast.events import Event
from castlist.cast.matching import Balls
from castlist.cast.photos import Photos, features_of
from castlist.cast.scan_model import model_of
from castlist.errors import InputError
from castlist.model.ball_model import BallModel
from castlist.video.frames import Image
from castlist.video.images import read_picture
from castlist.video.pictures import as_jpeg

#: Faces of a character on the sheet, pixels per side of a face, and matches per sheet.
_FACES, _SIDE, MOST_ROWS = 5, 112, 40
_NUMBER = 56  # pixels for the number of a row


@dataclass(frozen=True)
class PhotoMatch:
    """A character that looks like the person in photos.

    Attributes
    ----------
    photo : int
        The place of the person in ``Photos.people``.
    name : str
        The name of the person.
    character : int
        The id of the character.
    alike : float
        The cosine of their embeddings.
    """

    photo: int
    name: str
    character: int
    alike: float


def likely_from(model: BallModel) -> float:
    """Return the cosine from which two embeddings are likely of one person.

    One of 256 pairs of different people exceeds it, if the model knows their cosines. Otherwise it
    is the reach of neighbours, or the cosine of two embeddings at the distance τ.
    """
    if model.false_rate:
        return float(model.strangers[7])
    return model.reach if model.takes_evidence else 1 - model.threshold / 2


def likeness(
    model: BallModel,
    photos: NDArray[np.float32],
    tracks: NDArray[np.float32],
    labels: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids of characters, and the cosines of photos (rows) to characters (columns).

    Embeddings are compared before neighbours are averaged, because a photo has no neighbours.

    Parameters
    ----------
    model : BallModel
        The model of the cast.
    photos, tracks : ndarray of shape (n, dim) and (n_tracks, dim)
        Features of photos, and mean features of tracks.
    labels : ndarray of int, shape (n_tracks,)
        The character of each track; -1 for none.
    """
    balls = Balls.of(model.embed_alone(tracks), labels)
    known = model.embed_alone(photos)
    known /= np.maximum(np.linalg.norm(known, axis=1, keepdims=True), 1e-9)
    return balls.numbers, np.asarray(known @ balls.centres.T, np.float32)


def photo_matches(cast: CurrentCast, photos: Photos) -> list[PhotoMatch]:
    """Return the characters that look like people in photos, most alike first."""
    labels = cast.state.labels
    if not photos.people or not (labels >= 0).any():
        return []
    own = cast.tracks.describer
    if photos.describer != own:
        raise InputError(
            f"the photos were described by {photos.describer or 'an unknown describer'}, and "
            f"{cast.folder} by {own or 'an unknown describer'}; give the photos again"
        )
    model, features = model_of(cast), features_of(photos.people)
    for given in (features, cast.mean_features):
        if given.shape[1] != model.dims[0]:
            raise InputError(
                f"the model of {cast.folder} takes {model.dims[0]}-d features, not "
                f"{given.shape[1]}-d; give the photos again, or scan the video again"
            )
    numbers, alike = likeness(model, features, cast.mean_features, labels)
    found = [
        PhotoMatch(k, photos.people[k].name, int(numbers[row]), float(alike[k, row]))
        for k, row in np.argwhere(alike >= likely_from(model)).tolist()
    ]
    return sorted(found, key=lambda one: -one.alike)


def open_matches(cast: CurrentCast, matches: Sequence[PhotoMatch]) -> list[PhotoMatch]:
    """Return the matches that are still to be asked about.

    Left out are characters that have a name, and those of which somebody said that they are not
    this person.
    """
    refused: dict[str, NDArray[np.bool_]] = {}
    for name, rows in cast.state.not_named:
        refused.setdefault(name, np.zeros(len(cast.tracks), bool))[rows] = True
    named = {one.number for one in cast.cast.characters if one.name}

    def said_no(one: PhotoMatch) -> bool:
        rows = cast.state.members(one.character)
        return one.name in refused and 2 * int(refused[one.name][rows].sum()) >= len(rows)

    return [one for one in matches if one.character not in named and not said_no(one)]


def accept_match(cast: Corrections, match: PhotoMatch, *, after: int | None = None) -> Event:
    """Name a character after the person in photos; if another has the name, merge the two.

    :class:`OverlappingTracksError` is raised if their tracks share a frame.
    """
    same = [one.number for one in cast.cast.characters if one.name == match.name]
    if same:
        return cast.merge([same[0], match.character], name=match.name, after=after)
    return cast.name(match.character, match.name, after=after)


def match_sheet(cast: CurrentCast, photos: Photos, matches: Sequence[PhotoMatch]) -> bytes:
    """Return a picture with one numbered row per match, as JPEG: the photo, then the character.

    The photos are those of :func:`castlist.cast.photos.describe_photos`.
    """
    rows = matches[:MOST_ROWS]
    sheet = np.full((_SIDE * max(1, len(rows)), _NUMBER + _SIDE * (_FACES + 1) + 8, 3), 255, "u1")
    for k, match in enumerate(rows):
        top = k * _SIDE
        where = (4, top + _SIDE // 2 + 8)
        cv2.putText(sheet, str(k + 1), where, cv2.FONT_HERSHEY_SIMPLEX, 0.9, (0, 0, 0), 2)
        data = np.frombuffer(photos.people[match.photo].picture, np.uint8)
        photo = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
        faces = [photo, *_faces(cast, match.character)]
        for place, image in enumerate(faces):
            left = _NUMBER + place * _SIDE + (8 if place else 0)
            small = cv2.resize(image, (_SIDE - 4, _SIDE - 4), interpolation=cv2.INTER_AREA)
            sheet[top + 2 : top + _SIDE - 2, left + 2 : left + _SIDE - 2] = small
    return as_jpeg(sheet)


def _faces(cast: CurrentCast, character: int) -> list[Image]:
    """Return pictures of a character, the cover first."""
    ids = cast.tracks.ids
    found = []
    for part in cast.shown(cast.character(character).tracks, _FACES):
        paths = (path for row in part for path in cast.pictures_of(str(ids[row]))[:1])
        path = next(paths, None)
        if path is not None:
            with suppress(InputError):  # damaged, or removed meanwhile
                found.append(read_picture(path))
    return found
