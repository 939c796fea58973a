"""Scanning with tracks made by another tool: their boxes take the place of detected faces."""

from __future__ import annotations

from collections.abc import Callable, Generator

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.geometry import iou, pixel_scale
from castlist.io.box_tracks import GivenTracks
from castlist.video.describe import Describer
from castlist.video.detect import WEAK, Detector, Faces
from castlist.video.follow import Track
from castlist.video.frames import Image, Video
from castlist.video.sampling import ResumePoint, SampledFrame
from castlist.video.shot_tracking import Shot, TrackedShot, track_shots
from castlist.video.tracking_settings import TrackingSettings

#: Mean positions of eyes, nose and mouth in the boxes of the default detector.
LANDMARKS = np.array([[0.27, 0.38], [0.73, 0.38], [0.5, 0.58], [0.3, 0.735], [0.7, 0.735]])
_AROUND = 2.0  # side of the crop in which a face is detected, in sides of the box
_SIDE = 160  # side of the crop in pixels
_UNDETECTED = 0.1  # score of a face that is not detected in its box


class ExternalBoxes:
    """The boxes of external tracks, by frame, with linear interpolation between frames.

    Parameters
    ----------
    given : GivenTracks
        Tracks read from a file, with boxes in stored pixels.
    video : Video
        Their video.
    """

    def __init__(self, given: GivenTracks, video: Video) -> None:
        tracks = self._tracks = given.tracks
        self.first = tracks.frame[tracks.offsets[:-1]]
        self.last = tracks.frame[tracks.offsets[1:] - 1]
        self._boxes = tracks.box * pixel_scale(video.size, video.stored_size).astype(np.float32)
        self._gap = given.longest_gap * video.rate + 1e-6
        frames = video.duration * video.rate  # 0 if unknown
        if frames and self.first.min() > frames + 1:
            raise InputError(
                f"the tracks of {tracks.videos[0]} begin in frame {self.first.min()}, but "
                f"{video.path} has about {round(frames)} frames; are they of another video?"
            )

    def __len__(self) -> int:
        return len(self._tracks)

    def at(self, frame: int) -> dict[int, NDArray[np.float32]]:
        """Return the boxes of a frame, by row of their track."""
        found = {}
        for row in np.flatnonzero((self.first <= frame) & (self.last >= frame)).tolist():
            begin, end = self._tracks.offsets[row : row + 2]
            after = int(begin + np.searchsorted(self._tracks.frame[begin:end], frame))
            gap, part = 0.0, 0.0
            if self._tracks.frame[after] > frame:
                gap = float(self._tracks.frame[after] - self._tracks.frame[after - 1])
                part = float(self._tracks.frame[after] - frame) / gap
            if gap <= self._gap:
                box = self._boxes
                found[row] = (1 - part) * box[after] + part * box[after - 1]
        return found


def track_given_boxes(
    video: Video, boxes: ExternalBoxes, detector: Detector, describer: Describer,
    settings: TrackingSettings, start: ResumePoint | None = None,
    at: Callable[[float], None] | None = None,
) -> Generator[TrackedShot]:  # fmt: skip
    """Yield the shots of a video with the tracks of another tool.

    Each track is sampled at its first frame and at the sample rate from there on. A track that
    crosses a cut becomes one track on each side, because it may have changed person there.

    Parameters
    ----------
    video, boxes, detector, describer, settings
        The video, the boxes, the networks and the settings.
    start : ResumePoint, optional
        The shot to begin with; by default the first.
    at : callable, optional
        Called with the time of every sampled frame.
    """
    return track_shots(
        video, detector, describer, settings, start, at,
        lambda number: _ExternalShot(number, detector, describer, settings, boxes),
        set(boxes.first.tolist()),
    )  # fmt: skip


class _ExternalShot(Shot):
    """The faces of one shot at the boxes of external tracks."""

    def __init__(
        self, number: int, detector: Detector, describer: Describer, settings: TrackingSettings,
        boxes: ExternalBoxes,
    ) -> None:  # fmt: skip
        super().__init__(number, detector, describer, settings)
        self._boxes = boxes
        self._live: dict[int, Track] = {}
        self._ended: list[Track] = []

    def add(self, sample: SampledFrame, faces: Faces | None) -> None:
        """Add the faces at the boxes of a frame to their tracks."""
        assert sample.image is not None
        for row in [row for row in self._live if self._boxes.last[row] < sample.number]:
            track = self._live.pop(row)
            track.gallery.close()  # to bound memory in crowds
            self._ended.append(track)
        height, width = sample.image.shape[:2]
        for row, box in self._boxes.at(sample.number).items():
            middle = box[:2] + box[2:] / 2
            if not ((middle > 0) & (middle < [width, height])).all():
                continue
            face = located(sample.image, box, self.detector)
            track = self._live.setdefault(row, Track(self.new_gallery()))
            track.add(sample.number, sample.time, box, float(face.score[0]))
            self.keep(sample.image, face, 0, track)

    def ended(self) -> list[Track]:
        """Return the shot's tracks, in order of their first face."""
        tracks = [*self._ended, *self._live.values()]
        return sorted(tracks, key=lambda track: (track.time[0], float(track.box[0][0])))

    def breaks(self, features: NDArray[np.float32]) -> list[int]:
        """Return no breaks: external tracks are not split."""
        return []


def located(image: Image, box: NDArray[np.float32], detector: Detector) -> Faces:
    """Return the face at a known box, with detected landmarks or else mean ones.

    The score is that of the detector. If no face is detected, it is lower than any of these.
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
        estimate = box[:2] + LANDMARKS * box[2:]
        score = np.array([_UNDETECTED], np.float32)
        return Faces(box[None], estimate[None].astype(np.float32), score)
    likeness = np.where(inside, iou(there, box), -1)
    best = int(likeness.argmax())
    landmarks = (found.landmarks[best] / scale + corner).astype(np.float32)
    return Faces(box[None], landmarks[None], found.score[best : best + 1])
