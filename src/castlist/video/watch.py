"""One pass over a video: cuts, faces, tracks and their features, shot after shot."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from castlist.video.align import picture, quality
from castlist.video.describe import Describer
from castlist.video.detect import Detector, Faces
from castlist.video.follow import ALIKE, FEWEST_FACES, Follower, Track, cosine
from castlist.video.frames import Image, Video
from castlist.video.gallery import Gallery, Portrait
from castlist.video.settings import WatchSettings
from castlist.video.shots import CUT_WIDTH, ShotSplitter

_AHEAD = 6  # pictures decoded before they are needed


@dataclass(frozen=True)
class Place:
    """Where in a video a shot begins, in time and in counts: enough to go on from."""

    time: float = 0.0
    number: int = 0
    shot: int = 0
    seek: bool = True  # whether the video's times can be seeked to


@dataclass(frozen=True)
class DescribedTrack:
    """A finished track.

    Attributes
    ----------
    number, time, box, score : ndarrays
        Its faces.
    described : ndarray of int
        Which of them were described.
    features : ndarray of shape (len(described), dim)
        Their features.
    pictures : list of images
        The described faces, as people are shown them, best first.
    """

    shot: int
    number: NDArray[np.int64]
    time: NDArray[np.float64]
    box: NDArray[np.float32]
    score: NDArray[np.float32]
    described: NDArray[np.int64]
    features: NDArray[np.float32]
    pictures: list[Image]


@dataclass(frozen=True)
class WatchedShot:
    """What a shot had to show, and where the next one begins; None after the last."""

    tracks: list[DescribedTrack]
    next: Place | None
    end: float
    looks: int


def watch(
    video: Video, detector: Detector, describer: Describer, settings: WatchSettings,
    start: Place | None = None, at: Callable[[float], None] | None = None,
) -> Generator[WatchedShot]:  # fmt: skip
    """Watch a video, shot after shot.

    Parameters
    ----------
    video, detector, describer, settings
        What, with what, and how closely.
    start : Place, optional
        Where to begin: where a shot begins.
    at : callable, optional
        Told the time of every picture looked at.
    """
    start = start or Place()
    shot: _Shot | None = None
    end = start.time
    for look in _sampled(video, settings.sample_rate, start):
        if look.image is None:  # only says how far the video goes
            end = look.time
            continue
        if shot is None or look.shot != shot.number:
            if shot is not None:
                place = Place(look.time, look.number, look.shot, look.seek)
                yield WatchedShot(shot.finish(), place, end, shot.follower.looks)
            shot = _Shot(look.shot, detector, describer, settings)
        shot.look(look)
        end = look.time
        if at is not None:
            at(end)
    if shot is not None:
        yield WatchedShot(shot.finish(), None, end, shot.follower.looks)


@dataclass(frozen=True)
class _Look:
    shot: int
    number: int
    time: float
    image: Image | None
    seek: bool = True


class _Shot:
    """The faces of one shot."""

    def __init__(
        self, number: int, detector: Detector, describer: Describer, settings: WatchSettings
    ) -> None:
        self.number = number
        self.detector = detector
        self.describer = describer
        self.settings = settings
        self.follower = Follower(self._reference)

    def look(self, look: _Look) -> None:
        """Find the faces of a picture and give them to tracks."""
        assert look.image is not None
        image, faces = look.image, self.detector.detect(look.image)
        middle = faces.box[:, :2] + faces.box[:, 2:] / 2
        inside = ((middle > 0) & (middle < [image.shape[1], image.shape[0]])).all(axis=1)
        faces = faces[inside & (faces.box[:, 2] >= self.settings.min_face)]

        def describe(some: list[int]) -> NDArray[np.float32]:
            crops = [self.describer.crop(image, faces.box[f], faces.landmarks[f]) for f in some]
            return self.describer.describe(crops)

        def new() -> Gallery:
            return Gallery(1 / self.settings.sample_rate, self.settings.faces_a_track)

        tracks = self.follower.add(look.number, look.time, faces, describe, new)
        for face, track in enumerate(tracks):
            self._keep(image, faces, face, track)

    def _keep(self, image: Image, faces: Faces, face: int, track: Track) -> None:
        box, landmarks = faces.box[face], faces.landmarks[face]
        worth = float(faces.score[face]) * quality(image, box, landmarks)
        if track.gallery.would_take(track.time[-1], worth):
            crop = self.describer.crop(image, box, landmarks)
            portrait = Portrait(len(track) - 1, track.time[-1], worth, crop, picture(image, box))
            track.gallery.add(portrait)

    def _reference(self, track: Track) -> NDArray[np.float32]:
        """Describe a track's best face so far; once, for it is only asked in doubt."""
        if track.reference is None:
            best = max(track.gallery.best(), key=lambda one: one.quality)
            track.reference = self.describer.describe([best.crop])[0]
        return track.reference

    def finish(self) -> list[DescribedTrack]:
        """Describe the shot's tracks, all in one go."""
        tracks = self.follower.finish()
        chosen = [track.gallery.best() for track in tracks]
        features = self.describer.describe([one.crop for some in chosen for one in some])
        ends = np.cumsum([len(some) for some in chosen])
        return [
            part
            for track, some, end in zip(tracks, chosen, ends, strict=True)
            for part in self._parted(track, some, features[end - len(some) : end])
        ]

    def _parted(
        self, track: Track, portraits: list[Portrait], features: NDArray[np.float32]
    ) -> list[DescribedTrack]:
        """Part a track where one face is nothing like the next: a cut was missed, or dissolved."""
        alike = [cosine(a, b) >= ALIKE for a, b in pairwise(features)]
        breaks = [k + 1 for k, same in enumerate(alike) if not same]
        parts = []
        edges = [0, *breaks, len(portraits)]
        for first, last in pairwise(edges):
            some = portraits[first:last]
            # Half way between the faces that differ.
            begin = (portraits[first - 1].face + some[0].face + 1) // 2 if first else 0
            end = (some[-1].face + portraits[last].face + 1) // 2 if last < len(portraits) else None
            own = slice(begin, end)
            if breaks and len(track.time[own]) < FEWEST_FACES:
                continue
            parts.append(
                DescribedTrack(
                    shot=self.number,
                    number=np.array(track.number[own], np.int64),
                    time=np.array(track.time[own]),
                    box=np.array(track.box[own], np.float32),
                    score=np.array(track.score[own], np.float32),
                    described=np.array([one.face - begin for one in some], np.int64),
                    features=features[first:last],
                    pictures=[one.picture for one in sorted(some, key=lambda one: -one.quality)],
                )
            )
        return parts


