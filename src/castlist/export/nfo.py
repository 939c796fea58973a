"""NFO, the sidecar of Kodi and Jellyfin: the people of a film or of an episode."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import PurePath
from xml.sax.saxutils import escape

from castlist.export.timeline import Timeline

#: In every file, so that files of other tools are not overwritten.
MADE_BY = "<!-- made by castlist -->"
_EPISODE = re.compile(r"(?<![A-Za-z0-9])[Ss](\d{1,3})[ ._-]?[Ee](\d{1,4})(?![0-9])")
_ROLE = " as "


class Kind(StrEnum):
    """What the video is."""

    MOVIE = "movie"
    EPISODE = "episode"


def nfo_lines(timeline: Timeline, kind: Kind | None = None) -> Iterator[str]:
    """Yield the named people of a video as actors, in the order of the cast.

    Parameters
    ----------
    timeline : Timeline
        The people of a video.
    kind : Kind, optional
        By default an episode if the name of the video has its number, as ``S01E02``.
    """
    stem = PurePath(timeline.video).stem
    number = _EPISODE.search(stem)
    named = [one for one in timeline.people if one.character.name]
    episode = kind is Kind.EPISODE or (kind is None and number is not None)
    root = "episodedetails" if episode else "movie"
    yield f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{MADE_BY}\n<{root}>\n'
    yield f"  <title>{escape(stem)}</title>\n"
    if episode and number is not None:
        season, place = (int(part) for part in number.groups())
        yield f"  <season>{season}</season>\n  <episode>{place}</episode>\n"
    yield f"  <runtime>{max(1, round(timeline.duration / 60))}</runtime>\n"
    for order, person in enumerate(named):
        name, _, role = person.label.partition(_ROLE)
        yield f"  <actor>\n    <name>{escape(name)}</name>\n"
        if role:
            yield f"    <role>{escape(role)}</role>\n"
        yield f"    <order>{order}</order>\n  </actor>\n"
    yield "  <fileinfo><streamdetails><video>"
    if timeline.size is not None:
        yield f"<width>{timeline.size[0]}</width><height>{timeline.size[1]}</height>"
    yield f"<durationinseconds>{round(timeline.duration)}</durationinseconds>"
    yield f"</video></streamdetails></fileinfo>\n</{root}>\n"
