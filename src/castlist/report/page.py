"""The report: one HTML page of the whole cast that opens with no server and loads nothing."""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from castlist.cast.cast import Appearance, Cast, Character, appearances
from castlist.cast.covers import shown_tracks
from castlist.format import clock, lasting, percent, sureness
from castlist.io.files import replacing
from castlist.io.pictures import Cover
from castlist.report.html import picture_uri, style, text_of

#: Faces of a character, and of a background character, of whom there may be hundreds.
FACES, BACKGROUND_FACES = 6, 2

#: Bytes of pictures after which a card gets its first face only, so that the page opens anywhere.
PICTURE_BYTES = 10_000_000

#: Appearances closer than this part of the video are drawn as one: no screen shows them apart.
MERGE = 1 / 300

#: A timeline is this wide in its own units, and an appearance at least this: less than the gap
#: between two (1000 / 300), so that widening does not make them one.
WIDTH, NARROWEST = 1000, 3


#: The character's tracks and how many to show → the tracks to show, as `shown_tracks` does.
Shown = Callable[[NDArray[np.int64], int], list[list[int]]]

#: A track → the frame of its best picture as JPEG bytes, and what is known of that; None if none.
Frames = Callable[[int], tuple[bytes, Cover] | None]


@dataclass(frozen=True)
class _Face:
    track: int
    source: str
    time: float


@dataclass(frozen=True)
class _Frame:
    source: str
    cover: Cover


@dataclass
class _Card:
    character: Character
    appearances: list[Appearance]
    faces: list[_Face] = field(default_factory=list)
    frame: _Frame | None = None


def write_report(
    cast: Cast,
    crops: Callable[[int], Sequence[bytes]],
    path: Path,
    about: Mapping[str, object] | None = None,
    *,
    shown: Shown | None = None,
    frames: Frames | None = None,
) -> None:
    """Write the cast as one self-contained HTML page.

    Parameters
    ----------
    cast : Cast
        Who is in the video.
    crops : callable
        Track (its row in ``cast.tracks``) → pictures of its face as JPEG bytes, best first; may be
        empty. Called only for the tracks that are shown.
    path : path
        Where the page goes; it replaces what is there once it is whole.
    about : mapping, optional
        Settings, versions, timings: what a reader may want to know later of how this was made.
    shown : callable, optional
        A character's tracks and how many to show → the tracks to show, the cover first, each with
        those to take instead where it has no picture. Those of long tracks if not given.
    frames : callable, optional
        Track → the whole frame of its best picture as JPEG bytes, and a ``Cover``, or None. Shown
        beside a character's cover when somebody points at it.
    """
    page = render_report(cast, crops, about, shown=shown, frames=frames)
    with replacing(Path(path)) as partial:
        # A file name that is not UTF-8 reaches us as lone surrogates, which nothing can encode.
        partial.write_bytes(page.encode("utf-8", "replace"))


def render_report(
    cast: Cast,
    crops: Callable[[int], Sequence[bytes]],
    about: Mapping[str, object] | None = None,
    *,
    shown: Shown | None = None,
    frames: Frames | None = None,
) -> str:
    """Return the page that :func:`write_report` writes."""
    # Files say at times that they end before their last frame; the strip must hold every track.
    span = max(_known(cast.duration), float(np.nanmax(cast.spans, initial=0)))
    cards = [
        _Card(character, appearances(cast.spans[character.tracks], span * MERGE))
        for character in cast.characters
    ]
    _fill(cast, cards, crops, shown or _longest(cast), frames or (lambda track: None))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        boxed=boxed, clock=clock, lasting=lasting, percent=percent, sureness=sureness
    )
    script = text_of(__package__, "report.js") + text_of(__package__, "frame.js")
    page = environment.from_string(text_of(__package__, "report.html.j2")).render(
        video=title_of(cast.tracks.videos),
        span=span,
        n_tracks=len(cast.tracks),
        main=[card for card in cards if not (card.character.background or card.character.small)],
        background=[
            card for card in cards if card.character.background and not card.character.small
        ],
        small=[card for card in cards if card.character.small],
        place=lambda one: place(one, span),
        about=about or {},
        style=style(__package__, "report.css"),
        script=Markup(script),
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page.strip().replace("\0", "\ufffd") + "\n"  # which HTML cannot hold in any way


def title_of(videos: Sequence[str]) -> str:
    """Name a cast by its video, or by how many it has."""
    if len(videos) > 1:
        return f"{videos[0]} and {len(videos) - 1} more"
    return next(iter(videos), "") or "Unnamed video"


def place(one: Appearance, span: float) -> tuple[float, float]:
    """Return where an appearance begins on the timeline and how wide it is."""
    scale = WIDTH / span if span > 0 else 0.0
    width = max((one.end - one.start) * scale, NARROWEST)
    return round(min(one.start * scale, WIDTH - width), 2), round(width, 2)


def boxed(cover: Cover) -> str:
    """Write where the face is in its frame, in per cent: left, top, width, height."""
    return " ".join(f"{100 * part:.1f}" for part in cover.box)


def _fill(
    cast: Cast, cards: Sequence[_Card], crops: Callable[[int], Sequence[bytes]], shown: Shown,
    frames: Frames,
) -> None:  # fmt: skip
    """Give each card its faces, the cover first, and the frame of its cover.

    Everybody's cover comes before anybody's second face, so that a large cast loses faces and
    never a character. Frames of the background come last: there may be hundreds.
    """
    spent = 0
    waiting = [_candidates(cast, card.character, crops, shown) for card in cards]

    def add_faces() -> None:
        nonlocal spent
        for card, candidates in zip(cards, waiting, strict=True):
            if not card.faces or spent < PICTURE_BYTES:
                for face in candidates:
                    card.faces.append(face)
                    spent += len(face.source)
                    break

    def add_frames(background: bool) -> None:
        nonlocal spent
        for card in cards:
            if card.character.background == background and card.faces and spent < PICTURE_BYTES:
                found = frames(card.faces[0].track)
                if found is not None:
                    card.frame = _Frame(picture_uri(found[0]), found[1])
                    spent += len(card.frame.source)

    add_faces()
    add_frames(background=False)
    for _ in range(1, FACES):
        add_faces()
    add_frames(background=True)


def _candidates(
    cast: Cast, character: Character, crops: Callable[[int], Sequence[bytes]], shown: Shown
) -> Iterator[_Face]:
    """Give the faces of a character, the cover first."""
    wanted = BACKGROUND_FACES if character.background else FACES
    for tracks in shown(character.tracks, wanted):
        for track in tracks:
            pictures = crops(track)
            if pictures:
                yield _Face(track, picture_uri(pictures[0]), float(cast.spans[track, 0]))
                break


def _longest(cast: Cast) -> Shown:
    """Show tracks of which nothing but their length is known."""
    worth = cast.tracks.face_counts.astype(np.float64)
    return lambda rows, most: shown_tracks(rows, most, worth)


def _known(seconds: float) -> float:
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
