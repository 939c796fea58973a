"""The best few faces of a track, spread over its time, held in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from castlist.video.pictures import Picture

Worth = Callable[["Portrait"], float]
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
    picture : Picture
        What a person is shown.
    """

    face: int
    time: float
    quality: float
    crop: NDArray[np.uint8]
    picture: Picture


@dataclass
class Gallery:
    """Candidates, the best of each stretch of time; stretches double when there are too many.

    Those to be described and those to be shown are chosen apart: a title over a face hardly
    disturbs the describer.

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
    _shown: dict[int, Portrait] = field(default_factory=dict)

    def would_take(self, time: float, quality: float, cover: float) -> bool:
        """Say whether a face of this quality, and of this quality as a cover, would be kept."""
        stretch = int(time // self.stretch)
        best, shown = self._best.get(stretch), self._shown.get(stretch)
        return best is None or shown is None or quality > best.quality or cover > _cover(shown)

    def add(self, portrait: Portrait) -> None:
        """Keep a face if it is the best of its time."""
        for held, worth in ((self._best, _quality), (self._shown, _cover)):
            there = held.get(int(portrait.time // self.stretch))
            if there is None or worth(portrait) > worth(there):
                held[int(portrait.time // self.stretch)] = portrait
        while max(len(self._best), len(self._shown)) > _BINS:
            self.stretch *= 2
            self._best = self._doubled(self._best, _quality)
            self._shown = self._doubled(self._shown, _cover)

    def _doubled(self, held: dict[int, Portrait], worth: Worth) -> dict[int, Portrait]:
        kept = sorted(held.values(), key=lambda one: (worth(one), -one.time))
        return {int(one.time // self.stretch): one for one in kept}

    def best(self) -> list[Portrait]:
        """Choose the best of each equal part of the track's time, in order of time."""
        return _spread(self._best.values(), self.count, _quality)

    def pictures(self, begin: int, end: int, count: int) -> list[Picture]:
        """Choose the pictures to show of some faces of the track, the best first."""
        held = [*self._shown.values(), *self._best.values()]  # the latter where no other is
        own = {one.face: one for one in held if begin <= one.face < end}
        chosen = _spread(own.values(), count, _cover)
        return [one.picture for one in sorted(chosen, key=_cover, reverse=True)]

    def close(self) -> None:
        """Keep only what is wanted: the track has ended."""
        self._best = dict(enumerate(self.best()))
        self._shown = dict(enumerate(_spread(self._shown.values(), self.count, _cover)))


def _quality(portrait: Portrait) -> float:
    return portrait.quality


def _cover(portrait: Portrait) -> float:
    return portrait.picture.cover.quality


def _spread(portraits: Collection[Portrait], count: int, worth: Worth) -> list[Portrait]:
    """Choose the best of each equal part of their time, in order of time."""
    there = sorted(portraits, key=lambda one: one.time)
    if len(there) <= count:
        return there
    start, end = there[0].time, there[-1].time
    part = (end - start) / count or 1.0
    chosen: dict[int, Portrait] = {}
    for one in there:
        k = min(int((one.time - start) / part), count - 1)
        if k not in chosen or worth(one) > worth(chosen[k]):
            chosen[k] = one
    return [chosen[k] for k in sorted(chosen)]
