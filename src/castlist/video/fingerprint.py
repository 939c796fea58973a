"""Identifying a video by its content: duration, number of frames, and thumbnails.

A file that is renamed, copied, touched, re-encoded or put into another container is the same video.
Another cut is another video, even under the same name.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # comparing two fingerprints needs no decoder
    from castlist.video.frames import Frame, Video

_SIZE = (16, 9)  # width and height of a thumbnail
_MOST_PICTURES = 16
_DECODED = 30.0  # seconds: shorter videos are decoded; of longer ones, key frames are compared
_SAME_LENGTH = 1.0  # seconds: containers state the duration of the video or of the audio
_SAME_TIME = 0.005  # seconds: some containers round to milliseconds
_SAME_LOOK = 3.0  # mean difference, of 255; re-encoding makes a difference of about 1
_LONGEST = 2.0**40


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of a video.

    Attributes
    ----------
    seconds : float
        Duration stated in the file; 0 if unknown.
    frames : int
        Number of frames stated in the file; 0 if unknown.
    size : int
        Size of the file in bytes.
    pictures : tuple of (float, bytes)
        Times in seconds, and the luma of the frames at these times in 16 × 9 pixels.
    """

    seconds: float
    frames: int
    size: int
    pictures: tuple[tuple[float, bytes], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the fingerprint as JSON values."""
        return {
            "seconds": round(self.seconds, 3),
            "frames": self.frames,
            "size": self.size,
            "pictures": [
                [round(time, 4), base64.b64encode(look).decode()] for time, look in self.pictures
            ],
        }

    @classmethod
    def from_json(cls, value: Any) -> Fingerprint | None:
        """Return the fingerprint of JSON values; None if they are malformed."""
        try:
            seconds, frames, size = (value[key] for key in ("seconds", "frames", "size"))
            pictures = tuple((time, base64.b64decode(look)) for time, look in value["pictures"])
            numbers = [seconds, frames, size, *(time for time, _ in pictures)]
            fine = all(type(one) in (int, float) and 0 <= one < _LONGEST for one in numbers)
            whole = all(len(look) == math.prod(_SIZE) for _, look in pictures)
        except (KeyError, TypeError, ValueError):
            return None
        return cls(float(seconds), int(frames), int(size), pictures) if fine and whole else None


def fingerprint(video: Video) -> Fingerprint:
    """Return the fingerprint of an open video."""
    damaged = video.damaged
    pictures: dict[float, bytes] = {}
    for frame in _sampled(video):
        pictures.setdefault(frame.time, _look(frame))
    video.damaged = damaged  # packets count only when the video is scanned
    size = video.path.stat().st_size
    return Fingerprint(video.duration, video.frame_count, size, tuple(pictures.items()))


def difference(one: Fingerprint, other: Fingerprint) -> str | None:
    """Return how a video differs from another, by their fingerprints.

    Returns
    -------
    str or None
        Empty if they are the same video. None if the fingerprints do not decide it, because too few
        thumbnails are of the same times.
    """
    known = one.seconds and other.seconds
    if abs(one.seconds - other.seconds) > _SAME_LENGTH:
        return f"it lasts {_clock(one.seconds)}, not {_clock(other.seconds)}"
    if one.frames and other.frames and one.frames != other.frames:
        return f"it has {one.frames:,} frames, not {other.frames:,}"
    if not known and one.size != other.size:  # a raw stream states nothing else
        return f"its file has {one.size:,} bytes, not {other.size:,}"
    times = np.array([time for time, _ in other.pictures])
    shared = 0
    for time, look in one.pictures:
        for at in np.flatnonzero(np.abs(times - time) <= _SAME_TIME)[:1]:
            shared += 1
            if not _alike(look, other.pictures[at][1]):
                return _differs_at(time)
    return "" if 2 * shared > min(len(one.pictures), len(other.pictures)) else None


def difference_from(video: Video, now: Fingerprint, before: Fingerprint) -> str:
    """Return how an open video differs from a known one; empty if it does not.

    If the fingerprints do not decide it, frames are decoded at the times of the known thumbnails.

    Parameters
    ----------
    video : Video
        The open video.
    now : Fingerprint
        Its fingerprint.
    before : Fingerprint
        Fingerprint of the known video.
    """
    found = difference(now, before)
    if found is not None:
        return found
    damaged = video.damaged
    for (time, look), frame in zip(
        before.pictures, _seen_at(video, [time for time, _ in before.pictures]), strict=False
    ):
        if not _alike(look, _look(frame)):
            found = _differs_at(time)
            break
    video.damaged = damaged
    return found or ""


def _sampled(video: Video) -> Iterator[Frame]:
    """Yield a few frames spread over a video, always the same ones."""
    # Multiples of a power of two: a slightly different duration does not change them.
    step = 2.0 ** math.ceil(math.log2(max(video.duration, 1.0) / _MOST_PICTURES))
    times = [k * step for k in range(math.ceil(max(video.duration, 1e-3) / step))]
    if video.duration <= _DECODED:
        yield from _passed(video, times if video.duration else times[:1])
        return
    yield from _passed(video, times[:1])
    for time in times[1:]:
        if (frame := video.key_frame(time)) is not None:
            yield frame


def _passed(video: Video, times: Sequence[float], start: float = 0.0) -> Iterator[Frame]:
    """Yield the first frame at or after each time, decoding all frames between."""
    waiting = list(times)
    if not waiting:
        return
    for frame in video.frames(start):
        while waiting and frame.time >= waiting[0] - _SAME_TIME:
            yield frame
            waiting.pop(0)
        if not waiting:
            return


def _seen_at(video: Video, times: Sequence[float]) -> Iterator[Frame]:
    """Yield the frame at each time, seeking in long videos."""
    if video.duration <= _DECODED:
        yield from _passed(video, times)
        return
    for time in times:
        yield from _passed(video, [time], max(0.0, time - _SAME_TIME))


def _look(frame: Frame) -> bytes:
    return bytes(frame.planes(_SIZE)[0].tobytes())


def _alike(one: bytes, other: bytes) -> bool:
    return float(np.abs(_levels(one) - _levels(other)).mean()) <= _SAME_LOOK


def _levels(look: bytes) -> NDArray[np.int16]:
    return np.frombuffer(look, np.uint8).astype(np.int16)


def _differs_at(time: float) -> str:
    return f"its frame at {_clock(time)} is different"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
