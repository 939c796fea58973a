"""Cut scenes out of videos into one film.

Packets are copied, so nothing is encoded again and a scene begins at the key frame at or before its
start. With ``exact`` pictures and sound are encoded again, and a scene has exactly its frames.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError

from castlist.cast.current import CurrentCast
from castlist.errors import CastlistError, InputError
from castlist.export.timecode import exact_rate
from castlist.export.timeline import one_line
from castlist.handover.encoding import add_pictures, format_of, video_path
from castlist.handover.scenes import Scene
from castlist.io.files import replacing
from castlist.io.output_guard import check_file
from castlist.progress import Progress, silent
from castlist.video.containers import open_container, reason
from castlist.video.frames import Image, open_video, shrunk

_SAMPLE_RATE = 48_000
_BLACK = (16, 128, 128)  # in YUV
_ROUNDING = 1e-4  # seconds, of times of frames


@dataclass(frozen=True)
class Clip:
    """A part of a video file, in seconds."""

    path: Path
    start: float
    end: float


def clips_of(cast: CurrentCast, scenes: Sequence[Scene]) -> list[Clip]:
    """Return scenes with the paths of their videos."""
    names = [one_line(name) for name in cast.cast.tracks.videos]
    clips = []
    for scene in scenes:
        number = names.index(scene.video) if cast.scanned.joined else 0
        path = video_path(cast, scene.video, number)
        clips.append(Clip(path, scene.start, scene.end))
    return clips


def write_reel(
    clips: Sequence[Clip], out: str | Path, *, exact: bool = False, progress: Progress = silent
) -> float:
    """Write parts of videos as one film, one after another; return its length in seconds.

    Parameters
    ----------
    clips : sequence of Clip
        What to cut, in this order.
    out : path
        The file; its suffix gives the format (``.mp4``, ``.mkv``, ``.mov``).
    exact : bool
        Encode again, so that every part begins and ends at its own frames. Otherwise packets are
        copied and a part begins at the key frame at or before its start.
    progress : callable
        Called with the stage, the number of clips done and the total, often within a clip, so that
        it can end the work by an exception.
    """
    out = Path(out)
    if not clips:
        raise InputError("there is no scene to cut")
    if any(out.resolve() == clip.path.resolve() for clip in clips):
        raise InputError(f"{out} is one of the videos; choose another file")
    form = format_of(out)
    check_file(out, out.suffix.lower())
    cut = _Encoder if exact else _Copier
    with replacing(out) as partial:
        try:
            with av.open(str(partial), "w", format=form) as target:
                writer = cut(target, clips[0].path)
                for done, clip in enumerate(clips):
                    writer.add(clip, functools.partial(progress, "cutting", done, len(clips)))
                writer.finish()
                progress("cutting", len(clips), len(clips))
        except CastlistError:  # some are ValueErrors
            raise
        except (FFmpegError, ValueError) as error:
            raise InputError(f"{out}: cannot be written ({reason(error)})") from error
    return float(writer.length)


class _Copier:
    """Copies the packets of clips, shifted in time."""

    def __init__(self, target: Any, first: Path) -> None:
        self._target, self._first = target, first
        self.length = Fraction(0)
        self._written: dict[int, Fraction] = {}  # time of the last packet, by stream
        source, video = open_container(first)
        with source:
            self._kinds = {first: _kind(first, video)}
            self._streams = {"video": target.add_stream_from_template(video)}
            if source.streams.audio:
                audio = source.streams.audio[0]
                self._sound = _sound(audio)
                self._streams["audio"] = target.add_stream_from_template(audio)

    def add(self, clip: Clip, tick: Callable[[], None]) -> None:
        source, video = open_container(clip.path)
        with source:
            if clip.path not in self._kinds:
                self._kinds[clip.path] = _kind(clip.path, video)
            if self._kinds[clip.path] != self._kinds[self._first]:
                raise InputError(
                    f"{clip.path}: size, orientation or codec differs from {self._first}; encode "
                    "the reel again (exact) to put them together"
                )
            wanted = [video]
            audio = source.streams.audio[0] if source.streams.audio else None
            if audio is not None and "audio" in self._streams and _sound(audio) == self._sound:
                wanted.append(audio)
            self._copy(source, video, wanted, clip, tick)

    def _copy(
        self, source: Any, video: Any, wanted: list[Any], clip: Clip, tick: Callable[[], None]
    ) -> None:
        origin = (video.start_time or 0) * video.time_base
        start, end = Fraction(clip.start) + origin, Fraction(clip.end) + origin
        source.seek(int(start / video.time_base), stream=video)
        begin = shift = last = None  # time of the first key frame, what is added, end of the last
        before: list[Any] = []  # sound that comes before the key frame in the file
        going = {one.index for one in wanted}
        for packet in source.demux(wanted):
            tick()
            if packet.pts is None or packet.dts is None or packet.stream.index not in going:
                continue
            time = packet.pts * packet.time_base
            if packet.dts * packet.time_base >= end:
                going.discard(packet.stream.index)
                if not going:
                    break
                continue
            if begin is None:
                if packet.stream is not video or not packet.is_keyframe:
                    before.append(packet)
                    continue
                begin = time
                # Decoding begins before showing if pictures are not in the order of time.
                shift = self.length - packet.dts * packet.time_base
                for one in before:
                    if one.stream is not video and one.pts * one.time_base >= begin:
                        self._mux(one, shift)
            if time < begin or shift is None:  # shown before the key frame: it cannot be decoded
                continue
            if packet.stream is video:
                after = time + (packet.duration or 0) * packet.time_base
                last = max(last or after, after)
            self._mux(packet, shift)
        if shift is not None and last is not None:
            self.length = last + shift

    def _mux(self, packet: Any, shift: Fraction) -> None:
        stream = self._streams["video" if packet.stream.type == "video" else "audio"]
        ticks = round(shift / packet.time_base)
        packet.pts += ticks
        packet.dts += ticks
        moment = packet.dts * packet.time_base
        if moment <= self._written.get(stream.index, Fraction(-1)):  # sound beyond its pictures
            return
        self._written[stream.index] = moment
        packet.stream = stream
        self._target.mux(packet)

    def finish(self) -> None:
        """Packets are written as they come."""


class _Encoder:
    """Encodes the frames of clips again, in the size and at the frame rate of the first video.

    Frames are repeated or dropped where another video has another rate; black borders are added
    where it has another aspect ratio.
    """

    def __init__(self, target: Any, first: Path) -> None:
        self._target = target
        with open_video(first) as video:
            self._rate = exact_rate(video.rate)
            self._video = add_pictures(target, video.size, self._rate)
        source, _ = open_container(first)
        with source:
            self._audio = None
            if source.streams.audio:
                self._audio = target.add_stream("aac", rate=_SAMPLE_RATE, layout="stereo")
        self._frames = 0
        self._samples = 0

    @property
    def length(self) -> Fraction:
        return self._frames / self._rate

    def add(self, clip: Clip, tick: Callable[[], None]) -> None:
        before = self._frames
        self._add_pictures(clip, tick)
        if self._audio is None:
            return
        source, video = open_container(clip.path)
        with source:
            if source.streams.audio:
                origin = float((video.start_time or 0) * video.time_base)
                spent = Fraction(self._frames - before) / self._rate
                self._add_sound(source, source.streams.audio[0], clip.start + origin, spent)
        self._add_silence()

    def _add_pictures(self, clip: Clip, tick: Callable[[], None]) -> None:
        before, start, last = self._frames, clip.start, None
        with open_video(clip.path) as video:
            for frame in video.frames(clip.start):
                tick()
                if frame.time >= clip.end - _ROUNDING:
                    break
                if last is None:  # the first frame begins a little after the clip does
                    start = frame.time
                due = before + math.floor((frame.time - start) * self._rate + 1e-3)
                while last is not None and self._frames < due:
                    self._encode_picture(last)
                last = self._fitted(frame.yuv_image())
                if self._frames == due:
                    self._encode_picture(last)
        while last is not None and self._frames < before + round((clip.end - start) * self._rate):
            self._encode_picture(last)

    def _fitted(self, image: Image) -> Image:
        """Return a YUV picture in the size of the film, with borders if shapes differ."""
        width, height = self._video.width, self._video.height
        scale = min(width / image.shape[1], height / image.shape[0])
        inner = tuple(max(1, round(side * scale)) for side in image.shape[1::-1])
        if width - inner[0] < 2 and height - inner[1] < 2:
            inner = width, height
        picture = np.full((height, width, 3), _BLACK, np.uint8)
        left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
        picture[top : top + inner[1], left : left + inner[0]] = (
            image if inner == image.shape[1::-1] else shrunk(image, inner)
        )
        return picture

    def _encode_picture(self, image: Image) -> None:
        planes = np.ascontiguousarray(np.moveaxis(image, 2, 0))
        frame = av.VideoFrame.from_ndarray(planes, "yuv444p")
        frame.pts, frame.time_base = self._frames, 1 / self._rate
        self._frames += 1
        self._target.mux(self._video.encode(frame))

    def _add_sound(self, source: Any, audio: Any, start: float, seconds: Fraction) -> None:
        resampler = av.AudioResampler(format="fltp", layout="stereo", rate=_SAMPLE_RATE)
        left = round(seconds * _SAMPLE_RATE)
        end = start + float(seconds)
        for frame in _decoded(source, audio, start - 0.1, end + 0.1):
            for part in resampler.resample(frame):
                skip = max(0, round((start - float(frame.time)) * _SAMPLE_RATE))
                samples = part.to_ndarray()[:, skip:][:, :left]
                if samples.shape[1]:
                    left -= samples.shape[1]
                    self._encode_sound(samples)
            if not left:
                return

    def _add_silence(self) -> None:
        missing = round(self.length * _SAMPLE_RATE) - self._samples
        while missing > 0:
            size = min(missing, _SAMPLE_RATE)
            self._encode_sound(np.zeros((2, size), np.float32))
            missing -= size

    def _encode_sound(self, samples: Any) -> None:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", "stereo")
        frame.sample_rate = _SAMPLE_RATE
        frame.pts, frame.time_base = self._samples, Fraction(1, _SAMPLE_RATE)
        self._samples += samples.shape[1]
        assert self._audio is not None
        self._target.mux(self._audio.encode(frame))

    def finish(self) -> None:
        """Write what the encoders still hold."""
        self._target.mux(self._video.encode(None))
        if self._audio is not None:
            self._target.mux(self._audio.encode(None))


def _decoded(source: Any, stream: Any, start: float, end: float) -> Iterator[Any]:
    """Decode the frames that begin in an interval; a damaged packet is passed over."""
    source.seek(max(0, int(start / stream.time_base)), stream=stream)
    for packet in source.demux(stream):
        try:
            frames = packet.decode()
        except FFmpegError:
            continue
        for frame in frames:
            if frame.time is None or frame.time < start - _ROUNDING:
                continue
            if frame.time >= end - _ROUNDING:
                return
            yield frame


def _kind(path: Path, video: Any) -> tuple[object, ...]:
    """Return what a stream states once for all its packets."""
    context = video.codec_context
    size = context.width, context.height, video.sample_aspect_ratio
    with open_video(path) as opened:
        shown = opened.orientation
    return context.name, *size, shown, context.pix_fmt, bytes(context.extradata or b"")


def _sound(audio: Any) -> tuple[object, ...]:
    context = audio.codec_context
    return context.name, context.sample_rate, context.layout.name
