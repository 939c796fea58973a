"""Finding cuts, dissolves and fades: no track crosses one.

Pictures are compared by a small signature, not by their colours: how far apart two signatures are
is relative to the contrast of both, so that a cut in a dark or a grey picture counts as much as
one in a bright and colourful picture.

A *cut* is a change between two groups of pictures that is large beside the changes inside both
groups: a moving camera changes every picture, a flash comes back. A *dissolve* is a stretch most of
whose pictures lie near the straight line between its first and its last one, with less contrast
than both: motion leaves that line, and keeps the contrast. A *fade* is a stretch of blank pictures
between two different ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Width and height of the pictures that signatures are made of.
GRID = (32, 18)
#: Numbers of a signature: luma, both chroma planes at half the size, and their two means.
SIGNATURE_LENGTH = GRID[0] * GRID[1] * 3 // 2 + 2
#: A take without a cut ends here as a shot, so that there is a place to take up work again.
LONGEST_SHOT = 120.0

_NOISE = 2.0  # grey levels per pixel that are no change
_TINT = 60.0  # levels of chroma between pictures of another light
_BLACK = 24.0  # luma of a black bar, at most
_NEUTRAL = 12.0  # levels of chroma of black, white and grey, at most
_BLANK = 3.0  # grey levels of contrast: a picture with less shows nothing

_GROUP = 3  # pictures on each side of a cut
_STILL = 0.04  # distance of a picture to the one before it, below which nothing begins
_CHANGE = 0.12  # the least distance across a cut …
_SHARP = 4.0  # … and how many times the distances beside it
_AMID = 1.3  # … also on the side that moves more
_LARGE = 0.33  # from this distance on, only the nearest pictures are beside it
_BESIDE = 0.3  # seconds
_SPARSE = 0.45  # seconds between pictures, from which on those beside tell nothing
_BLEND = 0.22  # the least distance across a cut that a blend of both sides hides
_LIKE_BLEND = 0.04  # the most that such a blend may leave the straight line between both sides

_DISSOLVE_RATE = 25.0  # pictures per second that dissolves are looked for in, at most
_LENGTHS = (0.4, 0.56, 0.72, 0.96, 1.2, 1.44, 1.76)  # seconds of a dissolve
_OTHER = 0.6  # the least distance between both ends of a dissolve
_FAINT = 0.25  # the least contrast of one end, as a part of that of the other: less is a fade
_BENT = 0.26  # the most that half of its pictures may leave the straight line: shots may move
_BACK = 0.2  # the most that a picture may go back on the way from one end to the other …
_SUDDEN = 0.4  # … and the most that it may go on
_FLICKER = 0.1  # the most that its contrast may change faster than a blend's: more is a flash
_FLAT = 0.75  # the most contrast in its middle, as a part of that at its ends
_UNDER_WAY = 0.7  # the least part of its pictures that are neither its beginning nor its end
_OVER = 0.2  # seconds without a better candidate after which a dissolve is over

#: Seconds after its middle at which a dissolve is known, at the latest.
LATEST_DISSOLVE = max(_LENGTHS) / 2 + _OVER + 0.2

Signature = NDArray[np.float32]


def signature(yuv: NDArray[np.uint8]) -> Signature:
    """Return the signature of a picture: its luma and chroma around their means, and its tint.

    Black bars around the picture do not count: they are the same in all shots of a film.

    Parameters
    ----------
    yuv : ndarray of shape (3, height, width)
        Luma and both chroma planes of the picture, scaled down to `GRID`.
    """
    planes = yuv.astype(np.float32)
    rows, columns = (_between_bars(planes[0].max(axis=axis)) for axis in (1, 0))
    shown = planes[:, rows, columns]
    mean = shown.mean(axis=(1, 2))
    centred = np.zeros_like(planes)
    centred[:, rows, columns] = shown - mean[:, None, None]
    return np.concatenate([centred[0].ravel(), centred[1:, ::2, ::2].ravel(), mean[1:]])


def _between_bars(brightest: NDArray[np.float32]) -> slice:
    """Return which rows or columns are between black bars; all of them if all are black."""
    bright = np.flatnonzero(brightest >= _BLACK)
    return slice(int(bright[0]), int(bright[-1]) + 1) if len(bright) else slice(None)


def distance(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how far signatures are apart, all pairs: 0 is the same picture, 1 is unrelated.

    It is one minus the cosine, so that more or less light and contrast are no distance; noise is
    added to both, so that two blank pictures are the same. Another tint is a distance as well.
    """
    a, b = np.atleast_2d(a), np.atleast_2d(b)
    noise = _NOISE**2 * GRID[0] * GRID[1]
    x, y = a[:, :-2], b[:, :-2]
    norms = np.sqrt(np.outer(np.square(x).sum(axis=1) + noise, np.square(y).sum(axis=1) + noise))
    tint = np.square(a[:, None, -2:] - b[None, :, -2:]).sum(axis=2)
    return np.asarray(1 - (x @ y.T + noise) / norms + tint / (tint + _TINT**2))


