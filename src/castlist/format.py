"""Times, shares, certainty and pairs of tracks as text, and text for terminals."""

from __future__ import annotations

import re
from typing import Any

from castlist.errors import counted

#: Limits of certainty. On clips not used to fit them, every "sure" character was one person
#: (docs/research/benchmark.md).
SURE, FAIRLY_SURE = 0.93, 0.8

_PAIRS_NAMED = 3
#: What a terminal obeys: control characters, but for line breaks, and turns of direction.
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def terminal_text(text: object) -> str:
    """Return text that a terminal shows and does not obey: names may come from strangers."""
    return COMMANDS.sub("\ufffd", str(text))


def clock(seconds: float) -> str:
    """Return a time as m:ss, or as h:mm:ss from the first hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def clock_in_tenths(seconds: float) -> str:
    """Return a time as m:ss.t, or as h:mm:ss.t from the first hour on."""
    tenths = round(10 * seconds)
    return f"{clock(tenths // 10)}.{tenths % 10}"


def lasting(seconds: float) -> str:
    """Return a duration as m:ss, or as h:mm:ss from one hour on."""
    return "<0:01" if 0 < seconds < 0.5 else clock(seconds + 0.5)


def percent(share: float) -> str:
    """Return a share in per cent, with one decimal if it is small, as most are."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def sureness(sure: float, small: bool = False) -> str:
    """Return the certainty of a character in words."""
    if small:
        return "too small to tell"
    if sure >= SURE:
        return "sure"
    return "fairly sure" if sure >= FAIRLY_SURE else "unsure"


def given_up_line(n_characters: int, given_up: dict[str, Any]) -> str:
    """Return a line on pairs of tracks that share a frame and are in one character all the same.

    Parameters
    ----------
    n_characters : int
        The number of characters that required it.
    given_up : dict
        The number of pairs (``count``, at least 1) and the first of them (``pairs``).
    """
    named = [_pair(one) for one in given_up["pairs"][:_PAIRS_NAMED]]
    rest = given_up["count"] - len(named)
    return (
        f"{counted(n_characters, 'character')} required {counted(given_up['count'], 'pair')} of "
        f"tracks that share a frame in one character: tracks {', '.join(named)}"
        + (f", and {rest} more." if rest else ".")
    )


def _pair(one: dict[str, Any]) -> str:
    when = "" if one["time"] is None else f" at {clock(one['time'])}"
    return f"{' and '.join(one['tracks'])}{when}"
