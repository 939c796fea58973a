"""A cast as HTML cards, for notebooks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path

from castlist.cast.cast import Cast, Character
from castlist.cast.folder import faces_of
from castlist.errors import counted
from castlist.format import lasting
from castlist.io.pictures import Cover, pictures_of, read_covers

Covers = Callable[[Path], dict[str, Cover]]
#: Cards per cast: each embeds a picture, and a notebook keeps them all.
MOST_CARDS = 24
_CARD = (
    '<div style="display:inline-block;vertical-align:top;width:112px;margin:4px;'
    'font:12px sans-serif;text-align:center">{picture}<div><b>{title}</b></div>'
    "<div>{seconds} · {tracks}</div></div>"
)
_PICTURE = (
    '<img src="data:image/jpeg;base64,{data}" alt="{title}" '
    'style="width:112px;height:112px;object-fit:cover">'
)
_NO_PICTURE = '<div style="width:112px;height:112px;background:#ddd"></div>'


def cast_html(cast: Cast) -> str:
    """Return one card per character: its cover face, name, screen time and number of tracks.

    Faces are embedded if the cast has a folder with pictures.
    """
    covers = cache(read_covers)  # one file per video
    cards = [
        _CARD.format(
            picture=_picture(cast, one, covers), title=escape(one.title),
            seconds=escape(lasting(one.seconds)), tracks=counted(len(one.tracks), "track"),
        )
        for one in cast.characters[:MOST_CARDS]
    ]  # fmt: skip
    more = len(cast.characters) - len(cards)
    rest = f"<div>and {counted(more, 'more character')}</div>" if more else ""
    summary = f"{counted(len(cast.characters), 'character')} in {lasting(cast.duration)}"
    return f"<div><div>{escape(summary)}</div>{''.join(cards)}{rest}</div>"


def _picture(cast: Cast, one: Character, covers: Covers) -> str:
    """Return the best picture of a character as an element, or an empty frame."""
    path = (
        _cover(cast.folder, cast.tracks.ids[one.tracks].tolist(), covers) if cast.folder else None
    )
    try:
        data = b64encode(path.read_bytes()).decode() if path else ""
    except OSError:  # removed meanwhile
        data = ""
    return _PICTURE.format(data=data, title=escape(one.title)) if data else _NO_PICTURE


def _cover(folder: Path, tracks: list[str], covers: Covers) -> Path | None:
    """Return the best picture of some tracks; None if there is none."""
    best, found = -1.0, None
    for track in tracks:
        faces, name = faces_of(folder, track)
        cover = covers(faces).get(name)
        quality = cover.quality if cover else 0.0
        if quality > best and (paths := pictures_of(faces, name)):
            best, found = quality, paths[0]
    return found
