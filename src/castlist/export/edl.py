"""Write EDL: markers on a timeline, as DaVinci Resolve writes and imports them."""

from __future__ import annotations

from collections.abc import Iterator

from castlist.export.timecode import drop_at, start_frame, timecode
from castlist.export.timeline import Timeline

#: Resolve's marker colours, in the order of its menu; the leading character is blue.
_COLOURS = (
    "Blue", "Cyan", "Green", "Yellow", "Red", "Pink", "Purple", "Fuchsia", "Rose", "Lavender",
    "Sky", "Mint", "Lemon", "Sand", "Cocoa", "Cream",
)  # fmt: skip


def edl_lines(timeline: Timeline, drop: bool | None = None) -> Iterator[str]:
    """Yield one marker per appearance, on a timeline that starts at 01:00:00:00.

    Parameters
    ----------
    timeline : Timeline
        The people of a video.
    drop : bool, optional
        Whether timecode is drop-frame; by default at the rates that have it (29.97 and 59.94).
    """
    rate = timeline.rate
    drop = drop_at(rate, drop, timeline.video)
    start = start_frame(rate, drop)
    yield f"TITLE: {_plain(timeline.video)}\n"
    yield f"FCM: {'DROP FRAME' if drop else 'NON-DROP FRAME'}\n\n"
    colour = timeline.coloured(_COLOURS)
    free = 0
    for number, (seen, person) in enumerate(timeline.in_order(), 1):
        first, after = timeline.frames(seen)
        # Resolve has one marker per frame: if several people appear at once, each further marker
        # goes to the next frame.
        first = max(first, free)
        free = first + 1
        begin, end = (timecode(start + f, rate, drop) for f in (first, free))
        yield f"{number:03}  001      V     C        {begin} {end} {begin} {end}  \n"
        name, frames = _plain(person.label), max(1, after - first)
        yield f" |C:ResolveColor{colour[person.label]} |M:{name} |D:{frames}\n\n"


def _plain(text: str) -> str:
    """Replace the separator of the format, which has no escape."""
    return text.replace("|", "¦")
