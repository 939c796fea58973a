"""RTTM: who is seen when, as tools for diarization read who speaks when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import quote, unquote

from castlist.export.timeline import Timeline

_NOT_A_WORD = '%"'  # besides blanks; a quote opens a field in readers that take RTTM for CSV
_NOBODY = ("na", "n/a", "nan", "null", "none")  # what such readers take for nothing at all


def rttm_lines(timeline: Timeline) -> Iterator[str]:
    """Write a turn for every appearance."""
    uri = rttm_word(PurePath(timeline.video).stem or "video")
    for seen, person in timeline.in_order():
        start, end = round(seen.start, 3), round(seen.end, 3)
        yield (
            f"SPEAKER {uri} 1 {start:.3f} {max(end - start, 0.001):.3f} <NA> <NA> "
            f"{rttm_word(person.label)} <NA> <NA>\n"
        )


def rttm_word(name: str) -> str:
    """Write a name as one word: blanks, quotes and % as in addresses, ``Anna%20Lee``."""
    word = "".join(
        quote(letter, safe="") if letter.isspace() or letter in _NOT_A_WORD else letter
        for letter in name
    )
    if word.strip("<>#-").lower() in _NOBODY:
        return f"%{ord(word[0]):02X}{word[1:]}"
    return word


def name_of_word(word: str) -> str:
    """Return the name that :func:`rttm_word` wrote."""
    return unquote(word)
