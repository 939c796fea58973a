"""Recast labelled episodes: the same tracks, labels and overlaps, with other people's faces.

``python datasets/recast.py AUTHORS OUT --named pins --background lfw`` gives every named
character of the episodes in AUTHORS (the paper authors' layout) a person of the folder pins, every
background character a person of lfw, and fills each track with faces of that person: one photograph
a track, varied along it, shrunk to the track's own boxes and degraded as television does. Landmarks
are detected in the degraded picture, and so are as wrong as those of a scan. It writes
one track file an episode, a picture a track under ``faces``, and ``cast.json``: who plays whom.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist import Features, InputError, TrackSet, read_tracks, write_tracks
from castlist.cli.common import progress as progress_bar
from castlist.cli.common import read_names
from castlist.geometry import iou
from castlist.parallel import in_threads
from castlist.progress import Progress, silent
from castlist.research.degrade import degrade, draw_look
from castlist.research.picture_tracks import picture_tracks
from castlist.video.describe import DEFAULT_DESCRIBER, Describer, open_describer
from castlist.video.detect import WEAK, Detector, open_detector
from castlist.video.frames import Image
from castlist.video.images import face_in, read_picture

FACES = 4  # described faces per track
_TRACKS_A_JOB = 32
_PICTURE_SIDE = 72
_CANVAS = 256  # pixels: a photograph, shrunk
_SAME_FACE = 0.3  # overlap (IoU) of a detected face with the one that is there
_PHOTOS_OF_LOOKS = 3
Photos = list[Path]
Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Photo:
    """A photograph and where the face in it is."""

    path: Path
    box: NDArray[np.float32]
    landmarks: NDArray[np.float32]


def photographs(folder: Path, people: Collection[str] | None = None) -> dict[str, Photos]:
    """List each person's photographs."""
    found: dict[str, Photos] = {}
    for track in picture_tracks(folder, people):
        found.setdefault(track.person, []).extend(track.pictures)
    return found


def choose_players(
    tracks: TrackSet,
    named: Mapping[str, Photos],
    background: Mapping[str, Photos],
    rng: np.random.Generator,
    looks: Mapping[str, Vector] | None = None,
) -> dict[str, str]:
    """Assign a different person to every character.

    Who plays is drawn; of those drawn, the one with most photographs gets the character with most
    tracks, so that a large part is not one photograph over and over. With ``looks``, a unit vector
    per person, one person is drawn and those who look most like them play.
    """
    identities, counts = np.unique(tracks.identity, return_counts=True)
    unnamed = np.isin(identities, tracks.identity[tracks.background])
    players: dict[str, str] = {}
    model = looks[sorted(looks)[rng.integers(len(looks))]] if looks else None
    for people, part in ((named, ~unnamed), (background, unnamed)):
        roles = identities[part][np.argsort(-counts[part], kind="stable")]
        taken = {key(person) for person in players.values()}
        able = sorted(person for person in people if key(person) not in taken)
        if len(able) < len(roles):
            raise InputError(f"{len(roles)} characters to play and {len(able)} people to play them")
        order = rng.permutation(len(able))
        if looks and model is not None:
            order = np.argsort([-float(looks[person] @ model) for person in able], kind="stable")
        drawn = [able[i] for i in order[: len(roles)]]
        drawn.sort(key=lambda person: -len(people[person]))
        players |= dict(zip(roles.tolist(), drawn, strict=True))
    return players


