"""Cover or blur the faces of a video, all but those of some people.

Boxes are interpolated between the pictures that were searched, made larger, and kept for a moment
before a track begins and after it ends. A face that was not found is not covered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from av.error import FFmpegError
from numpy.typing import NDArray

from castlist.cast.current import CurrentCast
from castlist.errors import CastlistError, InputError
from castlist.export.timeline import Timeline, number_of, timelines
from castlist.handover.encoding import add_pictures, format_of, video_path
from castlist.handover.intervals import Intervals, union
from castlist.io.files import replacing
from castlist.io.output_guard import check_file
from castlist.progress import Progress, silent
from castlist.video.containers import open_container, reason
from castlist.video.frames import Image, open_video

#: Seconds that a box is kept before the first and after the last face of a track.
MARGIN = 0.5
#: A box is this many times as wide and high when it is covered.
LARGER = 1.5
#: Between two looks, a face that jumps by up to this many times its size stays inside the ellipse.
FAST = (LARGER - 1) / 2
#: Seconds. Faces of one track are interpolated over gaps up to this; longer ones are reported.
LONGEST_GAP = 1.5
#: Tracks of people who stay visible are reported if they belong to them with less certainty.
SURE = 0.97
_CELLS = 6  # a blurred face is made of so many cells across


class Cover(StrEnum):
    """What a face becomes: one colour, or cells so coarse that little is left of it."""

    SOLID = "solid"
    BLUR = "blur"


@dataclass(frozen=True)
class Unsure:
    """A stretch of a video that a person should watch, and why."""

    start: float
    end: float
    why: str


@dataclass(frozen=True)
class _Path:
    """The boxes of one track over time."""

    times: NDArray[np.float64]
    boxes: NDArray[np.float64]
    start: float
    end: float

    def box_at(self, time: float) -> NDArray[np.float64]:
        """Return the box at a time; before the first face and after the last one, theirs."""
        return np.array([np.interp(time, self.times, column) for column in self.boxes.T])


def write_blurred(
    cast: CurrentCast,
    out: str | Path,
    *,
    visible: Sequence[int | str] = (),
    video: str | None = None,
    cover: Cover = Cover.SOLID,
    progress: Progress = silent,
) -> list[Unsure]:
    """Write a video with covered faces; return the stretches that a person should watch.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    out : path
        The file: ``.mp4``, ``.mov`` or ``.mkv``.
    visible : sequence of int or str
        Numbers or names of characters who are not covered.
    video : str, optional
        Name of the video, for a cast of several.
    cover : Cover
        What faces become. Networks that recognise faces can recognise some blurred ones.
    progress : callable
        Called with the stage, seconds done and seconds in all.
    """
    out = Path(out)
    form = format_of(out)
    timeline, source = _video_of(cast, video)
    if out.resolve() == source.resolve():
        raise InputError(f"{out} is the video itself; choose another file")
    check_file(out, out.suffix.lower())
    shown = {cast.character(one).number for one in visible}
    paths = _paths(timeline, shown)
    with replacing(out) as partial:
        try:
            _encode(source, partial, form, paths, timeline.size, cover, progress)
        except CastlistError:  # some are ValueErrors
            raise
        except (FFmpegError, ValueError) as error:
            raise InputError(f"{out}: cannot be written ({reason(error)})") from error
    return unsure_stretches(timeline, shown)


def cover_faces(
    image: Image, boxes: Sequence[NDArray[np.float64]], cover: Cover = Cover.SOLID
) -> Image:
    """Return a picture in which ellipses around boxes are covered."""
    image = image.copy()
    height, width = image.shape[:2]
    for x, y, w, h in boxes:
        middle = np.array([x + w / 2, y + h / 2])
        half = np.array([w, h]) * LARGER / 2
        left, top = np.maximum(np.floor(middle - half), 0).astype(int)
        right, bottom = np.minimum(np.ceil(middle + half), [width, height]).astype(int)
        if right <= left or bottom <= top:
            continue
        part = image[top:bottom, left:right]
        mask = np.zeros(part.shape[:2], np.uint8)
        centre = (round(middle[0]) - int(left), round(middle[1]) - int(top))
        axes = (math.ceil(half[0]), math.ceil(half[1]))
        cv2.ellipse(mask, centre, axes, 0, 0, 360, 255, thickness=-1)
        if cover is Cover.SOLID:
            part[mask > 0] = 0
            continue
        small = cv2.resize(part, (_CELLS, _CELLS), interpolation=cv2.INTER_AREA)
        blurred = cv2.resize(small, (right - left, bottom - top), interpolation=cv2.INTER_LINEAR)
        part[mask > 0] = blurred[mask > 0]
    return image


def unsure_stretches(timeline: Timeline, visible: set[int]) -> list[Unsure]:
    """Return the stretches of a video in which a face may be visible that should not be."""
    found = []
    for person in timeline.people:
        if person.character.number in visible:
            for row, sure in zip(person.tracks, person.track_confidence, strict=True):
                if sure < SURE:
                    why = f"is this {person.label}? ({100 * sure:.0f} %)"
                    found.append(Unsure(timeline.start[row], timeline.end[row], why))
            continue
        paths = [_track(timeline, int(row)) for row in person.tracks]
        for path in paths:
            times = path.times
            for k in np.flatnonzero(np.diff(times) > LONGEST_GAP):
                why = f"{person.label} was not found"
                found.append(Unsure(float(times[k]), float(times[k + 1]), why))
        fast = [_fast_stretches(path) for path in paths]
        fast += _jumps(paths, timeline.tracks.shot[person.tracks].tolist())
        for start, end in union(np.concatenate([np.empty((0, 2)), *fast])).tolist():
            found.append(Unsure(max(0.0, start), end, f"{person.label} moves fast"))
    covered = union(np.stack([timeline.start, timeline.end], axis=1))
    bounds = [0.0, *np.ravel(covered), timeline.duration]
    for start, end in zip(bounds[::2], bounds[1::2], strict=True):
        if 0 < end - start <= 2 * MARGIN:  # between two tracks, too short to be a scene of nobody
            found.append(Unsure(float(start), float(end), "no face was found between two tracks"))
    return sorted(found, key=lambda one: one.start)


def _fast_stretches(path: _Path) -> Intervals:
    """Return when a face moves so fast that it may leave the ellipse.

    At the beginning and the end of a track, this is also while its box is kept.
    """
    starts, ends = path.times[:-1].copy(), path.times[1:].copy()
    fast = _moves(path.boxes[:-1], path.boxes[1:]) > FAST
    if len(fast):
        starts[0], ends[-1] = path.start - MARGIN, path.end + MARGIN
    return np.stack([starts, ends], axis=1)[fast]


def _jumps(paths: Sequence[_Path], shots: Sequence[int]) -> list[Intervals]:
    """Return the gaps between tracks of one person in one shot that a fast movement may explain."""
    order = sorted(range(len(paths)), key=lambda i: float(paths[i].times[0]))
    found = []
    for i, j in itertools.pairwise(order):
        earlier, later = paths[i], paths[j]
        near = shots[i] == shots[j] and 0 < later.times[0] - earlier.times[-1] <= 2 * MARGIN
        if near and _moves(earlier.boxes[-1:], later.boxes[:1])[0] > FAST:
            found.append(np.array([[earlier.times[-1], later.times[0]]]))
    return found


def _moves(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far boxes move, in widths and heights of the smaller one."""
    middles = after[:, :2] + after[:, 2:] / 2 - before[:, :2] - before[:, 2:] / 2
    sizes = np.maximum(np.minimum(before[:, 2:], after[:, 2:]), 1e-9)
    return np.asarray(np.hypot(*(middles / sizes).T))


