"""Finding cuts, dissolves and fades. No track crosses one.

Frames are compared by small signatures. The distance of two signatures is relative to their
contrast, so that a cut between dark or grey frames counts as much as one between bright and
colourful frames.

A *cut* is a change between two groups of frames that is large compared with the changes inside both
groups: a moving camera changes every frame, and a flash returns to the frame before it. A
*dissolve* is a stretch most of whose frames are near the straight line between its first and its
last frame, with less contrast than both: motion leaves that line and keeps the contrast. A *fade*
is a stretch of blank frames between two different ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Width and height of the thumbnails that signatures are made of.
GRID = (32, 18)
#: Length of a signature: luma, both chroma planes at half the size, and their two means.
SIGNATURE_LENGTH = GRID[0] * GRID[1] * 3 // 2 + 2
#: Maximum length of a shot in seconds: a longer take is split, so that a scan can resume there.
LONGEST_SHOT = 120.0

_NOISE = 2.0  # noise in grey levels per pixel
_TINT = 60.0  # difference of chroma levels that counts as another tint
_BLACK = 24.0  # maximum luma of a black bar
_NEUTRAL = 12.0  # maximum chroma level of black, white and grey
_BLANK = 3.0  # contrast in grey levels below which a frame is blank

_GROUP = 3  # frames on each side of a cut
_STILL = 0.04  # distance to the frame before, below which there is no cut
_CHANGE = 0.12  # minimum distance across a cut …
_SHARP = 4.0  # … relative to the distances on the calmer side
_AMID = 1.3  # … relative to the distances on the side that moves more
_LARGE = 0.33  # distance from which on only the nearest frames are compared
_BESIDE = 0.3  # seconds before and after a cut that are compared
_SPARSE = 0.45  # seconds between frames from which on neighbours are not compared
_BLEND = 0.22  # minimum distance across a cut if the frame before it is a blend of both sides
_LIKE_BLEND = 0.04  # maximum deviation of such a blend from the straight line between both sides

_DISSOLVE_RATE = 25.0  # maximum number of frames per second in which dissolves are searched for
_LENGTHS = (0.4, 0.56, 0.72, 0.96, 1.2, 1.44, 1.76)  # lengths of dissolves in seconds
_OTHER = 0.6  # minimum distance between both ends of a dissolve
_FAINT = 0.25  # minimum ratio of the contrasts of both ends; less is a fade
_BENT = 0.26  # maximum median deviation from the straight line; shots may move
_BACK = 0.2  # maximum step of a frame back on the way from one end to the other …
_SUDDEN = 0.4  # … and forward
_FLICKER = 0.1  # maximum excess of the change of contrast over that of a blend; more is a flash
_FLAT = 0.75  # maximum contrast in the middle, relative to that at the ends
_UNDER_WAY = 0.7  # minimum share of frames that differ from both ends
_OVER = 0.2  # seconds without a better candidate after which a dissolve is over

#: Maximum time in seconds from the middle of a dissolve until it is found.
LATEST_DISSOLVE = max(_LENGTHS) / 2 + _OVER + 0.2

Signature = NDArray[np.float32]


def signature(yuv: NDArray[np.uint8]) -> Signature:
    """Return the signature of a frame: luma and chroma minus their means, and the chroma means.

    Black bars are ignored: they are the same in all shots of a film.

    Parameters
    ----------
    yuv : ndarray of shape (3, height, width)
        Luma and both chroma planes of the frame, scaled down to `GRID`.
    """
    planes = yuv.astype(np.float32)
    rows, columns = (_between_bars(planes[0].max(axis=axis)) for axis in (1, 0))
    shown = planes[:, rows, columns]
    mean = shown.mean(axis=(1, 2))
    centred = np.zeros_like(planes)
    centred[:, rows, columns] = shown - mean[:, None, None]
    return np.concatenate([centred[0].ravel(), centred[1:, ::2, ::2].ravel(), mean[1:]])


def _between_bars(brightest: NDArray[np.float32]) -> slice:
    """Return the rows or columns between black bars; all if all are black."""
    bright = np.flatnonzero(brightest >= _BLACK)
    return slice(int(bright[0]), int(bright[-1]) + 1) if len(bright) else slice(None)


def distance(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the distances of all pairs of signatures: 0 for equal frames, 1 for unrelated ones.

    The distance is one minus the cosine, so that brightness and contrast do not matter. Noise is
    added to both, so that two blank frames are equal. A difference in tint adds to the distance.
    """
    a, b = np.atleast_2d(a), np.atleast_2d(b)
    noise = _NOISE**2 * GRID[0] * GRID[1]
    x, y = a[:, :-2], b[:, :-2]
    norms = np.sqrt(np.outer(np.square(x).sum(axis=1) + noise, np.square(y).sum(axis=1) + noise))
    tint = np.square(a[:, None, -2:] - b[None, :, -2:]).sum(axis=2)
    return np.asarray(1 - (x @ y.T + noise) / norms + tint / (tint + _TINT**2))


