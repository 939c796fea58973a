"""Sampling a video: the frames in which faces are detected, and their shots.

Decoding and the search for cuts run in a separate thread.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from castlist.video.frames import Frame, Image, Video
from castlist.video.shots import (
    GRID,
    LATEST_DISSOLVE,
    CutFinder,
    DissolveFinder,
    Signature,
    signature,
)

_AHEAD = 6  # frames decoded in advance
_CLOSELY_EVERY = 0.99  # seconds between frames in which small, tilted and weak faces are detected


@dataclass(frozen=True)
class ResumePoint:
    """The start of a shot that begins with a cut, from which a scan can resume."""

    time: float = 0.0
    number: int = 0
    shot: int = 0
    seek: bool = True  # whether the time can be seeked to


@dataclass(frozen=True)
class SampledFrame:
    """A frame in which faces are detected; the last one has no image and marks the end.

    Attributes
    ----------
    shot : int
        Number of its shot.
    number, time : int, float
        Number and time of the frame.
    image : ndarray or None
        The image.
    seek : bool
        Whether the time can be seeked to.
    cut : bool
        Whether a shot begins here with a cut: nothing before it matters any more.
    signature : ndarray or None
        Signature by which cuts are found.
    closely : bool
        Whether small, tilted and weak faces are detected, too.
    still : bool
        Whether image and ``closely`` are the same as in the sampled frame before.
    """

    shot: int
    number: int
    time: float
    image: Image | None
    seek: bool = True
    cut: bool = False
    signature: Signature | None = None
    closely: bool = False
    still: bool = False


def sampled(
    video: Video, rate: float, start: ResumePoint, also: Collection[int]
) -> Generator[SampledFrame]:
    """Yield the sampled frames of a video.

    Parameters
    ----------
    video : Video
        The video.
    rate : float
        Frames per second. The first frame of each shot is sampled, too.
    start : ResumePoint
        The shot to begin with.
    also : collection of int
        Numbers of additional frames.
    """

    def work(put: Callable[[SampledFrame], None]) -> None:
        last, next_closely = SampledFrame(-1, 0, 0.0, None), 0.0

        def emit(shot: int, frame: Frame, cut: bool, picture: Signature) -> None:
            nonlocal last, next_closely
            image, seek = frame.image(), not video.mended
            closely = shot != last.shot or frame.time >= next_closely
            before = last.image
            still = closely == last.closely and before is not None and np.array_equal(image, before)
            if closely:
                next_closely = frame.time + _CLOSELY_EVERY
            last = SampledFrame(
                shot, frame.number, frame.time, image, seek, cut, picture, closely, still
            )
            put(last)

        sampler = _Sampler(rate, start.shot, also, emit)
        number, end = start.number, start.time
        for frame in video.frames(start.time, start.number, start.seek):
            number, end = frame.number, frame.time + frame.duration
            sampler.add(frame)
        sampler.finish()
        put(SampledFrame(sampler.shot, number, end, None))

    return _from_thread(work)


class _Sampler:
    """Choose frames, and pass them on as soon as their shot is known."""

    def __init__(
        self, rate: float, shot: int, also: Collection[int],
        emit: Callable[[int, Frame, bool, Signature], None],
    ) -> None:  # fmt: skip
        self.shot = shot - 1
        self._rate, self._also, self._emit = rate, also, emit
        self._due = 0.0
        self._cuts, self._dissolves = CutFinder(), DissolveFinder()
        self._undecided: deque[tuple[Frame, Signature]] = deque()  # frames that may begin a shot
        # Frames that may be before or after the middle of a dissolve.
        self._held: deque[tuple[int, Frame, bool, Signature]] = deque()

    def add(self, frame: Frame) -> None:
        """Add the next frame."""
        picture = signature(frame.planes(GRID))
        self._undecided.append((frame, picture))
        for begins in self._cuts.add(frame.time, picture):
            self._decided(begins)

    def finish(self) -> None:
        """Pass on the remaining frames at the end of the video."""
        for begins in self._cuts.finish():
            self._decided(begins)
        self._release(np.inf)

    def _decided(self, begins: bool) -> None:
        frame, picture = self._undecided.popleft()
        time = frame.time
        if begins:
            self._release(np.inf)
            self.shot, self._due, self._dissolves = self.shot + 1, time, DissolveFinder()
        middle = self._dissolves.add(time, picture)
        if middle is not None:
            self.shot += 1
            self._held = deque(
                (shot + (one.time >= middle), one, cut, seen) for shot, one, cut, seen in self._held
            )
        if time >= self._due - 1e-6 or frame.number in self._also:
            self._held.append((self.shot, frame, begins, picture))
        if time >= self._due - 1e-6:
            self._due += 1 / self._rate
            if self._due <= time:  # the frame rate is below the sample rate
                self._due = time + 1e-6
        self._release(time - LATEST_DISSOLVE)

    def _release(self, before: float) -> None:
        while self._held and self._held[0][1].time < before:
            self._emit(*self._held.popleft())


def _from_thread(work: Callable[[Callable[[SampledFrame], None]], None]) -> Generator[SampledFrame]:
    """Run ``work`` in a thread and yield the items that it puts into a short queue."""
    ready: queue.Queue[SampledFrame | BaseException | None] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    class _Stop(Exception):
        pass

    def put(item: SampledFrame | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                return ready.put(item, timeout=0.2)
            except queue.Full:
                continue
        raise _Stop

    def run() -> None:
        try:
            work(put)
            put(None)
        except _Stop:
            pass
        except BaseException as error:
            with suppress(_Stop):
                put(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()
