"""Decoding a video: every frame once, upright, with its time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
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
from castlist.video.containers import MAX_PIXELS, open_container, reason
from castlist.video.orientation import AS_STORED, Orientation, orientation_of

Image = NDArray[np.uint8]  # height × width × BGR

_LONGEST_SIDE = 16_384  # pixels; more is damage, or does not fit into memory
_MAX_FAILURES = 100  # failed reads in a row after which the rest is given up
_UNSPECIFIED = 2  # colour space, as in H.273
_LONGEST_SHOWN = 86_400.0  # seconds of one frame; more is damage
_STATE_END = frozenset(("matroska", "nut", "asf"))  # formats whose duration is the end time
# Formats whose files state how long they are; of others FFmpeg measures what is there.
_STATE_LENGTH = _STATE_END | {"mov", "flv", "mxf"}
_SAME_LENGTH = 1.0  # seconds by which a stated length may be wrong
_BEFORE = 5.0  # seconds decoded before the target of a seek, so that references are complete


def shrunk(image: Image, size: tuple[int, int]) -> Image:
    """Return an image scaled down to a size (width, height).

    It is first halved as often as possible: OpenCV averages 2 × 2 pixels several times faster than
    other numbers.
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
    """One frame of a video.

    Attributes
    ----------
    number : int
        Number, counted from 0 in order of decoding.
    time : float
        Seconds from the start of the video.
    duration : float
        Duration in seconds, stated in the file or else by the frame rate.
    """

    number: int
    time: float
    duration: float
    _picture: av.VideoFrame
    _video: Video

    def image(self) -> Image:
        """Return the image as BGR, upright and with square pixels."""
        image = self._video.scaled(self._picture, self._unturned_size, "bgr24")
        return self._video.orientation.shown(image)

    def yuv_image(self) -> Image:
        """Return the image as YUV in the limited range, upright and with square pixels.

        Encoding it again rounds luma only once.
        """
        planes = np.moveaxis(self.planes(self._unturned_size), 0, 2)
        return self._video.orientation.shown(planes)

    @property
    def _unturned_size(self) -> tuple[int, int]:
        return self._video.orientation.size(self._video.size)

    def planes(self, size: tuple[int, int]) -> NDArray[np.uint8]:
        """Return luma and both chroma planes as stored, scaled to a size."""
        return self._video.scaled(self._picture, size, "yuv444p")


