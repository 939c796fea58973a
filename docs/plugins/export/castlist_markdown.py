"""A table of the characters in Markdown: ``castlist export film.cast --to markdown``."""

import html
import re

from castlist.export.write import Format


def lines(timelines, settings):
    """Yield one row per character and video."""
    yield "| video | character | seconds | appearances |\n|---|---|---|---|\n"
    for video in timelines:
        for person in video.people:
            seconds = sum(one.end - one.start for one in person.appearances)
            cells = (video.video, person.label, f"{seconds:.1f}", str(len(person.appearances)))
            yield f"| {' | '.join(map(escaped, cells))} |\n"


def escaped(text):
    """Return a text without markup: a name may come from a stranger."""
    return re.sub(r"([\\`*_\[\]|!])", r"\\\1", html.escape(text, quote=False))


MARKDOWN = Format(".md", of_all=lines)
