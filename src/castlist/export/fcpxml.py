"""FCPXML 1.10: the video as one clip with a keyword range per appearance, for Final Cut Pro."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from castlist.export.timecode import frame_at
from castlist.export.timeline import Timeline


def fcpxml_lines(timeline: Timeline) -> Iterator[str]:
    """Write an event with the video, and a project with it on a timeline, keyworded by person."""
    rate = timeline.rate
    length = max(1, frame_at(timeline.duration, rate))
    name = quoteattr(timeline.video)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE fcpxml>\n'
    yield '<fcpxml version="1.10">\n <resources>\n'
    yield from _resources(timeline, length)
    yield " </resources>\n"
    span = rational_time(length, rate)
    yield ' <library>\n  <event name="castlist">\n'
    yield from _clip(timeline, span)
    yield f"   <project name={name}>\n"
    yield f'    <sequence format="r1" duration="{span}" tcStart="0s" tcFormat="NDF">\n'
    yield "     <spine>\n"
    yield from _clip(timeline, span, ' offset="0s"')
    yield "     </spine>\n    </sequence>\n   </project>\n"
    yield "  </event>\n </library>\n</fcpxml>\n"


def _clip(timeline: Timeline, span: str, offset: str = "") -> Iterator[str]:
    """Write the video as a clip with its keywords."""
    rate = timeline.rate
    name = quoteattr(timeline.video)
    yield f'   <asset-clip name={name} ref="r2" format="r1"{offset} duration="{span}">\n'
    for seen, person in timeline.in_order():
        first, after = timeline.frames(seen)
        part = (
            f'start="{rational_time(first, rate)}" duration="{rational_time(after - first, rate)}"'
        )
        yield f"    <keyword {part} value={quoteattr(_keyword(person.label))}/>\n"
    yield "   </asset-clip>\n"


def _resources(timeline: Timeline, length: int) -> Iterator[str]:
    rate = timeline.rate
    size = ""
    if timeline.size is not None:
        size = f' width="{timeline.size[0]}" height="{timeline.size[1]}"'
    yield f'  <format id="r1" frameDuration="{rational_time(1, rate)}"{size}/>\n'
    name, span = quoteattr(timeline.video), rational_time(length, rate)
    yield f'  <asset id="r2" name={name} start="0s" duration="{span}" hasVideo="1" format="r1">\n'
    # A file's name, and never a path elsewhere: Final Cut asks where the file is.
    source = quoteattr(f"file:./{quote(timeline.video, safe='')}")
    yield f'   <media-rep kind="original-media" src={source}/>\n  </asset>\n'


def _keyword(label: str) -> str:
    """Return a label as one keyword: Final Cut separates keywords by commas."""
    return label.replace(",", ";")


def rational_time(frames: int, rate: Fraction) -> str:
    """Write a number of frames as rational seconds."""
    seconds = frames / rate
    whole = seconds.denominator == 1
    return f"{seconds.numerator}s" if whole else f"{seconds.numerator}/{seconds.denominator}s"
