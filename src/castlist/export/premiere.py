"""Final Cut Pro 7 XML (xmeml 4): a sequence with a marker per appearance, for Premiere Pro."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote
from xml.sax.saxutils import escape

from castlist.export.timecode import can_drop, frame_at
from castlist.export.timeline import Timeline


def premiere_lines(timeline: Timeline) -> Iterator[str]:
    """Write the video as a sequence of one clip, with markers that last as long as people do."""
    rate = timeline.rate
    nominal, ntsc = max(1, round(rate)), rate.denominator == 1001
    clock = f"<rate><timebase>{nominal}</timebase><ntsc>{str(ntsc).upper()}</ntsc></rate>"
    length = max(1, frame_at(timeline.duration, rate))
    name = escape(timeline.video)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE xmeml>\n<xmeml version="4">\n'
    yield f'<sequence id="castlist">\n<name>{name}</name>\n<duration>{length}</duration>\n{clock}\n'
    shown = "DF" if can_drop(rate) else "NDF"
    yield f"<timecode>{clock}<frame>0</frame><displayformat>{shown}</displayformat></timecode>\n"
    yield "<media><video>\n"
    if timeline.size is not None:
        width, height = timeline.size
        yield "<format><samplecharacteristics>"
        yield f"<width>{width}</width><height>{height}</height>{clock}"
        yield "</samplecharacteristics></format>\n"
    yield f'<track><clipitem id="clip">\n<name>{name}</name>\n{clock}\n'
    span = f"<start>0</start><end>{length}</end><in>0</in><out>{length}</out>"
    yield f"<duration>{length}</duration>{span}\n"
    # A file's name, and never a path elsewhere: Premiere asks where the file is.
    url = quote(timeline.video, safe="")
    yield f'<file id="file"><name>{name}</name><pathurl>{url}</pathurl>{clock}'
    yield f"<duration>{length}</duration><media><video/></media></file>\n</clipitem></track>\n"
    yield "</video></media>\n"
    for seen, person in timeline.in_order():
        first, after = timeline.frames(seen)
        yield f"<marker><name>{escape(person.label)}</name><comment>castlist</comment>"
        yield f"<in>{first}</in><out>{after}</out></marker>\n"
    yield "</sequence>\n</xmeml>\n"