def _video_of(cast: CurrentCast, video: str | None) -> tuple[Timeline, Path]:
    every = timelines(cast)
    names = [one.video for one in every]
    if video is None and len(every) > 1:
        raise InputError(f"{cast.folder} has {len(every)} videos; name one of {', '.join(names)}")
    number = 0 if video is None else number_of(every, video, cast.folder)
    return every[number], video_path(cast, names[number], number)


def _track(timeline: Timeline, row: int) -> _Path:
    tracks = timeline.tracks
    faces = slice(int(tracks.offsets[row]), int(tracks.offsets[row + 1]))
    times = tracks.time[faces].astype(np.float64)
    boxes = tracks.box[faces].astype(np.float64)
    return _Path(times, boxes, float(timeline.start[row]), float(timeline.end[row]))


def _paths(timeline: Timeline, visible: set[int]) -> list[_Path]:
    """Return the tracks to blur: of everybody who is not visible."""
    rows = [
        int(row)
        for person in timeline.people
        if person.character.number not in visible
        for row in person.tracks
    ]
    return [_track(timeline, row) for row in rows]


def _encode(
    source: Path, partial: Path, form: str, paths: list[_Path], size: tuple[int, int] | None,
    cover: Cover, progress: Progress,
) -> None:  # fmt: skip
    with open_video(source) as video, av.open(str(partial), "w", format=form) as target:
        rate = Fraction(video.rate).limit_denominator(1001)
        stream = add_pictures(target, video.size, rate)
        stream.codec_context.time_base = Fraction(1, 90_000)
        sound = _Sound(source, target, video.delay)
        # Boxes are of the video that was scanned; this may be a larger or smaller copy of it.
        scale = np.tile(np.divide(video.size, size if size and all(size) else video.size), 2)
        # A long video has thousands of tracks, and few of them at any time.
        starts = np.array([path.start for path in paths]) - MARGIN
        ends = np.array([path.end for path in paths]) + MARGIN
        total = max(1, round(video.duration))
        for frame in video.frames():
            now = np.flatnonzero((starts <= frame.time) & (frame.time <= ends))
            boxes = [paths[i].box_at(frame.time) * scale for i in now]
            image = frame.image()
            if boxes:
                image = cover_faces(image, boxes, cover)
            picture = av.VideoFrame.from_ndarray(
                np.ascontiguousarray(image[: stream.height, : stream.width]), "bgr24"
            )
            moment = frame.time + video.delay  # sound may begin earlier
            picture.pts, picture.time_base = round(moment * 90_000), Fraction(1, 90_000)
            target.mux(stream.encode(picture))
            sound.copy_until(moment)
            progress("blurring", min(total, int(frame.time)), total)
        target.mux(stream.encode(None))
        sound.copy_until(math.inf)
        sound.close()


class _Sound:
    """Copies the sound of a video, packet by packet."""

    def __init__(self, source: Path, target: Any, delay: float) -> None:
        self._container, video = open_container(source)
        self._first = (video.start_time or 0) * video.time_base - Fraction(delay)
        self._packets: Iterator[Any] = iter(())
        self._next: Any = None
        if self._container.streams.audio:
            audio = self._container.streams.audio[0]
            self._stream = target.add_stream_from_template(audio)
            self._target = target
            self._packets = self._container.demux(audio)
            self._next = next(self._packets, None)

    def copy_until(self, time: float) -> None:
        while self._next is not None:
            packet = self._next
            if packet.pts is not None and packet.dts is not None:
                moment = packet.pts * packet.time_base - self._first
                if moment > time:
                    return
                ticks = round(self._first / packet.time_base)
                packet.pts, packet.dts = packet.pts - ticks, packet.dts - ticks
                if packet.dts >= 0:
                    packet.stream = self._stream
                    self._target.mux(packet)
            self._next = next(self._packets, None)

    def close(self) -> None:
        self._container.close()
