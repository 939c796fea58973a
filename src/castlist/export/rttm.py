"""Write RTTM, the format of diarization tools: who is seen when, instead of who speaks when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import quote, unquote

from castlist.export.timeline import Timeline

_ESCAPED = '%"'  # besides blanks; a quote opens a field in readers that take RTTM for CSV
_MISSING = ("na", "n/a", "nan", "null", "none")  # such readers take these for missing values


def rttm_lines(timeline: Timeline) -> Iterator[str]:
    """Yield one turn per appearance."""
    uri = rttm_word(PurePath(timeline.video).stem or "video")
    for seen, person in timeline.in_order():
        start, end = (round(timeline.played(time), 3) for time in (seen.start, seen.end))
        yield (
            f"SPEAKER {uri} 1 {start:.3f} {max(end - start, 0.001):.3f} <NA> <NA> "
            f"{rttm_word(person.label)} <NA> <NA>\n"
        )


def rttm_word(name: str) -> str:
    """Return a name as one word, with blanks, quotes and % escaped as in URLs: ``Anna%20Lee``."""
    word = "".join(
        quote(letter, safe="") if letter.isspace() or letter in _ESCAPED else letter
        for letter in name
    )
    if word.strip("<>#-").lower() in _MISSING:
        return f"%{ord(word[0]):02X}{word[1:]}"
    return word


def name_of_word(word: str) -> str:
    """Return the name that :func:`rttm_word` wrote."""
    return unquote(word)
