"""Watching a video whose tracks are given: their boxes are looked at instead of finding faces."""

from __future__ import annotations

from collections.abc import Callable, Generator

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.io.box_tracks import GivenTracks
from castlist.video.describe import Describer
from castlist.video.detect import WEAK, Detector, Faces
from castlist.video.follow import Track, ious
from castlist.video.frames import Image, Video
from castlist.video.sampling import ResumePoint, SampledFrame
from castlist.video.shot_tracking import Shot, TrackedShot, track_shots
from castlist.video.tracking_settings import TrackingSettings

#: Where eyes, nose and mouth are in a face's box: on average in the default detector's.
LANDMARKS = np.array([[0.27, 0.38], [0.73, 0.38], [0.5, 0.58], [0.3, 0.735], [0.7, 0.735]])
_AROUND = 2.0  # sides of the box: what the detector is shown of the picture
_SIDE = 160  # pixels of it
_UNSEEN = 0.1  # worth of a face that the detector did not find, beside one that it did


class ExternalBoxes:
    """The boxes of given tracks, by frame; between two of a track, in a straight line.

    Parameters
    ----------
    given : GivenTracks
        What a file says.
    video : Video
        What it says it of.
    """

    def __init__(self, given: GivenTracks, video: Video) -> None:
        tracks = self._tracks = given.tracks
        self.first = tracks.frame[tracks.offsets[:-1]]
        self.last = tracks.frame[tracks.offsets[1:] - 1]
        self._gap = given.longest_gap * video.rate + 1e-6
        frames = video.duration * video.rate  # as far as the file tells
        if frames and self.first.min() > frames + 1:
            raise InputError(
                f"the tracks of {tracks.videos[0]} begin in frame {self.first.min()}, and "
                f"{video.path} has about {round(frames)}; are they of another video?"
            )

    def __len__(self) -> int:
        return len(self._tracks)

    def at(self, frame: int) -> dict[int, NDArray[np.float32]]:
        """Return the boxes of a frame, by the row of their track."""
        found = {}
        for row in np.flatnonzero((self.first <= frame) & (self.last >= frame)).tolist():
            begin, end = self._tracks.offsets[row : row + 2]
            after = int(begin + np.searchsorted(self._tracks.frame[begin:end], frame))
            gap, part = 0.0, 0.0
            if self._tracks.frame[after] > frame:
                gap = float(self._tracks.frame[after] - self._tracks.frame[after - 1])
                part = float(self._tracks.frame[after] - frame) / gap
            if gap <= self._gap:
                box = self._tracks.box
                found[row] = (1 - part) * box[after] + part * box[after - 1]
        return found


def track_given_boxes(
    video: Video, boxes: ExternalBoxes, detector: Detector, describer: Describer,
    settings: TrackingSettings, start: ResumePoint | None = None,
    at: Callable[[float], None] | None = None,
) -> Generator[TrackedShot]:  # fmt: skip
    """Watch a video at the boxes of given tracks, shot after shot.

    Every track is looked at when it begins, and as often as in any scan from there on. One that
    goes on over a cut is a track on each side: who made it may have taken one person for another.

    Parameters
    ----------
    video, boxes, detector, describer, settings
        What, where, with what, and how closely.
    start : ResumePoint, optional
        Where to begin: where a shot begins.
    at : callable, optional
        Told the time of every picture looked at.
    """
    return track_shots(
        video, detector, describer, settings, start, at,
        lambda number: _ExternalShot(number, detector, describer, settings, boxes),
        set(boxes.first.tolist()),
    )  # fmt: skip


class _ExternalShot(Shot):
    """The given faces of one shot."""

    def __init__(
        self, number: int, detector: Detector, describer: Describer, settings: TrackingSettings,
        boxes: ExternalBoxes,
    ) -> None:  # fmt: skip
        super().__init__(number, detector, describer, settings)
        self._boxes = boxes
        self._live: dict[int, Track] = {}
        self._ended: list[Track] = []

    def look(self, look: SampledFrame, faces: Faces | None) -> None:
        """SampledFrame at the given boxes of a picture."""
        assert look.image is not None
        for row in [row for row in self._live if self._boxes.last[row] < look.number]:
            track = self._live.pop(row)
            track.gallery.close()  # what ended is shrunk: a crowd must not fill memory
            self._ended.append(track)
        height, width = look.image.shape[:2]
        for row, box in self._boxes.at(look.number).items():
            middle = box[:2] + box[2:] / 2
            if not ((middle > 0) & (middle < [width, height])).all():
                continue
            face = located(look.image, box, self.detector)
            track = self._live.setdefault(row, Track(self.new_gallery()))
            track.add(look.number, look.time, box, float(face.score[0]))
            self.keep(look.image, face, 0, track)

    def ended(self) -> list[Track]:
        """Return the shot's tracks, in order of their first face."""
        tracks = [*self._ended, *self._live.values()]
        return sorted(tracks, key=lambda track: (track.time[0], float(track.box[0][0])))

    def breaks(self, features: NDArray[np.float32]) -> list[int]:
        """Leave tracks whole: they were given so."""
        return []


def located(image: Image, box: NDArray[np.float32], detector: Detector) -> Faces:
    """Find the landmarks of a face whose box is known; guess them by the box if need be.

    The score is the detector's, or that of a guess, which is less than any.
    """
    side = max(1.0, _AROUND * float(max(box[2:])))
    scale = _SIDE / side
    corner = box[:2] + box[2:] / 2 - side / 2
    matrix = np.array([[scale, 0, -scale * corner[0]], [0, scale, -scale * corner[1]]])
    around = cv2.warpAffine(image, matrix, (_SIDE, _SIDE), flags=cv2.INTER_LINEAR)
    found = detector.detect(np.asarray(around, np.uint8))
    found = found[found.score >= WEAK]
    there = found.box / scale + np.concatenate([corner, [0, 0]])
    middle = there[:, :2] + there[:, 2:] / 2
    inside = ((middle > box[:2]) & (middle < box[:2] + box[2:])).all(axis=1)
    if not inside.any():
        guess = box[:2] + LANDMARKS * box[2:]
        score = np.array([_UNSEEN], np.float32)
        return Faces(box[None], guess[None].astype(np.float32), score)
    likeness = np.where(inside, ious(there, box[None].astype(np.float64))[:, 0], -1)
    best = int(likeness.argmax())
    landmarks = (found.landmarks[best] / scale + corner).astype(np.float32)
    return Faces(box[None], landmarks[None], found.score[best : best + 1])