@dataclass
class Video:
    """An open video file.

    Attributes
    ----------
    size : (int, int)
        Width and height as shown, in square pixels.
    stored_size : (int, int)
        Width and height of stored frames, turned upright; their pixels may not be square.
    duration : float
        Duration in seconds stated in the file; 0 if unknown.
    rate : float
        Mean number of frames per second.
    orientation : Orientation
        How stored pictures become the shown ones.
    delay : float
        Seconds by which the first frame comes later than the file begins, as with longer sound.
    damaged : int
        Number of packets so far that were decoded with errors or not at all.
    mended : bool
        Whether times of the file had to be corrected so far. Seeking to them may fail.
    """

    path: Path
    size: tuple[int, int]
    stored_size: tuple[int, int]
    duration: float
    rate: float
    orientation: Orientation
    delay: float = 0.0
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
        """Yield the frames from a time on.

        Parameters
        ----------
        start : float
            Time of the first frame.
        number : int
            Number of the first frame.
        seek : bool
            Whether to seek; if not, everything before is decoded (see ``mended``).
        """
        for time, picture in self._from(start if seek else 0.0):
            if time >= start - 1e-6:
                yield Frame(number, time, self._shown(picture), picture, self)
                number += 1

    @property
    def frame_count(self) -> int:
        """Number of frames stated in the file; 0 if unknown."""
        return max(0, int(self._stream.frames))

    def cut_short(self, end: float) -> bool:
        """Return whether the file states more video than could be read, up to ``end``.

        Not if only its sound goes on for longer. Formats that do not state a length tell nothing.
        """
        names = self._container.format.name.split(",")
        if not _STATE_LENGTH.intersection(names) or self.duration - end <= _SAME_LENGTH:
            return False
        return bool(self._stream.duration) or not self._sound_is_longer(end)

    def _sound_is_longer(self, end: float) -> bool:
        """Return whether no picture comes after ``end``, and sound until the stated length."""
        # A seek may end behind everything: then all is read.
        last = self._last_packets(end) or self._last_packets(0.0)
        picture, other = last.get(True, 0.0), last.get(False, 0.0)
        return picture <= end + _SAME_LENGTH and other >= self.duration - _SAME_LENGTH

    def _last_packets(self, start: float) -> dict[bool, float]:
        """Return the latest time of pictures (True) and others, in packets from a time on."""
        container, stream = open_container(self.path)
        first = float((stream.start_time or 0) * stream.time_base)
        last: dict[bool, float] = {}
        with container, suppress(FFmpegError, OSError):
            if start:
                container.seek(round((first + start) * av.time_base))
            for packet in container.demux():
                if packet.pts is not None:
                    is_picture = packet.stream.index == stream.index
                    time = float(packet.pts * packet.time_base) - first
                    last[is_picture] = max(last.get(is_picture, time), time)
        return last

    def key_frame(self, time: float) -> Frame | None:
        """Return the last key frame before a time.

        None if the file cannot be seeked in or has no times.
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
        """Seek to the last key frame before a time."""
        first = self._stream.start_time or 0
        target = first + int(time / self._stream.time_base)
        self._container.seek(target, stream=self._stream)

    def _shown(self, picture: av.VideoFrame) -> float:
        """Return the duration of a frame in seconds."""
        stated = float(picture.duration * (picture.time_base or 0))
        return stated if 0 < stated <= _LONGEST_SHOWN else 1 / self.rate

    def _from(self, start: float) -> Iterator[tuple[float, av.VideoFrame]]:
        """Yield times and frames from before ``start``, going back until a seek succeeds."""
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
        """Go back to the beginning: a seek to it may end behind it."""
        self._container.close()
        self._container, self._stream = open_container(self.path)

    def _timed(self) -> Iterator[tuple[float, av.VideoFrame]]:
        """Yield frames with their times, made strictly increasing."""
        first = float((self._stream.start_time or 0) * self._stream.time_base)
        last, shift = -1.0, 0.0
        for picture in self._progressive():
            moment: float | None = picture.time
            if moment is None:  # some old formats have no times
                self.mended = True
                time = last + 1 / self.rate if last >= 0 else 0.0
            else:
                time = moment - first + shift
            if last >= 0 and time < last - 1:  # times restart in concatenated recordings
                self.mended = True
                shift += last + 1 / self.rate - time
                time = last + 1 / self.rate
            if time <= last:
                time = last + 1e-4
            last = time
            yield time, picture

    def scaled(self, picture: av.VideoFrame, size: Sequence[int], kind: str) -> NDArray[np.uint8]:
        """Return a decoded frame scaled to a size, in a pixel format, not yet upright."""
        width, height = size
        # Keep one scaler per size: creating one takes longer than scaling.
        scaler = self._scalers.setdefault((width, height, kind), VideoReformatter())
        way = Interpolation.AREA if 2 * width < picture.width else Interpolation.BILINEAR
        how = (width, height, kind)
        try:
            try:
                small = scaler.reformat(picture, *how, interpolation=way, threads=1)
            except FFmpegError:
                # FFmpeg cannot convert this colour space (ICtCp, YCgCo, or damage). As
                # "unspecified", colours are slightly wrong, which detection tolerates.
                picture.colorspace = _UNSPECIFIED
                small = scaler.reformat(picture, *how, interpolation=way, threads=1)
        except (FFmpegError, ValueError) as error:
            raise CastlistError(
                f"{self.path}: cannot convert frames of {picture.format.name}, {picture.width} × "
                f"{picture.height} pixels ({reason(error)})"
            ) from error
        return np.asarray(small.to_ndarray(), np.uint8)

    def _progressive(self) -> Iterator[av.VideoFrame]:
        """Yield frames, deinterlaced where necessary."""
        graph: Any = None
        shape = None
        try:
            for picture in self._pictures():
                now = (picture.width, picture.height, picture.format.name)
                if graph is not None and now != shape:  # a filter graph is for one shape
                    yield from _deinterlaced(graph, None)
                    graph = None
                if graph is None and not picture.interlaced_frame:
                    yield picture
                    continue
                if graph is None:
                    graph, shape = _deinterlacer(picture, self._stream.time_base), now
                yield from _deinterlaced(graph, picture)
            if graph is not None:
                yield from _deinterlaced(graph, None)
        except (FFmpegError, ValueError) as error:
            raise CastlistError(f"{self.path}: deinterlacing failed ({reason(error)})") from error

    def _pictures(self) -> Iterator[av.VideoFrame]:
        """Yield decoded frames, skipping damaged packets."""
        packets, failures = self._container.demux(self._stream), 0
        while failures < _MAX_FAILURES:
            try:
                packet = next(packets, None)
            except (InvalidDataError, ValueError):
                self.damaged += 1
                failures += 1
                packets = self._container.demux(self._stream)  # a generator ends when it raises
                continue
            except av.error.EOFError:
                return
            except (FFmpegError, OSError) as error:
                raise CastlistError(
                    f"{self.path}: reading failed ({reason(error)}); scan again when the file is "
                    "readable, and the scan resumes"
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
    """Return an open video; raise an InputError if it cannot be read."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such video file")
    container, stream = open_container(path)
    video = Video(path, (0, 0), (0, 0), 0.0, 25.0, AS_STORED, _container=container, _stream=stream)
    try:
        _read_properties(video)
    except BaseException:
        container.close()
        raise
    video._reopen()
    video.damaged = 0
    return video


