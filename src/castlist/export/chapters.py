"""Chapters: one per stretch with the same people, for FFmpeg, MKVToolNix and browsers.

``ffmpeg -i film.mp4 -i film.ffmeta -map_metadata 1 -codec copy out.mkv`` puts them into a Matroska
or MP4 file, and so does ``mkvmerge -o out.mkv --chapters film.xml film.mp4``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from html import escape

import numpy as np

from castlist.cast.cast import appearances
from castlist.export.timeline import Timeline
from castlist.export.vtt import vtt_clock, vtt_text

#: Seconds. Shorter stretches belong to the chapter before.
SHORTEST = 5.0
NOBODY = "Nobody"


def chapter_list(timeline: Timeline, shortest: float = SHORTEST) -> list[tuple[float, float, str]]:
    """Return chapters as (start, end, title); the title names the people who are seen.

    A chapter begins where the set of people changes. Somebody who is not seen for less than
    ``shortest`` seconds stays in the chapter, as in shot and reverse shot, and a shorter chapter
    becomes part of the one before, or the first of the next. Background characters are left out.
    """
    seen = {
        one.label: appearances(np.array([(a.start, a.end) for a in one.appearances]), shortest)
        for one in timeline.people
        if not one.character.background
    }
    times = {0.0, timeline.duration}
    times |= {time for parts in seen.values() for one in parts for time in (one.start, one.end)}
    chapters: list[tuple[float, float, str]] = []
    for start, end in itertools.pairwise(sorted(t for t in times if 0 <= t <= timeline.duration)):
        middle = (start + end) / 2
        names = [
            label for label, parts in seen.items()
            if any(one.start <= middle < one.end for one in parts)
        ]  # fmt: skip
        title = ", ".join(names) or NOBODY
        if chapters and (title == chapters[-1][2] or end - start < shortest):
            chapters[-1] = (chapters[-1][0], end, chapters[-1][2])
        else:
            chapters.append((start, end, title))
    if len(chapters) > 1 and chapters[0][1] - chapters[0][0] < shortest:
        chapters[:2] = [(chapters[0][0], *chapters[1][1:])]
    return chapters


def chapters_lines(timeline: Timeline) -> Iterator[str]:
    """Write chapters as FFmpeg metadata."""
    yield ";FFMETADATA1\n"
    yield f"title={_escaped(timeline.video)}\n"
    for start, end, title in _in_milliseconds(timeline):
        yield f"\n[CHAPTER]\nTIMEBASE=1/1000\nSTART={start}\nEND={end}\ntitle={_escaped(title)}\n"


def matroska_lines(timeline: Timeline) -> Iterator[str]:
    """Write chapters as Matroska's XML."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<Chapters>\n<EditionEntry>\n'
    for start, end, title in _in_milliseconds(timeline):
        yield f"<ChapterAtom><ChapterTimeStart>{vtt_clock(start)}</ChapterTimeStart>"
        yield f"<ChapterTimeEnd>{vtt_clock(end)}</ChapterTimeEnd>\n"
        yield f"<ChapterDisplay><ChapterString>{escape(title, quote=False)}</ChapterString>"
        yield "<ChapterLanguage>und</ChapterLanguage></ChapterDisplay></ChapterAtom>\n"
    yield "</EditionEntry>\n</Chapters>\n"


def chapter_cues(timeline: Timeline) -> Iterator[str]:
    """Write chapters as WebVTT, for ``<track kind="chapters">``."""
    yield "WEBVTT\n"
    for start, end, title in _in_milliseconds(timeline):
        yield f"\n{vtt_clock(start)} --> {vtt_clock(end)}\n{vtt_text(title)}\n"


def _in_milliseconds(timeline: Timeline) -> Iterator[tuple[int, int, str]]:
    for begin, end, title in chapter_list(timeline):
        # The first one begins with the file, which may begin with sound alone.
        start = round(1000 * timeline.played(begin)) if begin else 0
        yield start, max(start + 1, round(1000 * timeline.played(end))), title


def _escaped(text: str) -> str:
    return re.sub(r"([=;#\\\n])", r"\\\1", text)
