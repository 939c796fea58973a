"""Times, shares and certainty in words."""

from __future__ import annotations

#: On clips not used to fit it, everybody shown as sure was one person (docs/research/benchmark.md).
SURE, FAIRLY_SURE = 0.93, 0.8


def clock(seconds: float) -> str:
    """Write a moment as m:ss, or h:mm:ss from the first hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def lasting(seconds: float) -> str:
    """Write how long something is, as m:ss."""
    return "<0:01" if 0 < seconds < 0.5 else clock(seconds + 0.5)


def percent(share: float) -> str:
    """Write a share of the video; small ones with a decimal, as most characters are small."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def sureness(sure: float, small: bool = False) -> str:
    """Say in a word how sure castlist is of a character."""
    if small:
        return "too small to tell"
    if sure >= SURE:
        return "sure"
    return "fairly sure" if sure >= FAIRLY_SURE else "unsure"
