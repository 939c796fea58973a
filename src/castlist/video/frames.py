"""Decoding a video: every frame once, upright, with its real time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
from av.error import FFmpegError, InvalidDataError
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray

from castlist.errors import CastlistError, InputError
from castlist.video.containers import MOST_PIXELS, open_container, reason

Image = NDArray[np.uint8]  # height × width × BGR

_LONGEST_SIDE = 16_384  # pixels; a header that says more is a lie or beyond our memory
_MOST_FAILURES = 100  # reads in a row that give nothing: the rest is rubbish
_UNSPECIFIED = 2  # of colour spaces, as in H.273
_LONGEST_SHOWN = 86_400.0  # seconds of one picture; a header that says more is damaged
_SAY_WHEN_IT_ENDS = frozenset(("matroska", "nut", "asf"))  # formats: not how long it lasts
_BEFORE = 5.0  # seconds decoded for nothing after a seek, so that references are whole


def shrunk(image: Image, size: tuple[int, int]) -> Image:
    """Return a picture in a smaller size (width, height).

    It is halved as often as possible first: OpenCV averages two by two pixels several times as
    fast as any other number.
    """
    height, width = image.shape[:2]
    while width >= 2 * size[0] and height >= 2 * size[1]:
        width, height = width // 2, height // 2
        even = image[: 2 * height, : 2 * width]
        image = np.asarray(
            cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA), np.uint8
        )
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_LINEAR), np.uint8)


@dataclass(frozen=True)
class Frame:
    """One picture of a video.

    Attributes
    ----------
    number : int
        Counted from 0, as decoded.
    time : float
        Seconds from the start of the video.
    duration : float
        Seconds it is shown, as the file says; if it does not, by the frame rate.
    """

    number: int
    time: float
    duration: float
    _picture: av.VideoFrame
    _video: Video

    def image(self) -> Image:
        """Return the picture as BGR, upright and with square pixels."""
        size, turns = list(self._video.size), self._video.turns
        if turns % 2:
            size.reverse()
        image = self._video.scaled(self._picture, size, "bgr24")
        return np.ascontiguousarray(np.rot90(image, turns))

    def planes(self, size: tuple[int, int]) -> NDArray[np.uint8]:
        """Return luma and both chroma planes of the picture as stored, in a small size."""
        return self._video.scaled(self._picture, size, "yuv444p")


@dataclass
class Video:
    """An open video file.

    Attributes
    ----------
    size : (int, int)
        Width and height as shown.
    duration : float
        Seconds, as the file says; 0 if it does not.
    rate : float
        Frames a second, on average.
    turns : int
        Quarter turns against the clock that stand the picture upright.
    damaged : int
        Packets that could not be decoded, or not well, so far.
    mended : bool
        Whether the file's own times were not to be trusted, so far: a seek may not find them.
    """

    path: Path
    size: tuple[int, int]
    duration: float
    rate: float
    turns: int
    damaged: int = 0
    mended: bool = False
    _container: Any = field(default=None, repr=False)
    _stream: Any = field(default=None, repr=False)
    _scalers: dict[tuple[int, int, str], VideoReformatter] = field(default_factory=dict, repr=False)

    def __enter__(self) -> Video:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    def frames(self, start: float = 0.0, number: int = 0, seek: bool = True) -> Iterator[Frame]:
        """Decode from a time on.

        Parameters
        ----------
        start : float
            Time of the first frame wanted.
        number : int
            The number that this frame has.
        seek : bool
            Whether the times before are to be trusted (see ``mended``); if not, all is decoded.
        """
        for time, picture in self._from(start if seek else 0.0):
            if time >= start - 1e-6:
                yield Frame(number, time, self._shown(picture), picture, self)
                number += 1

    @property
    def frame_count(self) -> int:
        """How many frames there are, as the file says; 0 if it does not."""
        return max(0, int(self._stream.frames))

    def key_frame(self, time: float) -> Frame | None:
        """Return the last frame before a time that can be decoded by itself.

        None if the file cannot be searched, or tells no times.
        """
        try:
            self._seek(time)
        except (FFmpegError, OSError):
            return None
        picture = next(self._pictures(), None)
        if picture is None or picture.time is None:
            return None
        first = float((self._stream.start_time or 0) * self._stream.time_base)
        return Frame(0, picture.time - first, self._shown(picture), picture, self)

    def _seek(self, time: float) -> None:
        """Go to the last key frame before a time."""
        first = self._stream.start_time or 0
        target = first + int(time / self._stream.time_base)
        self._container.seek(target, stream=self._stream)

    def _shown(self, picture: av.VideoFrame) -> float:
        """Return how many seconds a picture is shown."""
        said = float(picture.duration * (picture.time_base or 0))
        return said if 0 < said <= _LONGEST_SHOWN else 1 / self.rate

    def _from(self, start: float) -> Iterator[tuple[float, av.VideoFrame]]:
        """Decode from somewhere before a time; farther before, where a seek goes too far."""
        before = _BEFORE
        while start > before:
            try:
                self._seek(start - before)
            except (FFmpegError, OSError):  # raw streams cannot be seeked in
                break
            timed = self._timed()
            earliest = next(timed, None)
            if earliest is not None and earliest[0] <= start + 1e-6:
                yield earliest
                yield from timed
                return
            before *= 4
        self._reopen()
        yield from self._timed()

    def _reopen(self) -> None:
        """Go back to the beginning; a seek there may land behind it."""
        self._container.close()
        self._container, self._stream = open_container(self.path)

    def _timed(self) -> Iterator[tuple[float, av.VideoFrame]]:
        """Yield pictures with their times, which only ever grow."""
        first = float((self._stream.start_time or 0) * self._stream.time_base)
        last, shift = -1.0, 0.0
        for picture in self._progressive():
            moment: float | None = picture.time
            if moment is None:  # some old formats tell no times
                self.mended = True
                time = last + 1 / self.rate if last >= 0 else 0.0
            else:
                time = moment - first + shift
            if last >= 0 and time < last - 1:  # recordings put behind one another start anew
                self.mended = True
                shift += last + 1 / self.rate - time
                time = last + 1 / self.rate
            if time <= last:
                time = last + 1e-4
            last = time
            yield time, picture

    def scaled(self, picture: av.VideoFrame, size: Sequence[int], kind: str) -> NDArray[np.uint8]:
        """Return a decoded picture in a size and of a kind of pixels, not yet turned."""
        width, height = size
        # A scaler kept for its size, on one thread: making one takes longer than scaling.
        scaler = self._scalers.setdefault((width, height, kind), VideoReformatter())
        way = Interpolation.AREA if 2 * width < picture.width else Interpolation.BILINEAR
        how = (width, height, kind)
        try:
            try:
                small = scaler.reformat(picture, *how, interpolation=way, threads=1)
            except FFmpegError:
                # Colours of a kind that FFmpeg does not convert (ICtCp, YCgCo, or damage): as
                # if nothing were said of them they are a little off, and faces are faces.
                picture.colorspace = _UNSPECIFIED
                small = scaler.reformat(picture, *how, interpolation=way, threads=1)
        except (FFmpegError, ValueError) as error:
            raise CastlistError(
                f"{self.path}: has pictures of {picture.format.name}, {picture.width} × "
                f"{picture.height}, which cannot be shown ({reason(error)})"
            ) from error
        return np.asarray(small.to_ndarray(), np.uint8)

    def _progressive(self) -> Iterator[av.VideoFrame]:
        """Yield whole pictures: two fields, a moment apart, would make combs of faces."""
        graph: Any = None
        shape = None
        try:
            for picture in self._pictures():
                now = (picture.width, picture.height, picture.format.name)
                if graph is not None and now != shape:  # a graph is made for pictures of one shape
                    yield from _woven(graph, None)
                    graph = None
                if graph is None and not picture.interlaced_frame:
                    yield picture
                    continue
                if graph is None:
                    graph, shape = _weaver(picture, self._stream.time_base), now
                yield from _woven(graph, picture)
            if graph is not None:
                yield from _woven(graph, None)
        except (FFmpegError, ValueError) as error:
            raise CastlistError(
                f"{self.path}: its interlaced pictures cannot be woven ({reason(error)})"
            ) from error

    def _pictures(self) -> Iterator[av.VideoFrame]:
        packets, failures = self._container.demux(self._stream), 0
        while failures < _MOST_FAILURES:
            try:
                packet = next(packets, None)
            except (InvalidDataError, ValueError):
                self.damaged += 1
                failures += 1
                packets = self._container.demux(self._stream)  # a generator that raised is over
                continue
            except av.error.EOFError:
                return
            except (FFmpegError, OSError) as error:
                raise CastlistError(
                    f"{self.path}: reading it failed ({reason(error)}); when it can be read "
                    "again, give the same command, and it goes on from here"
                ) from error
            if packet is None:
                return
            failures = 0
            try:
                pictures = packet.decode()
            except (FFmpegError, ValueError):
                self.damaged += 1
                continue
            self.damaged += packet.is_corrupt or any(one.is_corrupt for one in pictures)
            yield from pictures


def open_video(path: str | Path) -> Video:
    """Open a video file, or say what is wrong with it."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such video file")
    container, stream = open_container(path)
    video = Video(path, (0, 0), 0.0, 25.0, 0, 0, False, container, stream)
    try:
        _look_at_first_picture(video)
    except BaseException:
        container.close()
        raise
    video._reopen()
    video.damaged = 0
    return video


