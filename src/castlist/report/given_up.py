"""Tracks that share a frame and are one character all the same, in a line."""

from __future__ import annotations

from typing import Any

from castlist.errors import counted
from castlist.format import clock

_NAMED = 3  # pairs


def given_up_line(characters: int, given_up: dict[str, Any]) -> str:
    """Say which tracks a number of characters put together though they share a frame.

    Parameters
    ----------
    characters : int
        The number.
    given_up : dict
        As :func:`castlist.cast.links.overlap_summary` says it; of some pairs at least.
    """
    named = [_pair(one) for one in given_up["pairs"][:_NAMED]]
    rest = given_up["count"] - len(named)
    return (
        f"{counted(characters, 'character')} needed {counted(given_up['count'], 'pair')} of tracks "
        f"that share a frame in one character: tracks {', '.join(named)}"
        + (f", and {rest} more." if rest else ".")
    )


def _pair(one: dict[str, Any]) -> str:
    when = "" if one["time"] is None else f" at {clock(one['time'])}"
    return f"{' and '.join(one['tracks'])}{when}"
