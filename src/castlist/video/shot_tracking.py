"""Tracking faces in one pass over a video: detection, tracks and features, shot after shot."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from castlist.geometry import iou_matrix
from castlist.io.pictures import PICTURES, Cover
from castlist.parallel import in_threads
from castlist.video.align import aligned, picture, quality
from castlist.video.describe import Describer
from castlist.video.detect import LOOK_WIDTH, WEAK, Detector, Faces, confirmed, wide_width
from castlist.video.face_selection import Gallery, Portrait, presentable
from castlist.video.follow import (
    ALIKE,
    FEWEST_FACES,
    Follower,
    Track,
    cosine,
    surroundings,
)
from castlist.video.frames import Image, Video
from castlist.video.pictures import Picture, as_jpeg, frame_view, share_of
from castlist.video.sampling import ResumePoint, SampledFrame, sampled
from castlist.video.shots import Signature
from castlist.video.tracking_settings import TrackingSettings

_THERE = 0.3  # minimum IoU of a face with its predicted box
_EASY_FACE = 24.0  # pixels of the network's input: smaller faces are sometimes missed


@dataclass(frozen=True)
class DescribedTrack:
    """A finished track.

    Attributes
    ----------
    shot : int
        Number of its shot.
    end : float
        End in seconds: the time of the next sampled frame of the shot, or the end of the shot.
    number, time, box, score : ndarrays
        Frame number, time, box and score of each face.
    described : ndarray of int
        Indices of the faces that are described.
    features : ndarray of shape (len(described), dim)
        Their features.
    pictures : list of Picture
        Pictures of some faces to show, best first.
    ends : ndarray of shape (2, SIGNATURE_LENGTH)
        Signatures of the frames of its first and last face.
    """

    shot: int
    end: float
    number: NDArray[np.int64]
    time: NDArray[np.float64]
    box: NDArray[np.float32]
    score: NDArray[np.float32]
    described: NDArray[np.int64]
    features: NDArray[np.float32]
    pictures: list[Picture]
    ends: NDArray[np.float16]


@dataclass(frozen=True)
class TrackedShot:
    """A shot and its tracks.

    Attributes
    ----------
    tracks : list of DescribedTrack
        The tracks.
    next : ResumePoint or None
        Start of the next shot; None after the last one.
    end : float
        End of the shot in seconds.
    n_frames : int
        Number of sampled frames.
    cut : bool
        Whether the shot ends with a cut or with the video. A scan can resume only there.
    """

    tracks: list[DescribedTrack]
    next: ResumePoint | None
    end: float
    n_frames: int
    cut: bool = True


def track_shots(
    video: Video, detector: Detector, describer: Describer, settings: TrackingSettings,
    start: ResumePoint | None = None, at: Callable[[float], None] | None = None,
    new_shot: Callable[[int], Shot] | None = None, also: Collection[int] = (),
) -> Generator[TrackedShot]:  # fmt: skip
    """Yield the shots of a video with their tracks.

    Parameters
    ----------
    video, detector, describer, settings
        The video, the networks and the settings.
    start : ResumePoint, optional
        The shot to begin with; by default the first.
    at : callable, optional
        Called with the time of every sampled frame.
    new_shot : callable, optional
        Returns the shot of a number, if faces are known and need not be detected.
    also : collection of int
        Numbers of additional frames to sample.
    """
    start = start or ResumePoint()
    shot: Shot | None = None
    end = start.time

    def find(sample: SampledFrame) -> Faces | None:
        known = sample.image is None or sample.still or new_shot is not None
        return None if known else detect_in(sample, detector, settings)

    faces: Faces | None = None
    with ExitStack() as threads:  # all end before the video is closed
        samples = threads.enter_context(closing(sampled(video, settings.sample_rate, start, also)))
        # Faces of the next frames are detected while those of one frame are tracked.
        for sample, new in threads.enter_context(closing(in_threads(samples, find))):
            end = sample.time
            faces = new if new is not None else faces
            if sample.image is None:  # end of the video
                continue
            if shot is None or sample.shot != shot.number:
                if shot is not None:
                    place = ResumePoint(sample.time, sample.number, sample.shot, sample.seek)
                    yield TrackedShot(shot.finish(end), place, end, shot.n_frames, sample.cut)
                shot = (
                    Shot(sample.shot, detector, describer, settings)
                    if new_shot is None
                    else new_shot(sample.shot)
                )
            shot.times.append(sample.time)
            if sample.signature is not None:
                shot.signatures[sample.number] = sample.signature
            shot.add(sample, faces)
            if at is not None:
                at(end)
    if shot is not None:
        yield TrackedShot(shot.finish(end), None, end, shot.n_frames)


def detect_in(sample: SampledFrame, detector: Detector, settings: TrackingSettings) -> Faces:
    """Return candidates for faces in a sampled frame, at a larger width if ``closely`` is set."""
    assert sample.image is not None
    if sample.closely or settings.look_width:
        wide = settings.look_width or wide_width(max(sample.image.shape[:2]))
        return detector.detect(sample.image, wide)
    return detector.detect(sample.image)


class Shot:
    """The faces of one shot.

    ``times`` and ``signatures`` (by frame number) are those of its sampled frames.
    """

    def __init__(
        self, number: int, detector: Detector, describer: Describer, settings: TrackingSettings
    ) -> None:
        self.number = number
        self.times: list[float] = []
        self.signatures: dict[int, Signature] = {}
        self.detector = detector
        self.describer = describer
        self.settings = settings
        self.follower = Follower(self._reference, self._last)
        self._viewed: tuple[Image, bytes] | None = None

    @property
    def n_frames(self) -> int:
        """Number of sampled frames."""
        return len(self.times)

    def add(self, sample: SampledFrame, faces: Faces | None) -> None:
        """Assign the candidates of a sampled frame to tracks."""
        assert sample.image is not None
        assert faces is not None
        image, closely = sample.image, sample.closely
        faces = self._with_small(image, sample.time, faces) if not closely else faces
        middle = faces.box[:, :2] + faces.box[:, 2:] / 2
        inside = ((middle > 0) & (middle < [image.shape[1], image.shape[0]])).all(axis=1)
        # A track of sufficient median width may have slightly smaller faces.
        faces = faces[inside & (faces.box[:, 2] >= 0.8 * self.settings.min_face)]
        followed = _there(self.follower.expected(sample.time), faces)
        faces = faces[closely | followed | (faces.score >= WEAK)]
        known = _there(self.follower.expected(sample.time, confirmed=True), faces)
        faces = confirmed(image, faces, self.detector, known)
        faces = faces[faces.score >= self.settings.min_score]

        def describe(some: list[int]) -> NDArray[np.float32]:
            crops = [self.describer.crop(image, faces.box[f], faces.landmarks[f]) for f in some]
            return self.describer.describe(crops)

        around = surroundings(image, faces.box)
        tracks = self.follower.add(
            sample.number, sample.time, faces, around, describe, self.new_gallery
        )
        for face, track in enumerate(tracks):
            self.keep(image, faces, face, track)

    def _with_small(self, image: Image, time: float, faces: Faces) -> Faces:
        """Return faces, and small ones detected in close-ups of their predicted boxes."""
        longest = max(image.shape[:2])
        if self.settings.look_width or wide_width(longest) <= LOOK_WIDTH:
            return faces
        boxes = self.follower.expected(time)
        small = boxes[:, 2] * LOOK_WIDTH / longest < _EASY_FACE
        gone = ~(iou_matrix(boxes, faces.box) > _THERE).any(axis=1)
        for box in boxes[small & gone]:
            faces = Faces.all([faces, self.detector.closer(image, box)])
        return faces

    def new_gallery(self) -> Gallery:
        """Return the empty gallery of a new track."""
        return Gallery(1 / self.settings.sample_rate, self.settings.faces_per_track)

    def keep(self, image: Image, faces: Faces, face: int, track: Track) -> None:
        """Keep a track's last face as a candidate to describe or show, if it is among the best."""
        box, landmarks = faces.box[face], faces.landmarks[face]
        straight = aligned(image, landmarks)
        worth = float(faces.score[face]) * quality(straight, box, landmarks)
        track.crop = (
            straight if self.describer.aligned else self.describer.crop(image, box, landmarks)
        )
        now = track.time[-1]
        if not track.gallery.would_take(now, worth, worth):  # as a cover it scores no higher
            return
        shown = picture(image, box)
        good = worth * presentable(image, box, straight, shown)
        if track.gallery.would_take(now, worth, good):
            cover = Cover(good, now, share_of(image, box))
            seen = Picture(as_jpeg(shown), self._view(image), cover)
            track.gallery.add(Portrait(len(track) - 1, now, worth, track.crop, seen))

    def _view(self, image: Image) -> bytes:
        """Return a frame to show; made once for all of its faces."""
        if self._viewed is None or self._viewed[0] is not image:
            self._viewed = image, frame_view(image)
        return self._viewed[1]

    def _last(self, track: Track) -> NDArray[np.float32]:
        """Return the feature of a track's last face."""
        assert track.crop is not None
        return np.asarray(self.describer.describe([track.crop])[0])

    def _reference(self, track: Track) -> NDArray[np.float32]:
        """Return the feature of a track's best face so far; computed once, and only in doubt."""
        if track.reference is None:
            best = max(track.gallery.best(), key=lambda one: one.quality)
            track.reference = self.describer.describe([best.crop])[0]
        return track.reference

    def ended(self) -> list[Track]:
        """Return the shot's tracks, in order of their first face."""
        smallest = self.settings.min_face
        return [
            track for track in self.follower.finish()
            if np.median([box[2] for box in track.box]) >= smallest
        ]  # fmt: skip

    def breaks(self, features: NDArray[np.float32]) -> list[int]:
        """Return the indices of described faces that are unlike the one before."""
        alike = [cosine(a, b) >= ALIKE for a, b in pairwise(features)]
        return [k + 1 for k, same in enumerate(alike) if not same]

    def finish(self, shot_end: float) -> list[DescribedTrack]:
        """Return the described tracks of the shot, which ends at ``shot_end``."""
        tracks = self.ended()
        chosen = [track.gallery.best() for track in tracks]
        features = self.describer.describe([one.crop for some in chosen for one in some])
        ends = np.cumsum([len(some) for some in chosen])
        return [
            part
            for track, some, end in zip(tracks, chosen, ends, strict=True)
            for part in self._split(track, some, features[end - len(some) : end], shot_end)
        ]

    def _end(self, time: float, shot_end: float) -> float:
        """Return the time of the next sampled frame, or the end of the shot."""
        after = bisect(self.times, time)
        return self.times[after] if after < len(self.times) else shot_end

    def _signatures_at(self, *numbers: int) -> NDArray[np.float16]:
        return np.stack([self.signatures[number] for number in numbers]).astype(np.float16)

    def _split(
        self, track: Track, portraits: list[Portrait], features: NDArray[np.float32],
        shot_end: float,
    ) -> list[DescribedTrack]:  # fmt: skip
        """Return the parts of a track between its breaks, where a cut or dissolve was missed."""
        breaks = self.breaks(features)
        parts = []
        edges = [0, *breaks, len(portraits)]
        for first, last in pairwise(edges):
            some = portraits[first:last]
            # Split half-way between the faces that differ.
            begin = (portraits[first - 1].face + some[0].face + 1) // 2 if first else 0
            end = (some[-1].face + portraits[last].face + 1) // 2 if last < len(portraits) else None
            own = slice(begin, end)
            if breaks and len(track.time[own]) < FEWEST_FACES:
                continue
            parts.append(
                DescribedTrack(
                    shot=self.number,
                    end=self._end(track.time[own][-1], shot_end),
                    number=np.array(track.number[own], np.int64),
                    time=np.array(track.time[own]),
                    box=np.array(track.box[own], np.float32),
                    score=np.array(track.score[own], np.float32),
                    described=np.array([one.face - begin for one in some], np.int64),
                    features=features[first:last],
                    pictures=track.gallery.pictures(begin, begin + len(track.time[own]), PICTURES),
                    ends=self._signatures_at(track.number[own][0], track.number[own][-1]),
                )
            )
        return parts


def _there(boxes: NDArray[np.float64], faces: Faces) -> NDArray[np.bool_]:
    """Return which faces overlap one of the boxes."""
    return np.asarray((iou_matrix(boxes, faces.box) > _THERE).any(axis=0))
