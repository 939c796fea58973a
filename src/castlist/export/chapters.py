"""Chapters: one per stretch with the same people, in FFmpeg's metadata format.

``ffmpeg -i film.mp4 -i film.ffmeta -map_metadata 1 -codec copy out.mkv`` puts them into a Matroska
or MP4 file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np

from castlist.cast.cast import appearances
from castlist.export.timeline import Timeline

#: Seconds. Shorter stretches belong to the chapter before.
SHORTEST = 5.0
NOBODY = "Nobody"


def chapter_list(timeline: Timeline, shortest: float = SHORTEST) -> list[tuple[float, float, str]]:
    """Return chapters as (start, end, title); the title names the people who are seen.

    A chapter begins where the set of people changes. Somebody who is not seen for less than
    ``shortest`` seconds stays in the chapter, as in shot and reverse shot, and a shorter chapter
    becomes part of the one before. Background characters are left out.
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
    return chapters


def chapters_lines(timeline: Timeline) -> Iterator[str]:
    """Write chapters as FFmpeg metadata."""
    yield ";FFMETADATA1\n"
    yield f"title={_escaped(timeline.video)}\n"
    for start, end, title in chapter_list(timeline):
        yield f"\n[CHAPTER]\nTIMEBASE=1/1000\nSTART={round(1000 * start)}\n"
        yield f"END={max(round(1000 * start) + 1, round(1000 * end))}\ntitle={_escaped(title)}\n"


def _escaped(text: str) -> str:
    return re.sub(r"([=;#\\\n])", r"\\\1", text)
