"""Format times, shares and certainty for people."""

from __future__ import annotations

#: On clips not used to fit them, every character shown as sure was one person
#: (docs/research/benchmark.md).
SURE, FAIRLY_SURE = 0.93, 0.8


def clock(seconds: float) -> str:
    """Return a time as m:ss, or as h:mm:ss from one hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def lasting(seconds: float) -> str:
    """Return a duration as m:ss, rounded."""
    return "<0:01" if 0 < seconds < 0.5 else clock(seconds + 0.5)


def percent(share: float) -> str:
    """Return a share as a percentage, with one decimal if it is small."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def sureness(sure: float, small: bool = False) -> str:
    """Return the certainty of a character as a word."""
    if small:
        return "too small to tell"
    if sure >= SURE:
        return "sure"
    return "fairly sure" if sure >= FAIRLY_SURE else "unsure"
