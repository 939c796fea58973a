"""Tracks made elsewhere: boxes by track and frame, from a MOT or a CVAT file."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from castlist.errors import InputError
from castlist.tracks import TrackSet

#: More faces than any video has tracks of; a file that says more would only fill memory.
MOST_FACES = 5_000_000
_LAST_FRAME = 2**40


@dataclass(frozen=True)
class GivenTracks:
    """Tracks made elsewhere.

    Attributes
    ----------
    tracks : TrackSet
        Frames, counted from 0, and boxes; in order of time within a track.
    longest_gap : float
        Seconds between two boxes of a track that are one movement. Between those farther apart
        the face is not there; where the file itself says when a face is gone, infinite.
    """

    tracks: TrackSet
    longest_gap: float


@dataclass
class BoxColumns:
    """Boxes as they are read, in compact columns, each checked."""

    path: Path
    track: list[str] = field(default_factory=list)  # the same object for all faces of a track
    numbers: array[float] = field(default_factory=lambda: array("d"))

    def add(self, where: str, track: str, frame: int, box: tuple[float, ...]) -> None:
        """Add a face: x, y, width and height in pixels."""
        if not 0 <= frame < _LAST_FRAME:
            raise InputError(f"{self.path}, {where}: there is no such frame")
        if not all(map(math.isfinite, box)) or min(box[2:]) <= 0:
            raise InputError(f"{self.path}, {where}: a box with no width or height")
        if len(self.track) >= MOST_FACES:
            raise InputError(f"{self.path}: more than {MOST_FACES:,} boxes; is it of one video?")
        self.track.append(track)
        self.numbers.extend((frame, *box))

    def tracks(self) -> TrackSet:
        """Put them together, track after track, in order of frames."""
        values = np.frombuffer(self.numbers, np.float64).reshape(-1, 5)
        frame = values[:, 0].astype(np.int64)
        order = np.argsort(frame, kind="stable")
        found = TrackSet.from_faces(
            np.array(self.track, object)[order], frame=frame[order], box=values[order, 1:],
            video=self.path.stem,
        )  # fmt: skip
        same = np.flatnonzero(np.diff(found.frame) <= 0) + 1
        for face in np.setdiff1d(same, found.offsets).tolist():
            track = str(found.ids[found.track_of_face[face]])
            raise InputError(
                f"{self.path}: track {track} has two boxes in frame {found.frame[face]} "
                "(counted from 0)"
            )
        return found
