"""Decoding in a thread of its own: cuts, and the pictures in which faces are looked for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from castlist.video.frames import Image, Video
from castlist.video.shots import CUT_WIDTH, ShotSplitter

_AHEAD = 6  # pictures decoded before they are needed


@dataclass(frozen=True)
class Place:
    """Where in a video a shot begins, in time and in counts: enough to go on from."""

    time: float = 0.0
    number: int = 0
    shot: int = 0
    seek: bool = True  # whether the video's times can be seeked to


@dataclass(frozen=True)
class Look:
    """A picture in which faces are looked for; without one, only when the video ends."""

    shot: int
    number: int
    time: float
    image: Image | None
    seek: bool = True


def sampled(video: Video, rate: float, start: Place, also: Collection[int]) -> Iterator[Look]:
    """Yield the pictures in which faces are looked for: so many a second, and some besides."""

    def work(put: Callable[[Look], None]) -> None:
        splitter, shot, due = ShotSplitter(), start.shot - 1, 0.0
        number, end = start.number, start.time
        for frame in video.frames(start.time, start.number, start.seek):
            time, number, end = frame.time, frame.number, frame.time + frame.duration
            if splitter.begins_at(time, frame.image(CUT_WIDTH)):
                shot, due = shot + 1, time
            if time >= due - 1e-6 or number in also:
                put(Look(shot, number, time, frame.image(), not video.mended))
            if time >= due - 1e-6:
                due += 1 / rate
                if due <= time:  # frames are rarer than looks
                    due = time + 1e-6
        put(Look(shot, number, end, None))

    return _from_thread(work)


def _from_thread(work: Callable[[Callable[[Look], None]], None]) -> Iterator[Look]:
    """Run work in a thread and yield what it puts, a few things ahead."""
    ready: queue.Queue[Look | BaseException | None] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    class _Stop(Exception):
        pass

    def put(item: Look | BaseException | None) -> None:
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