def looks_of(people: Mapping[str, Photos], progress: Progress = silent) -> dict[str, Vector]:
    """Describe what people look like: the mean feature of their first photographs."""
    own = threading.local()

    def work(person: str) -> Vector | None:
        if not hasattr(own, "describer"):
            own.detector, own.describer = open_detector(), open_describer()
        crops = []
        for path in people[person][:_PHOTOS_OF_LOOKS]:
            image, faces = face_in(path, own.detector)
            if len(faces):
                crops.append(own.describer.crop(image, faces.box[0], faces.landmarks[0]))
        if not crops:
            return None
        mean = own.describer.describe(crops).mean(0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    found = {}
    for done, (person, look) in enumerate(in_threads(sorted(people), work), start=1):
        progress("describing people", done, len(people))
        if look is not None:
            found[person] = look
    return found


def recast(
    tracks: TrackSet,
    photos: Mapping[str, Photos],
    open_detector: Callable[[], Detector],
    open_describer: Callable[[], Describer],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[TrackSet, list[Image]]:
    """Fill tracks with the faces of the people that play them.

    Parameters
    ----------
    tracks : TrackSet
        Labelled tracks with boxes.
    photos : mapping
        Character → the photographs of who plays it.
    open_detector, open_describer : callable
        Called once a thread.
    seed : int
        Which photograph a track is of, and how it looks.
    progress : callable
        Told how far it is.

    Returns
    -------
    tracks : TrackSet
        The same, ``FACES`` faces of each described, spread along it.
    pictures : list of ndarray
        One small picture a track.
    """
    known = _find_faces(
        sorted({path for paths in photos.values() for path in paths}), open_detector, progress
    )
    usable = {who: [known[p] for p in paths if p in known] for who, paths in photos.items()}
    if empty := [who for who, found in usable.items() if not found]:
        raise InputError(f"no photograph of who plays {empty[0]!r} shows a face")
    chosen = [_spread(int(count)) for count in tracks.face_counts]
    photo_of = _deal(tracks.identity, {who: len(found) for who, found in usable.items()}, seed)
    own = threading.local()
    names: set[str] = set()

    def work(start: int) -> tuple[list[NDArray[np.float32]], list[Image]]:
        if not hasattr(own, "describer"):
            own.detector, own.describer = open_detector(), open_describer()
            names.add(own.describer.name)
        features, pictures = [], []
        for track in range(start, min(start + _TRACKS_A_JOB, len(tracks))):
            photo = usable[str(tracks.identity[track])][photo_of[track]]
            widths = tracks.box[tracks.offsets[track] + chosen[track], 2]
            rng = np.random.default_rng([seed, track])
            crops, seen = _film(photo, widths, own.detector, own.describer, rng)
            features.append(own.describer.describe(crops))
            pictures.append(seen)
        return features, pictures

    features: list[NDArray[np.float32]] = []
    pictures: list[Image] = []
    for _, (some, seen) in in_threads(range(0, len(tracks), _TRACKS_A_JOB), work):
        features += some
        pictures += seen
        progress("filling tracks", len(features), len(tracks))
    described = np.zeros(tracks.n_faces, bool)
    described[np.concatenate([tracks.offsets[i] + c for i, c in enumerate(chosen)])] = True
    filled = replace(
        tracks,
        features=Features.of_described(np.concatenate(features), described),
        describer=names.pop(),
    )
    return filled, pictures


def _find_faces(
    paths: list[Path], open_detector: Callable[[], Detector], progress: Progress
) -> dict[Path, Photo]:
    own = threading.local()

    def work(path: Path) -> Photo | None:
        if not hasattr(own, "detector"):
            own.detector = open_detector()
        _, faces = face_in(path, own.detector)
        return Photo(path, faces.box[0], faces.landmarks[0]) if len(faces) else None

    found = {}
    for done, (path, photo) in enumerate(in_threads(paths, work), start=1):
        progress("finding faces", done, len(paths))
        if photo is not None:
            found[path] = photo
    return found


def _spread(n_faces: int) -> NDArray[np.int64]:
    """Choose the faces of a track to describe: in the middles of equal stretches."""
    count = min(FACES, n_faces)
    return ((np.arange(count) + 0.5) * n_faces / count).astype(np.int64)


def _deal(identity: NDArray[np.str_], photos: Mapping[str, int], seed: int) -> NDArray[np.int64]:
    """Deal a person's photographs to their tracks: all once in a drawn order before any twice."""
    photo = np.empty(len(identity), np.int64)
    for number, who in enumerate(sorted(photos)):
        own = np.flatnonzero(identity == who)
        rng = np.random.default_rng([seed, 1, number])
        rounds = -(-len(own) // photos[who])
        order = np.concatenate([rng.permutation(photos[who]) for _ in range(max(1, rounds))])
        photo[own] = order[: len(own)]
    return photo


def _film(
    photo: Photo, widths: NDArray[np.float32], detector: Detector, describer: Describer,
    rng: np.random.Generator,
) -> tuple[list[Image], Image]:  # fmt: skip
    """Make the described faces of one track, and a picture of it."""
    image = read_picture(photo.path)
    look, mirrored = draw_look(rng), bool(rng.random() < 0.5)
    crops = []
    for width in widths:
        moment = replace(look.varied(rng), width=max(float(width), 8.0))
        worse, box, landmarks = degrade(image, photo.box, photo.landmarks, moment, rng)
        crop = describer.crop(worse, box, _detected(detector, worse, box, landmarks))
        crops.append(np.ascontiguousarray(crop[:, ::-1]) if mirrored else crop)
    middle = crops[len(crops) // 2]
    small = cv2.resize(middle, (_PICTURE_SIDE, _PICTURE_SIDE), interpolation=cv2.INTER_AREA)
    return crops, np.asarray(small, np.uint8)


def _detected(
    detector: Detector, image: Image, box: NDArray[np.float32], landmarks: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the landmarks that a detector finds at a face; those given if it finds none."""
    height, width = image.shape[:2]
    if max(height, width) <= _CANVAS:  # of one size: a detector takes long to change to another
        canvas = np.full((_CANVAS, _CANVAS, 3), 90, np.uint8)
        canvas[:height, :width] = image
        image = canvas
    found = detector.detect(image)
    there = iou(box, found.box)
    there[found.score < WEAK] = 0
    return found.landmarks[int(there.argmax())] if there.max(initial=0) > _SAME_FACE else landmarks


def key(person: str) -> str:
    """Return a name as it is the same however a collection spells it."""
    return "".join(filter(str.isalnum, person.casefold()))


def recast_folder(
    authors: Path, out: Path, named: Mapping[str, Photos], background: Mapping[str, Photos],
    *, videos: str = "*", seed: int = 0, alike: bool = False, describer: str = DEFAULT_DESCRIBER,
    progress: Progress = silent,
) -> None:  # fmt: skip
    """Recast the episodes of a folder and write what was made, unless it is there already.

    With ``alike``, people who look like one another play.
    """
    if (out / "cast.json").is_file():
        if json.loads((out / "cast.json").read_text())["seed"] != seed:
            raise InputError(f"{out} was recast with another seed; give another folder")
        return
    tracks = read_tracks(authors)
    wanted = [i for i, name in enumerate(tracks.videos) if fnmatch.fnmatch(name, videos)]
    tracks = tracks[np.isin(tracks.video, wanted)]
    if not len(tracks):
        raise InputError(f"{authors}: no episode is called {videos}")
    rng = np.random.default_rng(seed)
    looks = None
    if alike:
        looks = looks_of({**background, **named}, progress)
        named, background = (
            {who: photos for who, photos in people.items() if who in looks}
            for people in (named, background)
        )
    players = choose_players(tracks, named, background, rng, looks)
    extras = set(tracks.identity[tracks.background].tolist())
    photos = {
        character: (background if character in extras else named)[person]
        for character, person in players.items()
    }
    filled, pictures = recast(
        tracks, photos, open_detector, partial(open_describer, describer), seed=seed,
        progress=progress,
    )  # fmt: skip
    for i, video in enumerate(filled.videos):
        own = np.flatnonzero(filled.video == i)
        folder = out / "faces" / video
        folder.mkdir(parents=True, exist_ok=True)
        for track in own:
            cv2.imwrite(str(folder / f"{filled.ids[track]}.jpg"), pictures[track])
        write_tracks(out / f"{video}.parquet", filled[own])
    # Last, so that where it is, everything is.
    (out / "cast.json").write_text(json.dumps({"seed": seed, "players": players}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("authors", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--named", type=Path, required=True, help="person/*.jpg")
    parser.add_argument("--background", type=Path, required=True, help="person/*.jpg")
    parser.add_argument("--named-people", type=Path, help="only these, one a line")
    parser.add_argument("--background-people", type=Path, help="only these, one a line")
    parser.add_argument("--videos", default="*", help="which episodes, such as 'bbt_*'")
    parser.add_argument("--alike", action="store_true", help="with people who look alike")
    parser.add_argument("--describer", default=DEFAULT_DESCRIBER)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folders = ((given.named, given.named_people), (given.background, given.background_people))
    named, background = (
        photographs(folder, read_names(people) if people else None) for folder, people in folders
    )
    with progress_bar() as report:
        recast_folder(
            given.authors, given.out, named, background,
            videos=given.videos, seed=given.seed, alike=given.alike, describer=given.describer,
            progress=report,
        )  # fmt: skip


if __name__ == "__main__":
    main()
