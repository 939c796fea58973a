"""Chapters: one per stretch with the same people, in FFmpeg's metadata format.

``ffmpeg -i film.mp4 -i film.ffmeta -map_metadata 1 -codec copy out.mkv`` puts them into a Matroska
or MP4 file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from castlist.export.timeline import Timeline

#: Seconds. Shorter stretches belong to the chapter before.
SHORTEST = 5.0
NOBODY = "Nobody"


def chapter_list(timeline: Timeline, shortest: float = SHORTEST) -> list[tuple[float, float, str]]:
    """Return chapters as (start, end, title); the title names the people who are seen.

    A chapter begins where the set of named or leading people changes. Background characters do not
    begin one.
    """
    people = [one for one in timeline.people if not one.character.background]
    times = sorted({0.0, timeline.duration} | {
        time for one in people for seen in one.appearances for time in (seen.start, seen.end)
        if 0 < time < timeline.duration
    })  # fmt: skip
    chapters: list[tuple[float, float, str]] = []
    for start, end in itertools.pairwise(times):
        middle = (start + end) / 2
        names = [
            one.label for one in people
            if any(seen.start <= middle < seen.end for seen in one.appearances)
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
