"""Read tracks that other tools made: boxes by track and frame, from MOT Challenge and CVAT files.

``export/mot.py`` and ``export/cvat.py`` write these formats.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from castlist.errors import InputError
from castlist.tracks import TrackSet

_MAX_FACES = 5_000_000  # more than the tracks of any video have
_MAX_FRAME = 2**40
_MAX_LINE = 10_000  # characters
_MOT_LONGEST_GAP = 1.0  # seconds: MOT files do not record when a face is gone


@dataclass(frozen=True)
class GivenTracks:
    """Tracks made by another tool.

    Attributes
    ----------
    tracks : TrackSet
        Frames, counted from 0, and boxes, in order of time within a track.
    longest_gap : float
        Seconds between two boxes of a track up to which the face is there in between. Infinite
        if the file records when a face is gone.
    """

    tracks: TrackSet
    longest_gap: float


def read_given(path: str | Path) -> GivenTracks:
    """Read tracks made by another tool, from a CVAT for video 1.1 or a MOT Challenge file."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such track file")
    try:
        with path.open("rb") as file:
            start = file.read(1000)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    is_xml = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    return _read_cvat(path) if is_xml else _read_mot(path)


@dataclass
class _BoxColumns:
    """Boxes in compact columns, each box checked when it is added."""

    path: Path
    track: list[str] = field(default_factory=list)  # one object for all faces of a track
    numbers: array[float] = field(default_factory=lambda: array("d"))

    def add(self, where: str, track: str, frame: int, box: tuple[float, ...]) -> None:
        """Add a face: x, y, width and height in pixels."""
        if not 0 <= frame < _MAX_FRAME:
            raise InputError(f"{self.path}, {where}: there is no such frame")
        if not all(map(math.isfinite, box)) or min(box[2:]) <= 0:
            raise InputError(f"{self.path}, {where}: a box with no width or height")
        if len(self.track) >= _MAX_FACES:
            raise InputError(f"{self.path}: more than {_MAX_FACES:,} boxes; is it one video?")
        self.track.append(track)
        self.numbers.extend((frame, *box))

    def tracks(self) -> TrackSet:
        """Return the TrackSet, faces in order of frames within a track."""
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


def _read_mot(path: Path) -> GivenTracks:
    """Read ``frame,id,left,top,width,height`` per line, counted from 1; ignore the rest."""
    columns = _BoxColumns(path)
    ids: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            number = 0
            while line := file.readline(_MAX_LINE):
                number += 1
                if line.strip():
                    _add_mot_line(columns, f"line {number}", line, ids)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    if not ids:
        raise InputError(f"{path}: no tracks in the file")
    return GivenTracks(columns.tracks(), _MOT_LONGEST_GAP)


def _add_mot_line(columns: _BoxColumns, where: str, line: str, ids: dict[str, str]) -> None:
    words = line.replace(",", " ").split()[:6]
    try:
        frame, track, left, top, width, height = (float(word) for word in words)
        valid = frame == int(frame) and track == int(track) and len(line) < _MAX_LINE
    except (ValueError, OverflowError):
        valid = False
    if not valid:
        raise InputError(
            f"{columns.path}, {where}: expected frame,id,left,top,width,height, "
            f"found {line.strip()[:60]!r}"
        )
    if track < 0:
        raise InputError(
            f"{columns.path}, {where}: id {int(track)} marks detections; give a file of tracks"
        )
    name = str(int(track))
    box = (left - 1, top - 1, width, height)  # pixels are counted from 1 too
    columns.add(where, ids.setdefault(name, name), int(frame) - 1, box)


def _read_cvat(path: Path) -> GivenTracks:
    """Read the boxes of a CVAT file, element by element.

    A track that is ``outside`` for a while becomes two tracks. Labels, and shapes other than boxes,
    are ignored. Document type definitions, which can name other files or expand without limit, are
    refused.
    """
    reader = _CvatReader(path)
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    except InputError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter for encodings
        raise InputError(f"{path}: not whole XML ({error})") from error
    if not reader.columns.track:
        raise InputError(
            f"{path}: no tracks of boxes; export the task from CVAT as 'CVAT for video 1.1'"
        )
    return GivenTracks(reader.columns.tracks(), math.inf)


class _CvatReader:
    """Handlers of the XML parser, and the boxes read so far."""

    def __init__(self, path: Path) -> None:
        self.columns = _BoxColumns(path)
        self._track: str | None = None
        self._boxes: list[tuple[int, bool, tuple[float, ...]]] = []
        self._seen: set[str] = set()
        self._tasks: set[str] = set()

    def refuse(self, *_: object) -> NoReturn:
        raise InputError(
            f"{self.columns.path}: document type definitions are not supported; "
            "files from CVAT have none"
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "track":
            self._track = attributes.get("id", "")
            if self._track in self._seen:
                raise InputError(f"{self.columns.path}: track {self._track} occurs twice")
            self._seen.add(self._track)
            self._tasks.add(attributes.get("task_id", ""))
            if len(self._tasks) > 1:
                raise InputError(
                    f"{self.columns.path}: tracks of several tasks; export the task of one video"
                )
        elif name == "box" and self._track is not None:
            self._boxes.append(self._parse_box(attributes))

    def end(self, name: str) -> None:
        if name != "track" or self._track is None:
            return
        key, part = self._track, 1
        where = f"track {self._track}"
        last: tuple[int, tuple[float, ...]] | None = None  # frame and box, while it is inside
        for frame, outside, box in sorted(self._boxes):
            if not outside:
                self.columns.add(where, key, frame, box)
                last = frame, box
            elif last is not None:
                if frame - 1 > last[0]:  # a box stays until the frame before it is outside
                    self.columns.add(where, key, frame - 1, last[1])
                part, last = part + 1, None
                key = f"{self._track}.{part}"
        self._track, self._boxes = None, []

    def _parse_box(self, attributes: dict[str, str]) -> tuple[int, bool, tuple[float, ...]]:
        try:
            left, top, right, bottom = (float(attributes[k]) for k in ("xtl", "ytl", "xbr", "ybr"))
            frame = int(attributes["frame"])
        except (KeyError, ValueError) as error:
            raise InputError(
                f"{self.columns.path}, track {self._track}: a box without frame or corners "
                f"({error})"
            ) from error
        box = (left, top, right - left, bottom - top)
        return frame, attributes.get("outside") == "1", box
