"""Choosing the faces of a track: which are described, and which are shown.

A track keeps the best faces of each stretch of time, in bounded memory. Faces to describe and faces
to show are chosen separately: a title over a face hardly disturbs the describer, but it spoils a
cover. `presentable` scores a face as a cover.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.video.align import square_around
from castlist.video.frames import Image
from castlist.video.pictures import Picture, share_of

Score = Callable[["Portrait"], float]
_CANDIDATES = 12  # faces kept: more than are described, so that the best can be spread over time

# Titles are searched for in pictures of this side. All lengths below are in its pixels.
_SIDE = 112
_STROKE = 9  # maximum width of a letter's stroke
_BRIGHT, _BRIGHTER = 130, 60  # minimum grey level of a stroke, and minimum contrast to its sides
_LINE = 6  # minimum height of a line of letters
# Strokes per row of pixels: at most the first without a title, at least the second with one.
_FEW, _MANY = 3.0, 6.0
_CHIN = 80  # row at which the chin is, approximately
_INSIDE = (0.4, 0.95)  # share of the picture inside the frame that scores 0, and that scores 1
_OVER, _BELOW = 0.2, 0.45  # score of a picture with a title over the face, or below it


@dataclass(frozen=True)
class Portrait:
    """A face that is a candidate to be described or shown.

    Attributes
    ----------
    face : int
        Index of the face in its track.
    time : float
        Time in seconds.
    quality : float
        Score as a face to describe.
    crop : ndarray
        Input of the describer.
    picture : Picture
        Picture of the face to show, with its score as a cover.
    """

    face: int
    time: float
    quality: float
    crop: NDArray[np.uint8]
    picture: Picture


@dataclass
class Gallery:
    """The candidates of a track: the best face of each stretch of time.

    Stretches double in length when there are too many.

    Attributes
    ----------
    stretch : float
        Length of a stretch in seconds.
    count : int
        Number of faces to choose in the end.
    """

    stretch: float
    count: int
    _best: dict[int, Portrait] = field(default_factory=dict)
    _shown: dict[int, Portrait] = field(default_factory=dict)

    def would_take(self, time: float, quality: float, cover: float) -> bool:
        """Return whether a face with these scores, to describe and as a cover, would be kept."""
        stretch = int(time // self.stretch)
        best, shown = self._best.get(stretch), self._shown.get(stretch)
        return best is None or shown is None or quality > best.quality or cover > _cover(shown)

    def add(self, portrait: Portrait) -> None:
        """Keep a face if it is the best of its stretch."""
        for held, score in ((self._best, _quality), (self._shown, _cover)):
            there = held.get(int(portrait.time // self.stretch))
            if there is None or score(portrait) > score(there):
                held[int(portrait.time // self.stretch)] = portrait
        while max(len(self._best), len(self._shown)) > _CANDIDATES:
            self.stretch *= 2
            self._best = self._doubled(self._best, _quality)
            self._shown = self._doubled(self._shown, _cover)

    def _doubled(self, held: dict[int, Portrait], score: Score) -> dict[int, Portrait]:
        kept = sorted(held.values(), key=lambda one: (score(one), -one.time))
        return {int(one.time // self.stretch): one for one in kept}

    def best(self) -> list[Portrait]:
        """Return the faces to describe, spread over the track, in order of time."""
        return _spread(self._best.values(), self.count, _quality)

    def pictures(self, begin: int, end: int, count: int) -> list[Picture]:
        """Return the pictures to show of the faces ``begin`` to ``end``, best first."""
        held = [*self._shown.values(), *self._best.values()]  # the latter where there is no other
        own = {one.face: one for one in held if begin <= one.face < end}
        chosen = _spread(own.values(), count, _cover)
        return [one.picture for one in sorted(chosen, key=_cover, reverse=True)]

    def close(self) -> None:
        """Drop all but the chosen faces, when the track has ended."""
        self._best = dict(enumerate(self.best()))
        self._shown = dict(enumerate(_spread(self._shown.values(), self.count, _cover)))


def presentable(image: Image, box: NDArray[np.floating], face: Image, shown: Image) -> float:
    """Return the score of a face as a cover, 0 to 1: well lit, not at the border, no title.

    Scores are comparable between pictures of one person only: skin differs in brightness, and
    stripes on clothes resemble letters.

    Parameters
    ----------
    image : ndarray
        The frame.
    box : ndarray
        Box of the face in the frame.
    face : ndarray
        The aligned face.
    shown : ndarray
        The picture of the face to show.
    """
    strokes = title_strokes(shown)
    over = _ramp(float(strokes[:_CHIN].max()), _FEW, _MANY)
    below = _ramp(float(strokes[_CHIN:].max()), _FEW, _MANY)
    clear = min(1 - (1 - _OVER) * over, 1 - (1 - _BELOW) * below)
    left, top, side = square_around(box)
    _, _, w, h = share_of(image, np.array([left, top, side, side]))
    inside = w * h * image.shape[0] * image.shape[1] / max(side * side, 1e-9)
    return light(face) * clear * _ramp(inside, *_INSIDE)


def light(face: Image) -> float:
    """Return how well an aligned face is lit, 0 to 1: not dark, not overexposed, not flat."""
    gray = cv2.cvtColor(face, cv2.COLOR_BGR2GRAY)[16:104, 20:92]  # without most hair and background
    levels = np.bincount(gray.ravel(), minlength=256).cumsum() / gray.size
    low, middle, high = (int(np.searchsorted(levels, share)) for share in (0.05, 0.5, 0.95))
    overexposed = 1 - float(levels[249])
    return (
        _ramp(middle, 15, 70)
        * _ramp(high - low, 20, 110)
        * (1 - _ramp(overexposed, 0.05, 0.4))
        * (1 - 0.8 * _ramp(middle, 190, 240))
    )


def title_strokes(picture: Image) -> NDArray[np.float64]:
    """Return the number of bright upright strokes in each row of a picture, averaged over a line.

    Letters consist of strokes that are narrow and much brighter than what is beside them. A title
    has many strokes per line.
    """
    small = cv2.resize(picture, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    blue, green, red = cv2.split(small)
    value = cv2.max(cv2.max(blue, green), red)  # titles may be red or yellow
    kernel = np.ones((1, _STROKE), np.uint8)
    above = cv2.morphologyEx(value, cv2.MORPH_TOPHAT, kernel)
    stroke = (above > _BRIGHTER) & (value > _BRIGHT)
    begins = np.count_nonzero(stroke[:, 1:] & ~stroke[:, :-1], axis=1)
    return np.convolve(begins, np.full(_LINE, 1 / _LINE), "valid")


def _quality(portrait: Portrait) -> float:
    return portrait.quality


def _cover(portrait: Portrait) -> float:
    return portrait.picture.cover.quality


def _spread(portraits: Collection[Portrait], count: int, score: Score) -> list[Portrait]:
    """Return the best portrait of each of ``count`` equal parts of the time, in order of time."""
    there = sorted(portraits, key=lambda one: one.time)
    if len(there) <= count:
        return there
    start, end = there[0].time, there[-1].time
    part = (end - start) / count or 1.0
    chosen: dict[int, Portrait] = {}
    for one in there:
        k = min(int((one.time - start) / part), count - 1)
        if k not in chosen or score(one) > score(chosen[k]):
            chosen[k] = one
    return [chosen[k] for k in sorted(chosen)]


def _ramp(value: float, zero: float, one: float) -> float:
    """Return 0 up to ``zero``, 1 from ``one`` on, and interpolate linearly between them."""
    return min(max((value - zero) / (one - zero), 0.0), 1.0)
