"""The best few faces of a track, spread over its time, held in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from castlist.video.frames import Image

_BINS = 12  # candidates held: more than are described, so that the best are spread


@dataclass(frozen=True)
class Portrait:
    """A face kept to be described and shown.

    Attributes
    ----------
    face : int
        Which face of its track.
    time : float
        When.
    quality : float
        How well it shows who it is.
    crop : ndarray
        What the describer takes.
    picture : ndarray
        What a person is shown.
    """

    face: int
    time: float
    quality: float
    crop: NDArray[np.uint8]
    picture: Image


@dataclass
class Gallery:
    """Candidates, the best of each stretch of time; stretches double when there are too many.

    Attributes
    ----------
    stretch : float
        Seconds of a stretch.
    count : int
        How many are wanted in the end.
    """

    stretch: float
    count: int
    _best: dict[int, Portrait] = field(default_factory=dict)

    def would_take(self, time: float, quality: float) -> bool:
        """Say whether a face of this quality would be kept."""
        there = self._best.get(int(time // self.stretch))
        return there is None or quality > there.quality

    def add(self, portrait: Portrait) -> None:
        """Keep a face if it is the best of its time."""
        if not self.would_take(portrait.time, portrait.quality):
            return
        self._best[int(portrait.time // self.stretch)] = portrait
        while len(self._best) > _BINS:
            self.stretch *= 2
            kept = sorted(self._best.values(), key=lambda one: (one.quality, -one.time))
            self._best = {int(one.time // self.stretch): one for one in kept}

    def best(self) -> list[Portrait]:
        """Choose the best of each equal part of the track's time, in order of time."""
        count = self.count
        there = sorted(self._best.values(), key=lambda one: one.time)
        if len(there) <= count:
            return there
        start, end = there[0].time, there[-1].time
        part = (end - start) / count or 1.0
        chosen: dict[int, Portrait] = {}
        for one in there:
            k = min(int((one.time - start) / part), count - 1)
            if k not in chosen or one.quality > chosen[k].quality:
                chosen[k] = one
        return [chosen[k] for k in sorted(chosen)]

    def close(self) -> None:
        """Keep only what is wanted: the track has ended."""
        self._best = dict(enumerate(self.best()))