def _look_at_first_picture(video: Video) -> None:
    """Fill in what the file says of itself, and what only a decoded picture tells."""
    path, container, stream = video.path, video._container, video._stream
    width, height = stream.codec_context.width, stream.codec_context.height
    if not 0 < max(width, height) <= _LONGEST_SIDE or width * height > MOST_PIXELS:
        size = f"{width} × {height}" if width else "no or too many"
        raise InputError(
            f"{path}: pictures of {size} pixels; castlist reads up to {_LONGEST_SIDE:,} a side, "
            f"and {MOST_PIXELS:,} in all"
        )
    picture = next(video._pictures(), None)
    if picture is None:
        raise InputError(f"{path}: not one picture in it can be decoded; is the file whole?")
    aspect = stream.sample_aspect_ratio or Fraction(1)
    shown = [picture.width, picture.height]
    if Fraction(1, 4) <= aspect <= 4:  # shrink the longer side: no pixel is made up
        side, by = (0, aspect) if aspect < 1 else (1, 1 / aspect)
        shown[side] = max(1, round(shown[side] * by))
    video.turns = round(picture.rotation / 90) % 4
    if video.turns % 2:
        shown.reverse()
    video.size = (shown[0], shown[1])
    video.duration = _duration(container, stream)
    rate = float(stream.average_rate or stream.guessed_rate or 25)
    video.rate = rate if 0 < rate < 1000 else 25.0


def _duration(container: Any, stream: Any) -> float:
    """Return how many seconds a video lasts, as the file says; 0 if it does not."""
    said = stream.duration * stream.time_base if stream.duration else 0
    duration = float(said or (container.duration or 0) / av.time_base)
    if _SAY_WHEN_IT_ENDS.intersection(container.format.name.split(",")):
        duration -= max(0.0, float((stream.start_time or 0) * stream.time_base))
    return max(0.0, duration)


def _weaver(picture: av.VideoFrame, time_base: Fraction) -> Any:
    """Make a graph that makes whole pictures of fields, for pictures such as this one."""
    graph = av.filter.Graph()
    width, height, pixels = picture.width, picture.height, picture.format
    source = graph.add_buffer(width=width, height=height, format=pixels, time_base=time_base)
    woven = graph.add("bwdif", "mode=send_frame:deint=interlaced")
    sink = graph.add("buffersink")
    source.link_to(woven)
    woven.link_to(sink)
    graph.configure()
    return graph


def _woven(graph: Any, picture: av.VideoFrame | None) -> Iterator[av.VideoFrame]:
    """Give a picture to a graph, or say that there are no more, and yield what is ready."""
    graph.push(picture)
    while True:
        try:
            yield graph.pull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return