def _sampled(video: Video, rate: float, start: Place) -> Iterator[_Look]:
    """Decode in a thread of its own: yield the pictures in which faces are looked for."""

    def work(put: Callable[[_Look], None]) -> None:
        splitter, shot, due = ShotSplitter(), start.shot - 1, 0.0
        time, number = start.time, start.number
        for frame in video.frames(start.time, start.number, start.seek):
            time, number = frame.time, frame.number
            if splitter.begins_at(time, frame.image(CUT_WIDTH)):
                shot, due = shot + 1, time
            if time >= due - 1e-6:
                put(_Look(shot, number, time, frame.image(), not video.mended))
                due += 1 / rate
                if due <= time:  # frames are rarer than looks
                    due = time + 1e-6
        put(_Look(shot, number, time, None))

    return _from_thread(work)


def _from_thread(work: Callable[[Callable[[_Look], None]], None]) -> Iterator[_Look]:
    """Run work in a thread and yield what it puts, a few things ahead."""
    ready: queue.Queue[_Look | BaseException | None] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    class _Stop(Exception):
        pass

    def put(item: _Look | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                return ready.put(item, timeout=0.2)
            except queue.Full:
                continue
        raise _Stop

    def run() -> None:
        try:
            work(put)
            put(None)
        except _Stop:
            pass
        except BaseException as error:
            with suppress(_Stop):
                put(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()