def _read_properties(video: Video) -> None:
    """Fill in size, orientation, duration and rate, from the header and the first frame."""
    path, container, stream = video.path, video._container, video._stream
    width, height = stream.codec_context.width, stream.codec_context.height
    if not 0 < max(width, height) <= _LONGEST_SIDE or width * height > MAX_PIXELS:
        size = f"{width} × {height}" if width else "unknown"
        raise InputError(
            f"{path}: unsupported frame size ({size} pixels); the limits are {_LONGEST_SIDE:,} "
            f"pixels per side and {MAX_PIXELS:,} in total"
        )
    picture = next(video._pictures(), None)
    if picture is None:
        raise InputError(f"{path}: no frame can be decoded; is the file complete?")
    aspect = stream.sample_aspect_ratio or Fraction(1)
    shown = [picture.width, picture.height]
    if Fraction(1, 4) <= aspect <= 4:  # shrink the longer side, to invent no pixels
        side, by = (0, aspect) if aspect < 1 else (1, 1 / aspect)
        shown[side] = max(1, round(shown[side] * by))
    video.orientation = orientation_of(picture)
    video.size = video.orientation.size((shown[0], shown[1]))
    video.stored_size = video.orientation.size((picture.width, picture.height))
    video.duration = _duration(container, stream)
    video.delay = _delay(container, stream)
    rate = float(stream.average_rate or stream.guessed_rate or 25)
    video.rate = rate if 0 < rate < 1000 else 25.0


def _delay(container: Any, stream: Any) -> float:
    """Return the time of the first frame in seconds, from the start of the file."""
    if stream.start_time is None or container.start_time is None:
        return 0.0
    start = stream.start_time * stream.time_base - Fraction(container.start_time, av.time_base)
    return float(start) if 0 < start <= _LONGEST_SHOWN else 0.0


def _duration(container: Any, stream: Any) -> float:
    """Return the duration in seconds stated in the file; 0 if unknown."""
    stated = stream.duration * stream.time_base if stream.duration else 0
    duration = float(stated or (container.duration or 0) / av.time_base)
    if _STATE_END.intersection(container.format.name.split(",")):
        duration -= max(0.0, float((stream.start_time or 0) * stream.time_base))
    return max(0.0, duration)


def _deinterlacer(picture: av.VideoFrame, time_base: Fraction) -> Any:
    """Return a filter graph that deinterlaces frames of this frame's shape and format."""
    graph = av.filter.Graph()
    width, height, pixels = picture.width, picture.height, picture.format
    source = graph.add_buffer(width=width, height=height, format=pixels, time_base=time_base)
    deinterlace = graph.add("bwdif", "mode=send_frame:deint=interlaced")
    sink = graph.add("buffersink")
    source.link_to(deinterlace)
    deinterlace.link_to(sink)
    graph.configure()
    return graph


def _deinterlaced(graph: Any, picture: av.VideoFrame | None) -> Iterator[av.VideoFrame]:
    """Push a frame, or None at the end, into a graph; yield the frames that are ready."""
    graph.push(picture)
    while True:
        try:
            yield graph.pull()
        except (av.error.BlockingIOError, av.error.EOFError):
            return