def is_blank(one: Signature) -> bool:
    """Return whether a picture shows nothing: it is black, white or grey all over."""
    return _contrast(one) < _BLANK and float(np.abs(one[-2:] - 128).max()) < _NEUTRAL


def _contrast(one: Signature) -> float:
    """Return the contrast of a picture, in grey levels."""
    return float(np.sqrt(np.square(one[: GRID[0] * GRID[1]]).mean()))


class CutFinder:
    """Finds cuts, a few frames late: it has to see what comes after them.

    After a cut it knows nothing of what came before, so that work taken up at a cut goes on as if
    it had never stopped.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._signatures: list[Signature] = []
        self._steps: list[float] = []  # distance of each picture to the one before it
        self._undecided = 0  # the first picture that nothing is known of
        self._start = 0.0

    def add(self, time: float, picture: Signature) -> list[bool]:
        """Take the next picture; return of the next undecided ones whether they begin a shot."""
        step = float(distance(self._signatures[-1], picture)[0, 0]) if self._times else 0.0
        self._times.append(time)
        self._signatures.append(picture)
        self._steps.append(step)
        return list(self._decided(last=False))

    def finish(self) -> list[bool]:
        """Return of the rest whether they begin a shot: there are no more pictures."""
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
            # A picture farther back than this is never compared again.
            past = int(np.searchsorted(times, times[j] - 2 * _BESIDE))
            keep = j if begins else min(max(0, j - _GROUP), past)
            del times[:keep], self._signatures[:keep], self._steps[:keep]
            self._undecided = j - keep + 1
            yield begins

    def _is_cut(self, j: int) -> bool:
        times = np.asarray(self._times)
        if times[j] - times[j - 1] >= _SPARSE:
            return self._steps[j] >= _LARGE
        if self._steps[j] < _STILL:  # the most frequent case, and quick
            return False
        first = min(int(np.searchsorted(times, times[j] - _BESIDE)), max(0, j - _GROUP))
        end = max(int(np.searchsorted(times, times[j] + _BESIDE)), min(j + _GROUP, len(times)))
        after = np.asarray(self._signatures[j:end])
        if is_blank(after[0]):  # the shot begins when something is shown
            return False
        shown = np.array([not is_blank(one) for one in self._signatures[first:j]])
        if not shown.any():
            return max(_contrast(one) for one in after) >= 2 * _BLANK
        # The picture before a cut may be a blend of both sides, as in converted television.
        for blended in (False, True):
            before = np.asarray(self._signatures[first : j - blended])[shown[: j - blended - first]]
            change = float(distance(before, after).min()) if len(before) else 0.0
            if blended and not (j > 1 and _is_blend(*self._signatures[j - 2 : j + 1])):
                continue
            if change >= _BLEND or (change >= _CHANGE and not blended):
                beside = np.ones(end - first, bool)
                beside[0] = False  # of the picture before all these
                beside[j - blended - first : j + 1 - first] = False
                steps = np.asarray(self._steps[first:end])
                if _is_sharp(change, steps, beside, j - first, blended):
                    return True
        return False


def _is_sharp(
    change: float, steps: NDArray[np.float64], beside: NDArray[np.bool_], j: int, blended: bool
) -> bool:
    """Return whether a change is large beside the steps before and after it.

    Parameters
    ----------
    change : float
        Distance between the pictures before and after.
    steps : ndarray
        Distance of each picture to the one before it.
    beside : ndarray of bool
        Which of these steps count.
    j : int
        The picture that may begin a shot.
    blended : bool
        Whether the one before it is a blend.
    """
    place = np.arange(len(steps))
    if change >= _LARGE:
        beside = beside & (np.abs(place - j) <= _GROUP)
    else:  # a codec takes two pictures to show a new one
        beside = beside & (place != j + 1)
    most = float(steps[beside].max(initial=0.0))
    sides = [beside & (place < j), beside & (place > j)]
    calm = [float(steps[side].max()) for side in sides if side.sum() >= _GROUP - 1]
    if blended:
        return len(calm) == 2 and change >= _SHARP * most
    # A cut may lead to, or from, something that moves fast: one side is calm at least.
    least = min(calm, default=most)
    if change >= _LARGE:
        return change >= max(_SHARP * least, _AMID * most)
    return bool(change >= max(_SHARP * (_LARGE / change) ** 1.5 * least, _SHARP * most))


def _is_blend(before: Signature, one: Signature, after: Signature) -> bool:
    """Return whether a picture is a blend of the one before and the one after it."""
    way, moved = after[:-2] - before[:-2], one[:-2] - before[:-2]
    square = float(way @ way) + 1e-9
    at = float(moved @ way) / square
    off = moved - at * way
    return 0.15 < at < 0.85 and float(off @ off) < _LIKE_BLEND * square


@dataclass(frozen=True)
class _Transition:
    """A candidate for a dissolve: when it is half over, when it ends, and how much it changes."""

    middle: float
    end: float
    change: float


@dataclass
class DissolveFinder:
    """Finds dissolves between two cuts, up to a second late."""

    _times: list[float] = field(default_factory=list)
    _signatures: list[Signature] = field(default_factory=list)
    _best: _Transition | None = None
    _over: float = -np.inf  # when the last one ended

    def add(self, time: float, picture: Signature) -> float | None:
        """Take the next picture; return the middle of a dissolve that is over."""
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
        """Yield the dissolves that may end with the last picture."""
        times, last = np.asarray(self._times), self._signatures[-1]
        begin = np.searchsorted(times, times[-1] - np.array(_LENGTHS) - 0.02)
        whole = (times[-1] - times[begin] > np.array(_LENGTHS) - 0.1) & (times[begin] > self._over)
        begin = begin[whole & (len(times) - begin > 3)]
        if not len(begin) or is_blank(last):
            return
        changes = distance(np.asarray([self._signatures[k] for k in begin]), last)[:, 0]
        for k, change in zip(begin.tolist(), changes.tolist(), strict=True):
            if change < _OTHER:  # the most frequent case, and quick
                continue
            first = self._signatures[k]
            contrasts = sorted((_contrast(first), _contrast(last)))
            if is_blank(first) or contrasts[0] < _FAINT * contrasts[1]:
                continue
            middle = _half_way(first, np.asarray(self._signatures[k + 1 : -1]), last)
            if middle is not None:
                yield _Transition(float(times[k + 1 + middle]), float(times[-1]), change)


def _half_way(first: Signature, between: NDArray[np.float32], last: Signature) -> int | None:
    """Return which picture is half way from one to another, if most are blends of both."""
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
    # Of two unrelated pictures, a blend has half the contrast; one of a moving camera has all.
    squares = np.square([first, *between, last]).sum(axis=1)
    ends = (1 - at) * squares[0] + at * squares[-1]
    flat = np.median((squares[1:-1] / ends)[half])
    # A blend of n steps changes by no more than 2 / n of the larger end in one of them.
    fastest = np.abs(np.diff(squares)).max() / max(squares[0], squares[-1])
    if np.median(off) > _BENT or flat > _FLAT or fastest > 2 / len(steps) + _FLICKER:
        return None
    return int(np.abs(at - 0.5).argmin())
