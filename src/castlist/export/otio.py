"""Write OpenTimelineIO: the video as one clip, with one marker per appearance.

The format is a page of JSON, which needs no library to write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from urllib.parse import quote

from castlist.export.timecode import frame_at, start_frame
from castlist.export.timeline import Person, Timeline

#: OpenTimelineIO's colours without black and white; the leading character is blue.
_COLOURS = ("BLUE", "CYAN", "GREEN", "YELLOW", "ORANGE", "RED", "PINK", "MAGENTA", "PURPLE")


def otio_lines(timeline: Timeline) -> Iterator[str]:
    """Yield the timeline of a video."""
    rate = timeline.rate
    whole = otio_range(0, max(1, frame_at(timeline.duration, rate)), rate)
    colour = timeline.coloured(_COLOURS)
    markers = [
        _marker(timeline.frames(seen), person, colour[person.label], rate)
        for seen, person in timeline.in_order()
    ]
    media = {
        "OTIO_SCHEMA": "ExternalReference.1",
        "target_url": quote(timeline.video, safe=""),  # a file name, never a path or an address
        "available_range": whole,
    }
    clip = {
        "OTIO_SCHEMA": "Clip.2",
        "name": timeline.video,
        "source_range": whole,
        "markers": markers,
        "media_references": {"DEFAULT_MEDIA": media},
        "active_media_reference_key": "DEFAULT_MEDIA",
    }
    track = {"OTIO_SCHEMA": "Track.1", "name": "Video", "kind": "Video", "children": [clip]}
    value = {
        "OTIO_SCHEMA": "Timeline.1",
        "name": timeline.video,
        "global_start_time": otio_time(start_frame(rate, False), rate),
        "tracks": {"OTIO_SCHEMA": "Stack.1", "name": "tracks", "children": [track]},
    }
    yield json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _marker(frames: tuple[int, int], person: Person, colour: str, rate: Fraction) -> dict[str, Any]:
    first, after = frames
    return {
        "OTIO_SCHEMA": "Marker.2",
        "name": person.label,
        "color": colour,
        "marked_range": otio_range(first, after - first, rate),
        "metadata": {
            "castlist": {"character": person.character.number, "confidence": person.confidence}
        },
    }


def otio_range(first: int, count: int, rate: Fraction) -> dict[str, Any]:
    """Return a number of frames from one on as OpenTimelineIO's TimeRange."""
    return {
        "OTIO_SCHEMA": "TimeRange.1",
        "start_time": otio_time(first, rate),
        "duration": otio_time(count, rate),
    }


def otio_time(frames: int, rate: Fraction) -> dict[str, Any]:
    """Return a number of frames as OpenTimelineIO's RationalTime."""
    return {"OTIO_SCHEMA": "RationalTime.1", "value": float(frames), "rate": float(rate)}
