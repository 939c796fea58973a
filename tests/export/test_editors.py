"""FCPXML and Premiere's XML, read back by OpenTimelineIO's adapters; chapters, read by FFmpeg."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET
from html import unescape

import av
import pytest
import webvtt

from castlist.export.chapters import (
    NOBODY,
    chapter_cues,
    chapter_list,
    chapters_lines,
    matroska_lines,
)
from castlist.export.fcpxml import fcpxml_lines
from castlist.export.premiere import premiere_lines
from castlist.export.timecode import exact_rate
from tests.export.casts import AWKWARD, made_timeline, nobody

opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14

RATES = [24000 / 1001, 25, 29.97, 60]


@pytest.mark.parametrize("rate", RATES)
def test_final_cut_has_a_keyword_range_per_appearance(tmp_path, rate):
    one = made_timeline(tmp_path / "film.cast", rate)
    text = "".join(fcpxml_lines(one))
    root = ET.fromstring(text)
    frame = 1 / exact_rate(rate)
    found = []
    for keyword in root.findall("library/event/asset-clip/keyword"):
        span = [_seconds(keyword.get(name)) for name in ("start", "duration")]
        assert all((value / frame).denominator == 1 for value in span)  # whole frames
        found.append((keyword.get("value"), float(span[0]), float(sum(span))))
    half = float(frame) / 2 + 1e-9
    for (label, start, end), (seen, person) in zip(found, one.in_order(), strict=True):
        assert label == person.label.replace(",", ";")
        assert (start, end) == pytest.approx((seen.start, seen.end), abs=half)
    read = opentimelineio.adapters.read_from_string(text, "fcpx_xml")
    (timeline,) = read
    (clip,) = timeline.find_clips()
    assert clip.name == one.video
    assert clip.duration().to_seconds() == pytest.approx(one.duration, abs=2 * half)


def _seconds(text):
    from fractions import Fraction

    return Fraction(text.removesuffix("s"))


@pytest.mark.parametrize("rate", RATES)
def test_premiere_has_a_marker_per_appearance(tmp_path, rate):
    one = made_timeline(tmp_path / "film.cast", rate)
    read = opentimelineio.adapters.read_from_string("".join(premiere_lines(one)), "fcp_xml")
    (timeline,) = [read] if isinstance(read, opentimelineio.schema.Timeline) else list(read)
    (clip,) = timeline.find_clips()
    assert clip.name == one.video
    markers = timeline.tracks.markers
    for marker, (seen, person) in zip(markers, one.in_order(), strict=True):
        first, after = one.frames(seen)
        assert marker.name == person.label
        assert marker.marked_range.start_time.value == first
        assert marker.marked_range.duration.value == after - first
    assert AWKWARD in {marker.name for marker in markers}


def test_chapters_change_with_the_people(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    chapters = chapter_list(one, shortest=0)
    assert chapters[0][0] == 0
    assert chapters[-1][1] == one.duration
    for (_, end, title), (start, _, other) in itertools.pairwise(chapters):
        assert end == start
        assert title != other
    for start, end, title in chapters:
        middle = (start + end) / 2
        seen = [p.label for a, p in one.in_order() if a.start <= middle < a.end]
        assert set(seen) == (set() if title == NOBODY else {p for p in seen if p in title})
        assert bool(seen) == (title != NOBODY)
    assert all(end - start >= 5 for start, end, _ in chapter_list(one))


def test_ffmpeg_puts_chapters_into_a_file(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    path = tmp_path / "film.ffmeta"
    path.write_text("".join(chapters_lines(one)), "utf-8")
    with av.open(str(path), format="ffmetadata") as read:
        found = [
            (float(c["start"] * c["time_base"]), float(c["end"] * c["time_base"]), c["metadata"])
            for c in read.chapters()
        ]
    expected = chapter_list(one)
    assert len(found) == len(expected)
    for (start, end, about), (first, last, title) in zip(found, expected, strict=True):
        assert (start, end) == pytest.approx((first, last), abs=2e-3)
        assert about["title"] == title


def test_chapters_for_matroska_and_browsers(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    expected = [(clock(start), clock(end), title) for start, end, title in chapter_list(one)]
    atoms = ET.fromstring("".join(matroska_lines(one))).findall("EditionEntry/ChapterAtom")
    names = ("ChapterTimeStart", "ChapterTimeEnd", "ChapterDisplay/ChapterString")
    assert [tuple(atom.findtext(name) for name in names) for atom in atoms] == expected
    cues = webvtt.from_buffer(io.StringIO("".join(chapter_cues(one))))
    assert [(cue.start, cue.end, unescape(cue.raw_text)) for cue in cues] == expected


def clock(seconds):
    whole, rest = divmod(round(1000 * seconds), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{rest:03}"


@pytest.mark.parametrize("lines", [fcpxml_lines, premiere_lines, chapters_lines])
def test_a_video_of_nobody(tmp_path, lines):
    text = "".join(lines(nobody(tmp_path / "film.cast")))
    if lines is not chapters_lines:
        ET.fromstring(text)
