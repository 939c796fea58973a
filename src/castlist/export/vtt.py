"""Write WebVTT, for players and captioning tools: one cue per appearance."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from castlist.export.timeline import Timeline


def vtt_lines(timeline: Timeline) -> Iterator[str]:
    """Yield the cues; those of people seen at the same time overlap."""
    yield "WEBVTT\n"
    for seen, person in timeline.in_order():
        start = round(1000 * timeline.played(seen.start))
        end = max(start + 1, round(1000 * timeline.played(seen.end)))
        yield f"\n{vtt_clock(start)} --> {vtt_clock(end)}\n{vtt_text(person.label)}\n"


def vtt_text(text: str) -> str:
    """Return one line of text as it is written in a cue."""
    # With > escaped, a name cannot contain -->, which marks a line of times.
    return escape(text, quote=False)


def vtt_clock(milliseconds: int) -> str:
    """Return a time as hours, minutes, seconds and milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}.{rest:03}"