def is_blank(one: Signature) -> bool:
    """Return whether a frame is blank: uniformly black, white or grey."""
    return _contrast(one) < _BLANK and float(np.abs(one[-2:] - 128).max()) < _NEUTRAL


def _contrast(one: Signature) -> float:
    """Return the contrast of a frame in grey levels."""
    return float(np.sqrt(np.square(one[: GRID[0] * GRID[1]]).mean()))


class CutFinder:
    """Finds cuts, with a delay of a few frames, which it needs to compare.

    A cut resets it, so that a scan that resumes at a cut gives the same result as one that was not
    interrupted.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._signatures: list[Signature] = []
        self._steps: list[float] = []  # distance of each frame to the one before
        self._undecided = 0  # index of the first undecided frame
        self._start = 0.0

    def add(self, time: float, picture: Signature) -> list[bool]:
        """Add the next frame; return for each frame decided now whether it begins a shot."""
        step = float(distance(self._signatures[-1], picture)[0, 0]) if self._times else 0.0
        self._times.append(time)
        self._signatures.append(picture)
        self._steps.append(step)
        return list(self._decided(last=False))

    def finish(self) -> list[bool]:
        """Return for each remaining frame whether it begins a shot, at the end of the video."""
        return list(self._decided(last=True))

    def _decided(self, last: bool) -> Iterator[bool]:
        times = self._times
        while self._undecided < len(times):
            j = self._undecided
            known = times[-1] > times[j] + _BESIDE and len(times) > j + _GROUP
            if j and not known and not last:
                return
            begins = not j or times[j] - self._start >= LONGEST_SHOT or self._is_cut(j)
            if begins:
                self._start = times[j]
            # Frames before this one are never compared again.
            past = int(np.searchsorted(times, times[j] - 2 * _BESIDE))
            keep = j if begins else min(max(0, j - _GROUP), past)
            del times[:keep], self._signatures[:keep], self._steps[:keep]
            self._undecided = j - keep + 1
            yield begins

    def _is_cut(self, j: int) -> bool:
        times = np.asarray(self._times)
        if times[j] - times[j - 1] >= _SPARSE:
            return self._steps[j] >= _LARGE
        if self._steps[j] < _STILL:  # the usual case
            return False
        first = min(int(np.searchsorted(times, times[j] - _BESIDE)), max(0, j - _GROUP))
        end = max(int(np.searchsorted(times, times[j] + _BESIDE)), min(j + _GROUP, len(times)))
        after = np.asarray(self._signatures[j:end])
        if is_blank(after[0]):  # the shot begins with its first frame that is not blank
            return False
        shown = np.array([not is_blank(one) for one in self._signatures[first:j]])
        if not shown.any():
            return max(_contrast(one) for one in after) >= 2 * _BLANK
        # The frame before a cut may be a blend of both sides, as in converted television.
        for blended in (False, True):
            before = np.asarray(self._signatures[first : j - blended])[shown[: j - blended - first]]
            change = float(distance(before, after).min()) if len(before) else 0.0
            if blended and not (j > 1 and _is_blend(*self._signatures[j - 2 : j + 1])):
                continue
            if change >= _BLEND or (change >= _CHANGE and not blended):
                beside = np.ones(end - first, bool)
                beside[0] = False  # it compares with a frame outside the window
                beside[j - blended - first : j + 1 - first] = False
                steps = np.asarray(self._steps[first:end])
                if _is_sharp(change, steps, beside, j - first, blended):
                    return True
        return False


def _is_sharp(
    change: float, steps: NDArray[np.float64], beside: NDArray[np.bool_], j: int, blended: bool
) -> bool:
    """Return whether a change is large compared with the steps before and after it.

    Parameters
    ----------
    change : float
        Distance between the frames before and after.
    steps : ndarray
        Distance of each frame to the one before.
    beside : ndarray of bool
        Steps to compare with.
    j : int
        Index of the frame that may begin a shot.
    blended : bool
        Whether the frame before it is a blend.
    """
    place = np.arange(len(steps))
    if change >= _LARGE:
        beside = beside & (np.abs(place - j) <= _GROUP)
    else:  # some codecs need two frames for a change
        beside = beside & (place != j + 1)
    most = float(steps[beside].max(initial=0.0))
    sides = [beside & (place < j), beside & (place > j)]
    calm = [float(steps[side].max()) for side in sides if side.sum() >= _GROUP - 1]
    if blended:
        return len(calm) == 2 and change >= _SHARP * most
    # One side of a cut may move fast; the other must be calm.
    least = min(calm, default=most)
    if change >= _LARGE:
        return change >= max(_SHARP * least, _AMID * most)
    return bool(change >= max(_SHARP * (_LARGE / change) ** 1.5 * least, _SHARP * most))


def _is_blend(before: Signature, one: Signature, after: Signature) -> bool:
    """Return whether a frame is a blend of the one before and the one after it."""
    way, moved = after[:-2] - before[:-2], one[:-2] - before[:-2]
    square = float(way @ way) + 1e-9
    at = float(moved @ way) / square
    off = moved - at * way
    return 0.15 < at < 0.85 and float(off @ off) < _LIKE_BLEND * square


@dataclass(frozen=True)
class _Transition:
    """A candidate for a dissolve: time of its middle, time of its end, and distance of its ends."""

    middle: float
    end: float
    change: float


@dataclass
class DissolveFinder:
    """Finds dissolves between two cuts, with a delay of up to `LATEST_DISSOLVE` seconds."""

    _times: list[float] = field(default_factory=list)
    _signatures: list[Signature] = field(default_factory=list)
    _best: _Transition | None = None
    _over: float = -np.inf  # end of the last dissolve

    def add(self, time: float, picture: Signature) -> float | None:
        """Add the next frame; return the time of the middle of a dissolve that is over, or None."""
        if self._times and time < self._times[-1] + 0.9 / _DISSOLVE_RATE:
            return None
        self._times.append(time)
        self._signatures.append(picture)
        old = int(np.searchsorted(self._times, time - max(_LENGTHS) - _OVER))
        del self._times[:old], self._signatures[:old]
        for found in self._ending():
            if self._best is None or found.change > self._best.change:
                self._best = found
        if self._best is None or time <= self._best.end + _OVER:
            return None
        found, self._best = self._best, None
        self._over = found.end
        return found.middle

    def _ending(self) -> Iterator[_Transition]:
        """Yield the dissolves that may end with the last frame."""
        times, last = np.asarray(self._times), self._signatures[-1]
        begin = np.searchsorted(times, times[-1] - np.array(_LENGTHS) - 0.02)
        whole = (times[-1] - times[begin] > np.array(_LENGTHS) - 0.1) & (times[begin] > self._over)
        begin = begin[whole & (len(times) - begin > 3)]
        if not len(begin) or is_blank(last):
            return
        changes = distance(np.asarray([self._signatures[k] for k in begin]), last)[:, 0]
        for k, change in zip(begin.tolist(), changes.tolist(), strict=True):
            if change < _OTHER:  # the usual case
                continue
            first = self._signatures[k]
            contrasts = sorted((_contrast(first), _contrast(last)))
            if is_blank(first) or contrasts[0] < _FAINT * contrasts[1]:
                continue
            middle = _half_way(first, np.asarray(self._signatures[k + 1 : -1]), last)
            if middle is not None:
                yield _Transition(float(times[k + 1 + middle]), float(times[-1]), change)


def _half_way(first: Signature, between: NDArray[np.float32], last: Signature) -> int | None:
    """Return the index of the frame half-way from first to last, if most are blends of both."""
    first, between, last = first[:-2], between[:, :-2], last[:-2]
    way = last - first
    square = float(way @ way)
    at = (between - first) @ way / square
    steps = np.diff([0.0, *at, 1.0])
    if steps.min() < -_BACK or steps.max() > _SUDDEN:
        return None
    under_way = (at > 0.1) & (at < 0.9)
    half = (at > 0.25) & (at < 0.75)
    if under_way.mean() < _UNDER_WAY or not half.any():
        return None
    off = np.square(between - first - at[:, None] * way).sum(axis=1) / square
    # A blend of two unrelated frames has half the contrast; a frame of a moving camera has all.
    squares = np.square([first, *between, last]).sum(axis=1)
    ends = (1 - at) * squares[0] + at * squares[-1]
    flat = np.median((squares[1:-1] / ends)[half])
    # In a blend of n steps, contrast changes by at most 2 / n of the larger end per step.
    fastest = np.abs(np.diff(squares)).max() / max(squares[0], squares[-1])
    if np.median(off) > _BENT or flat > _FLAT or fastest > 2 / len(steps) + _FLICKER:
        return None
    return int(np.abs(at - 0.5).argmin())
