"""Scenes as clips on the timeline of an editor: OpenTimelineIO, EDL, FCPXML, Premiere's XML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from castlist.errors import InputError
from castlist.export.fcpxml import rational_time
from castlist.export.otio import otio_range, otio_time
from castlist.export.timecode import can_drop, frame_at, start_frame, timecode
from castlist.export.timeline import Timeline
from castlist.handover.scenes import Scene


@dataclass(frozen=True)
class Cut:
    """A part of a video in frames: first, and the one after the last; length of the video."""

    video: str
    first: int
    after: int
    whole: int
    note: str

    @property
    def length(self) -> int:
        """Number of frames."""
        return self.after - self.first


def cuts_of(timelines: Sequence[Timeline], scenes: Sequence[Scene]) -> tuple[list[Cut], Fraction]:
    """Return scenes in frames, and the frame rate that their videos share."""
    by_name = {one.video: one for one in timelines}
    rates = {by_name[scene.video].rate for scene in scenes}
    if not scenes:
        raise InputError("there is no scene to write")
    if len(rates) > 1:
        found = ", ".join(f"{float(rate):.3f}" for rate in sorted(rates))
        raise InputError(f"videos of different frame rates ({found}) do not fit one timeline")
    (rate,) = rates
    cuts = []
    for scene in scenes:
        whole = max(1, frame_at(by_name[scene.video].duration, rate))
        first = min(frame_at(scene.start, rate), whole - 1)
        after = min(whole, max(first + 1, frame_at(scene.end, rate)))
        cuts.append(Cut(scene.video, first, after, whole, ", ".join(scene.people)))
    return cuts, rate


def otio_cuts(cuts: Sequence[Cut], rate: Fraction, title: str) -> Iterator[str]:
    """Write clips as an OpenTimelineIO timeline."""
    clips: list[dict[str, Any]] = [
        {
            "OTIO_SCHEMA": "Clip.2",
            "name": f"{cut.video}, {cut.note}",
            "source_range": otio_range(cut.first, cut.length, rate),
            "media_references": {
                "DEFAULT_MEDIA": {
                    "OTIO_SCHEMA": "ExternalReference.1",
                    "target_url": quote(cut.video, safe=""),
                    "available_range": otio_range(0, cut.whole, rate),
                }
            },
            "active_media_reference_key": "DEFAULT_MEDIA",
        }
        for cut in cuts
    ]
    track = {"OTIO_SCHEMA": "Track.1", "name": "Video", "kind": "Video", "children": clips}
    timeline = {
        "OTIO_SCHEMA": "Timeline.1",
        "name": title,
        "global_start_time": otio_time(start_frame(rate, False), rate),
        "tracks": {"OTIO_SCHEMA": "Stack.1", "name": "tracks", "children": [track]},
    }
    yield json.dumps(timeline, indent=1, ensure_ascii=False) + "\n"


def edl_cuts(cuts: Sequence[Cut], rate: Fraction, title: str) -> Iterator[str]:
    """Write clips as a CMX 3600 edit decision list."""
    drop = can_drop(rate)
    yield f"TITLE: {title}\nFCM: {'DROP FRAME' if drop else 'NON-DROP FRAME'}\n\n"
    at = start_frame(rate, drop)
    for number, cut in enumerate(cuts, 1):
        times = (cut.first, cut.after, at, at + cut.length)
        codes = " ".join(timecode(one, rate, drop) for one in times)
        yield f"{number:03}  AX       V     C        {codes}\n"
        yield f"* FROM CLIP NAME: {cut.video}\n* COMMENT: {cut.note}\n\n"
        at += cut.length


def fcpxml_cuts(cuts: Sequence[Cut], rate: Fraction, title: str) -> Iterator[str]:
    """Write clips as a project of Final Cut Pro."""
    videos = {cut.video: cut.whole for cut in cuts}
    ids = {video: f"r{k}" for k, video in enumerate(videos, 2)}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE fcpxml>\n<fcpxml version="1.10">\n'
    yield f' <resources>\n  <format id="r1" frameDuration="{rational_time(1, rate)}"/>\n'
    for video, whole in videos.items():
        name, source = quoteattr(video), quoteattr(f"file:./{quote(video, safe='')}")
        yield f'  <asset id="{ids[video]}" name={name} start="0s" hasVideo="1" hasAudio="1" '
        yield f'format="r1" duration="{rational_time(whole, rate)}">\n'
        yield f'   <media-rep kind="original-media" src={source}/>\n  </asset>\n'
    total = rational_time(sum(cut.length for cut in cuts), rate)
    yield ' </resources>\n <library>\n  <event name="castlist">\n'
    yield f"   <project name={quoteattr(title)}>\n"
    yield f'    <sequence format="r1" duration="{total}" tcStart="0s" tcFormat="NDF">\n'
    yield "     <spine>\n"
    at = 0
    for cut in cuts:
        times = {"offset": at, "start": cut.first, "duration": cut.length}
        span = " ".join(f'{name}="{rational_time(t, rate)}"' for name, t in times.items())
        yield f'      <asset-clip name={quoteattr(cut.video)} ref="{ids[cut.video]}" {span}>\n'
        yield f"       <note>{escape(cut.note)}</note>\n      </asset-clip>\n"
        at += cut.length
    yield "     </spine>\n    </sequence>\n   </project>\n  </event>\n </library>\n</fcpxml>\n"


def premiere_cuts(cuts: Sequence[Cut], rate: Fraction, title: str) -> Iterator[str]:
    """Write clips as a sequence in Final Cut Pro 7 XML, which Premiere reads."""
    nominal, ntsc = max(1, round(rate)), str(rate.denominator == 1001).upper()
    clock = f"<rate><timebase>{nominal}</timebase><ntsc>{ntsc}</ntsc></rate>"
    total = sum(cut.length for cut in cuts)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE xmeml>\n<xmeml version="4">\n'
    yield f'<sequence id="castlist">\n<name>{escape(title)}</name>\n<duration>{total}</duration>'
    yield f"{clock}\n<media><video><track>\n"
    seen: dict[str, str] = {}
    at = 0
    for number, cut in enumerate(cuts, 1):
        name = escape(cut.video)
        span = f"<start>{at}</start><end>{at + cut.length}</end>"
        span += f"<in>{cut.first}</in><out>{cut.after}</out>"
        yield f'<clipitem id="clip{number}"><name>{name}</name><duration>{cut.whole}</duration>'
        yield f"{clock}{span}"
        if cut.video in seen:
            yield f'<file id="{seen[cut.video]}"/>'
        else:
            seen[cut.video] = f"file{len(seen) + 1}"
            yield f'<file id="{seen[cut.video]}"><name>{name}</name>'
            yield f"<pathurl>{quote(cut.video, safe='')}</pathurl>{clock}"
            yield f"<duration>{cut.whole}</duration><media><video/></media></file>"
        yield f"<comments><mastercomment1>{escape(cut.note)}</mastercomment1></comments>"
        yield "</clipitem>\n"
        at += cut.length
    yield "</track></video></media>\n</sequence>\n</xmeml>\n"


#: Formats by name: the suffix of a file, and its writer.
EDIT_LISTS: dict[str, tuple[str, Callable[[Sequence[Cut], Fraction, str], Iterator[str]]]] = {
    "otio": (".otio", otio_cuts),
    "edl": (".edl", edl_cuts),
    "fcpxml": (".fcpxml", fcpxml_cuts),
    "premiere": (".xml", premiere_cuts),
}
