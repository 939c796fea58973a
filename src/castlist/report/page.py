"""The report: one HTML page of the whole cast that opens with no server and loads nothing."""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from castlist.cast.appearances import Appearance, appearances
from castlist.cast.cast import Cast, Character
from castlist.io.files import replacing
from castlist.report.parts import picture_uri, style, text_of

#: Faces of a character, and of a background character, of whom there may be hundreds.
FACES, BACKGROUND_FACES = 6, 2

#: Bytes of pictures after which a card gets its first face only, so that the page opens anywhere.
PICTURE_BYTES = 10_000_000

#: Appearances closer than this part of the video are drawn as one: no screen shows them apart.
MERGE = 1 / 300

#: A timeline is this wide in its own units, and an appearance at least this: less than the gap
#: between two (1000 / 300), so that widening does not make them one.
WIDTH, NARROWEST = 1000, 3


@dataclass(frozen=True)
class _Face:
    source: str
    time: float


@dataclass(frozen=True)
class _Card:
    character: Character
    faces: list[_Face]
    appearances: list[Appearance]


def write_report(
    cast: Cast,
    crops: Callable[[int], Sequence[bytes]],
    path: Path,
    about: Mapping[str, object] | None = None,
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
    """
    page = render_report(cast, crops, about)
    with replacing(Path(path)) as partial:
        # A file name that is not UTF-8 reaches us as lone surrogates, which nothing can encode.
        partial.write_bytes(page.encode("utf-8", "replace"))


def render_report(
    cast: Cast,
    crops: Callable[[int], Sequence[bytes]],
    about: Mapping[str, object] | None = None,
) -> str:
    """Return the page that :func:`write_report` writes."""
    # Files say at times that they end before their last frame; the strip must hold every track.
    span = max(_known(cast.duration), float(np.nanmax(cast.spans, initial=0)))
    all_faces = _faces(cast, crops)
    cards = [
        _Card(character, faces, appearances(cast.spans[character.tracks], span * MERGE))
        for character, faces in zip(cast.characters, all_faces, strict=True)
    ]
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(clock=clock, lasting=lasting, percent=percent, sureness=sureness)
    script = text_of(__package__, "report.js")
    page = environment.from_string(text_of(__package__, "report.html.j2")).render(
        video=title_of(cast.tracks.videos),
        span=span,
        n_tracks=len(cast.tracks),
        main=[card for card in cards if not card.character.background],
        background=[card for card in cards if card.character.background],
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


def clock(seconds: float) -> str:
    """Write a moment as m:ss, or h:mm:ss from the first hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def lasting(seconds: float) -> str:
    """Write how long something is, as m:ss."""
    return "<0:01" if 0 < seconds < 0.5 else clock(seconds + 0.5)


def percent(share: float) -> str:
    """Write a share of the video; small ones with a decimal, as most characters are small."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def sureness(sure: float) -> str:
    """Say in a word how sure castlist is of a character."""
    if sure >= 0.66:
        return "sure"
    return "fairly sure" if sure >= 0.33 else "unsure"


def _faces(cast: Cast, crops: Callable[[int], Sequence[bytes]]) -> list[list[_Face]]:
    """Choose each character's faces, the one to show large first.

    Everybody's first face comes before anybody's second, so that a large cast loses faces and
    never a character.
    """
    waiting = [_candidates(cast, one, crops) for one in cast.characters]
    chosen: list[list[_Face]] = [[] for _ in waiting]
    spent = 0
    for turn in range(FACES):
        for faces, candidates in zip(chosen, waiting, strict=True):
            if turn == 0 or spent < PICTURE_BYTES:
                for face in candidates:
                    faces.append(face)
                    spent += len(face.source)
                    break
    return chosen


def _candidates(
    cast: Cast, character: Character, crops: Callable[[int], Sequence[bytes]]
) -> Iterator[_Face]:
    """Give one face from each of several parts of the video, that of the longest track first."""
    wanted = BACKGROUND_FACES if character.background else FACES
    parts = np.array_split(character.tracks, max(1, min(wanted, len(character.tracks))))
    # A long track is a steady one: its best face is more likely a good one.
    counts = cast.tracks.face_counts
    parts = [part[np.argsort(-counts[part], kind="stable")] for part in parts if len(part)]
    if parts:
        lead = max(range(len(parts)), key=lambda i: int(counts[parts[i][0]]))
        parts.insert(0, parts.pop(lead))
    for part in parts:
        for track in part.tolist():
            pictures = crops(track)
            if pictures:
                source = picture_uri(pictures[0])
                yield _Face(source, float(cast.spans[track, 0]))
                break


def _known(seconds: float) -> float:
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
