"""Decoding in a thread of its own: cuts, and the pictures in which faces are looked for."""

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

_AHEAD = 6  # pictures decoded before they are needed
_CLOSELY_EVERY = 0.99  # seconds between looks for small, tilted and other weak faces


@dataclass(frozen=True)
class ResumePoint:
    """Where in a video a shot begins with a cut, in time and in counts: enough to go on from."""

    time: float = 0.0
    number: int = 0
    shot: int = 0
    seek: bool = True  # whether the video's times can be seeked to


@dataclass(frozen=True)
class SampledFrame:
    """A picture in which faces are looked for; without one, only when the video ends.

    ``cut`` says that a shot begins here with a cut: nothing before it matters any more.
    ``signature`` is what cuts are found by. ``closely`` says that small, tilted and other weak
    faces are looked for too, and ``still`` that it is the picture before it, looked at in the same
    way: nothing has changed.
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
    """Yield the pictures in which faces are looked for: so many per second, and some besides."""

    def work(put: Callable[[SampledFrame], None]) -> None:
        last, next_closely = SampledFrame(-1, 0, 0.0, None), 0.0

        def look(shot: int, frame: Frame, cut: bool, picture: Signature) -> None:
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

        sampler = _Sampler(rate, start.shot, also, look)
        number, end = start.number, start.time
        for frame in video.frames(start.time, start.number, start.seek):
            number, end = frame.number, frame.time + frame.duration
            sampler.add(frame)
        sampler.finish()
        put(SampledFrame(sampler.shot, number, end, None))

    return _from_thread(work)


class _Sampler:
    """Chooses the pictures to look at, as soon as it is known which shot they belong to."""

    def __init__(
        self, rate: float, shot: int, also: Collection[int],
        look: Callable[[int, Frame, bool, Signature], None],
    ) -> None:  # fmt: skip
        self.shot = shot - 1
        self._rate, self._also, self._look = rate, also, look
        self._due = 0.0
        self._cuts, self._dissolves = CutFinder(), DissolveFinder()
        self._undecided: deque[tuple[Frame, Signature]] = deque()  # a cut, or not?
        self._held: deque[tuple[int, Frame, bool, Signature]] = (
            deque()
        )  # before a dissolve, or after it?

    def add(self, frame: Frame) -> None:
        """Take the next frame."""
        picture = signature(frame.planes(GRID))
        self._undecided.append((frame, picture))
        for begins in self._cuts.add(frame.time, picture):
            self._decided(begins)

    def finish(self) -> None:
        """Give what is left: there are no more frames."""
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
            if self._due <= time:  # frames are rarer than looks
                self._due = time + 1e-6
        self._release(time - LATEST_DISSOLVE)

    def _release(self, before: float) -> None:
        while self._held and self._held[0][1].time < before:
            self._look(*self._held.popleft())


def _from_thread(work: Callable[[Callable[[SampledFrame], None]], None]) -> Generator[SampledFrame]:
    """Run work in a thread and yield what it puts, a few things ahead."""
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
