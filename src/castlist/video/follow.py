"""Tracking faces through a shot: detections become tracks of one person each.

Faces are matched by box and motion while this is unambiguous. In doubt (two people close to each
other, a jump, a gap) features decide, and a track ends rather than change person: clustering joins
the parts of a person again, but nothing splits a mixed track.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from castlist.geometry import centres, iou_matrix
from castlist.video.detect import Faces
from castlist.video.face_selection import Gallery
from castlist.video.frames import Image

#: Maximum time in seconds that a face may be undetected within its track.
LONGEST_GAP = 1.0
#: The sum over the faces of a track of score minus the first value, where positive, must be at
#: least the second value. Two faces need high scores; ten may have low ones.
DOUBTFUL_SCORE, EVIDENCE = 0.62, 0.4
#: Minimum number of faces of a track. In a shot with only one sampled frame, one face with a very
#: high score is enough.
FEWEST_FACES = 2
VERY_SURE_SCORE = 0.9
_OVERLAP = 0.35  # IoU of boxes below which motion alone does not decide
_REACH = 1.0  # face sizes that a face may move between frames, plus as many per second
#: Minimum cosine of the features of two faces of one person.
ALIKE = 0.3
# A face at another position than its track, or with other surroundings, needs more similar
# features; a face with both, even more.
_JUMP_OVERLAP, _OTHER_AROUND, _SAME_AROUND = 0.25, 0.4, 0.6
_NEAR_OVERLAP, _FAR_AROUND = 0.1, 0.3  # below both, it is another person
_MUCH_ALIKE, _VERY_ALIKE = 0.5, 0.65
_AROUND, _AROUND_SIDE = 2.0, 20  # side of the surroundings in face sizes, and in pixels
# Seconds: after a longer gap a face needs more similar features, too. After a gap between the two
# values it needs them if a sampled frame lies in the gap.
_SHORT_GAP, _LONG_GAP = 0.3, 0.5

Describe = Callable[[list[int]], NDArray[np.float32]]


@dataclass
class Track:
    """The faces of one person in one shot so far."""

    gallery: Gallery
    number: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    box: list[NDArray[np.float32]] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(2))
    reference: NDArray[np.float32] | None = None
    around: NDArray[np.float32] | None = None  # surroundings of the last face …
    crop: NDArray[np.uint8] | None = None  # … and its crop for the describer

    def __len__(self) -> int:
        return len(self.time)

    def add(
        self, number: int, time: float, box: NDArray[np.float32], score: float,
        around: NDArray[np.float32] | None = None,
    ) -> None:  # fmt: skip
        """Add a face and its surroundings."""
        if self.time:
            moved = centres(box).astype(np.float64) - centres(self.box[-1])
            moved /= max(time - self.time[-1], 1e-3)
            self.velocity = 0.5 * self.velocity + 0.5 * moved
        self.number.append(number)
        self.time.append(time)
        self.box.append(box)
        self.score.append(score)
        self.around = around

    def expected(self, time: float) -> NDArray[np.float64]:
        """Return the predicted box at a time, with motion of at most half a second."""
        box = self.box[-1].astype(np.float64)
        box[:2] += self.velocity * min(time - self.time[-1], 0.5)
        return box


class Follower:
    """Tracks the faces of one shot.

    Parameters
    ----------
    reference, last : callable
        Return the feature of the best face of a track so far, and of its last face.
    """

    def __init__(
        self, reference: Callable[[Track], NDArray[np.float32]],
        last: Callable[[Track], NDArray[np.float32]],
    ) -> None:  # fmt: skip
        self._reference, self._last = reference, last
        self.live: list[Track] = []
        self.ended: list[Track] = []
        self.n_frames = 0
        self._before = 0.0  # time of the last frame

    def add(
        self, number: int, time: float, faces: Faces, around: NDArray[np.float32],
        describe: Describe, new: Callable[[], Gallery],
    ) -> list[Track]:  # fmt: skip
        """Assign every face of a frame to a track; return the track of each face.

        Parameters
        ----------
        number, time : int, float
            Number and time of the frame.
        faces : Faces
            The detected faces.
        around : ndarray of shape (len(faces), size)
            Their surroundings, as :func:`surroundings` returns them.
        describe : callable
            Returns the features of some of the faces; called only in doubt.
        new : callable
            Returns the gallery of a new track.
        """
        self.n_frames += 1
        for track in self.live:
            # To bound memory in crowds, shrink tracks that have ended and drop unconfirmed ones.
            if time - track.time[-1] > LONGEST_GAP and self._confirmed(track):
                track.gallery.close()
                self.ended.append(track)
        self.live = [track for track in self.live if time - track.time[-1] <= LONGEST_GAP]
        given: list[Track | None] = [None] * len(faces)
        for t, f in self._matches(time, faces, around, describe):
            given[f] = self.live[t]
        tracks = []
        for f, known in enumerate(given):
            track = Track(new()) if known is None else known
            if known is None:
                self.live.append(track)
            track.add(number, time, faces.box[f], float(faces.score[f]), around[f])
            tracks.append(track)
        self._before = time
        return tracks

    def expected(self, time: float, confirmed: bool = False) -> NDArray[np.float64]:
        """Return the predicted boxes at a time, of all tracks or only of confirmed ones."""
        tracks = [track for track in self.live if not confirmed or self._confirmed(track)]
        return np.array([track.expected(time) for track in tracks]).reshape(-1, 4)

    def finish(self) -> list[Track]:
        """End the shot; return its confirmed tracks, in order of their first face."""
        tracks = [track for track in self.ended + self.live if self._confirmed(track)]
        self.live, self.ended = [], []
        return sorted(tracks, key=lambda track: (track.time[0], float(track.box[0][0])))

    def _confirmed(self, track: Track) -> bool:
        """Return whether a track has enough evidence of being a face."""
        if self.n_frames < FEWEST_FACES:
            return max(track.score) >= VERY_SURE_SCORE
        evidence = sum(max(0.0, score - DOUBTFUL_SCORE) for score in track.score)
        return len(track) >= FEWEST_FACES and evidence >= EVIDENCE

    def _matches(
        self, time: float, faces: Faces, around: NDArray[np.float32], describe: Describe
    ) -> list[tuple[int, int]]:
        """Return the best assignment of faces to tracks, as pairs of track and face."""
        if not self.live or not len(faces):
            return []
        expected = np.array([track.expected(time) for track in self.live])
        last = np.array([track.box[-1] for track in self.live], np.float64)
        gap = np.array([time - track.time[-1] for track in self.live])
        boxes = faces.box.astype(np.float64)
        overlap = np.maximum(iou_matrix(expected, boxes), iou_matrix(last, boxes))
        possible = overlap > 0.05
        possible |= _jumps(expected, boxes) <= _REACH * (1 + gap[:, None])
        size = np.sqrt(boxes[:, 2] * boxes[:, 3])[None] / np.sqrt(last[:, 2] * last[:, 3])[:, None]
        possible &= (size > 0.4) & (size < 2.5)
        around = np.array([track.around for track in self.live]) @ around.T
        possible &= (overlap > _NEAR_OVERLAP) | (around >= _FAR_AROUND)  # neither matches
        missed = gap > 1.5 * (time - self._before)
        late = ((gap > _LONG_GAP) | ((gap > _SHORT_GAP) & missed))[:, None]
        same = (around >= _SAME_AROUND) & ~late
        elsewhere, other = (overlap < _JUMP_OVERLAP) & ~same, around < _OTHER_AROUND
        jumps = possible & (elsewhere | other | late)
        rivals = np.maximum(possible.sum(axis=1)[:, None], possible.sum(axis=0)[None])
        doubtful = possible & ((rivals > 1) | (overlap < _OVERLAP) | jumps)
        # A match is clear if every rival overlaps far less or has other surroundings, while both
        # people are detected all the time.
        clear = (overlap >= _OVERLAP) & _clear(overlap)
        clear |= same & _clear(np.where(possible, overlap + np.maximum(around, 0), 0))
        clear &= possible & ~jumps
        # A clear match excludes all others, so that few faces of a crowd are described.
        settled = clear.any(axis=1, keepdims=True) | clear.any(axis=0, keepdims=True)
        possible &= clear | ~settled
        doubtful &= possible & ~clear
        need = np.where(jumps, _MUCH_ALIKE, ALIKE)
        need[elsewhere & other] = _VERY_ALIKE
        likeness = self._likeness(doubtful, need, describe)
        possible &= ~(doubtful & (likeness < need))
        cost = np.where(doubtful, 1 - (overlap + likeness) / 2, 1 - overlap)
        cost[~possible] = 10.0
        rows, columns = linear_sum_assignment(cost)
        return [(t, f) for t, f in zip(rows, columns, strict=True) if possible[t, f]]

    def _likeness(
        self, doubtful: NDArray[np.bool_], need: NDArray[np.float64], describe: Describe
    ) -> NDArray[np.float64]:
        """Return the cosine of the features of doubtful pairs of tracks and faces."""
        likeness = np.zeros(doubtful.shape)
        asked = np.flatnonzero(doubtful.any(axis=0)).tolist()
        known = dict(zip(asked, describe(asked), strict=True)) if asked else {}
        for t, f in np.argwhere(doubtful).tolist():
            likeness[t, f] = cosine(self._reference(self.live[t]), known[f])
            if ALIKE <= likeness[t, f] < need[t, f]:  # the head may have turned
                likeness[t, f] = max(likeness[t, f], cosine(self._last(self.live[t]), known[f]))
        return likeness


def surroundings(image: Image, box: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the surroundings of each face as unit vectors of a small grey image.

    The product of two of them is their similarity. Hair and collar move with a face; those of
    another person differ.
    """
    found = [np.empty((0, _AROUND_SIDE**2), np.float32)]
    for x, y, w, h in np.asarray(box, np.float64).tolist():
        scale = _AROUND_SIDE / (_AROUND * max(w, h, 1.0))
        left = _AROUND_SIDE / 2 - scale * (x + w / 2)
        top = _AROUND_SIDE / 2 - scale * (y + h / 2)
        matrix = np.array([[scale, 0, left], [0, scale, top]])
        side = (_AROUND_SIDE, _AROUND_SIDE)
        small = cv2.warpAffine(image, matrix, side, flags=cv2.INTER_AREA)
        grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY).astype(np.float32).ravel()
        grey -= grey.mean()
        found.append(grey[None] / np.sqrt(float(grey @ grey) + 4.0 * len(grey)))
    return np.concatenate(found)


def _jumps(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances between the centres of boxes, in face sizes."""
    between = centres(a)[:, None] - centres(b)[None]
    size = np.sqrt(a[:, 2:].prod(axis=1))[:, None] + np.sqrt(b[:, 2:].prod(axis=1))[None]
    return np.asarray(2 * np.linalg.norm(between, axis=2) / np.maximum(size, 1e-9))


def _clear(overlap: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the pairs whose overlap is far larger than any other overlap of both."""
    rivals = np.zeros(overlap.shape)
    for axis in (0, 1):
        if overlap.shape[axis] > 1:
            second, first = np.split(np.sort(overlap, axis=axis), [-1], axis=axis)
            second = np.take(second, [-1], axis=axis)
            rivals = np.maximum(rivals, np.where(overlap == first, second, first))
    return np.asarray(overlap > 0.3 + rivals)


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Return the cosine similarity of two features."""
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-9))
