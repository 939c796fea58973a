"""Exact frame rates, frame numbers of times, and SMPTE timecode."""

from __future__ import annotations

import math
from fractions import Fraction

from castlist.errors import InputError

#: Hour at which timelines start, as editors expect.
START_HOUR = 1
_ROUNDING = 2e-4  # of the rate: 23.98 means 24000/1001, and 24 does not
_MAX_RATE = 1000


def exact_rate(rate: float) -> Fraction:
    """Return the rate that a rounded one stands for: 23.976 is 24000/1001, 25 is 25."""
    if not (math.isfinite(rate) and 0 < rate <= _MAX_RATE):
        raise InputError(f"a frame rate must be more than 0 and at most {_MAX_RATE}, not {rate:g}")
    whole = max(1, round(rate))
    for meant in (Fraction(whole), Fraction(1000 * whole, 1001)):
        if abs(rate - meant) <= _ROUNDING * meant:
            return meant
    return Fraction(rate).limit_denominator(1001)


def frame_at(seconds: float, rate: Fraction) -> int:
    """Return the frame whose start is nearest to a time."""
    return math.floor(Fraction(seconds) * rate + Fraction(1, 2))


def can_drop(rate: Fraction) -> bool:
    """Return whether drop-frame timecode exists at a rate: 29.97, 59.94 and their multiples."""
    return rate.denominator == 1001 and rate.numerator % 30_000 == 0


def drop_at(rate: Fraction, wanted: bool | None, video: str) -> bool:
    """Return whether timecode is drop-frame: as wanted, or by default where it exists.

    An InputError, which names the video, if it is wanted at a rate that has none.
    """
    if wanted and not can_drop(rate):
        raise InputError(
            f"{video}: there is no drop-frame timecode at {float(rate):.3f} frames per second, "
            "only at 29.97 and 59.94"
        )
    return can_drop(rate) if wanted is None else wanted


def start_frame(rate: Fraction, drop: bool) -> int:
    """Return the frame number of 01:00:00:00."""
    nominal = max(1, round(rate))
    return START_HOUR * (6 * _ten_minutes(nominal) if drop else 3600 * nominal)


def timecode(frame: int, rate: Fraction, drop: bool) -> str:
    """Return the timecode of a frame; it starts again after 24 hours.

    Drop-frame timecode skips numbers, not frames: the first two of each minute (four at 59.94)
    except every tenth, so that 29.97 frames per second stay in step with the clock.

    Parameters
    ----------
    frame : int
        Frames since 00:00:00:00.
    rate : Fraction
        Frames per second.
    drop : bool
        Whether it is drop-frame, with a semicolon before the frames.
    """
    nominal = max(1, round(rate))
    if drop:
        left_out = nominal // 15
        tens, rest = divmod(frame, _ten_minutes(nominal))
        minutes = max(0, rest - left_out) // (60 * nominal - left_out)
        frame += left_out * (9 * tens + minutes)
    seconds, frames = divmod(frame, nominal)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    mark = ";" if drop else ":"
    return f"{hours % 24:02}:{minutes:02}:{seconds:02}{mark}{frames:02}"


def _ten_minutes(nominal: int) -> int:
    """Return the number of frames in ten minutes of drop-frame timecode."""
    return 600 * nominal - 9 * (nominal // 15)
