"""The report: one HTML page of the whole cast that needs no server and loads nothing."""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from castlist.cast.cast import Appearance, Cast, Character, appearances
from castlist.cast.covers import shown_tracks
from castlist.cast.current import CurrentCast
from castlist.cast.folder import CAST, REPORT
from castlist.errors import CastlistError
from castlist.format import clock, lasting, percent, sureness
from castlist.io.files import printable, replacing
from castlist.io.pictures import Cover, jpeg_of
from castlist.report.html import picture_uri, style, text_of

#: Number of faces per character, and per background character, of which there may be hundreds.
FACES, BACKGROUND_FACES = 6, 2

#: Size of all pictures above which a card gets only its first face, so that the page stays light.
PICTURE_BYTES = 10_000_000

#: Appearances closer than this share of the video are drawn as one: no screen shows them apart.
MERGE = 1 / 300

#: Width of a timeline in its own units, and minimum width of an appearance: less than the smallest
#: gap (1000 / 300), so that widened appearances do not touch.
WIDTH, NARROWEST = 1000, 3


#: (a character's tracks, number to show) → the tracks to show, as `shown_tracks` returns them.
Shown = Callable[[NDArray[np.int64], int], list[list[int]]]

#: Track → the frame of its best picture as JPEG bytes with its `Cover`, or None.
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
    """Write a cast as one self-contained HTML page.

    Parameters
    ----------
    cast : Cast
        The cast.
    crops : callable
        Track (its row in ``cast.tracks``) → pictures of its face as JPEG bytes, best first; may be
        empty. Called only for the tracks that are shown.
    path : path
        File to write. An existing file is replaced once the new one is complete.
    about : mapping, optional
        Settings, versions and timings, shown at the end of the page.
    shown : callable, optional
        (a character's tracks, number to show) → the tracks to show, the cover first, each with
        alternatives in case it has no picture. Long tracks if not given.
    frames : callable, optional
        Track → the whole frame of its best picture as JPEG bytes, and a ``Cover``, or None. Shown
        beside the cover of a character under the pointer.
    """
    page = render_report(cast, crops, about, shown=shown, frames=frames)
    with replacing(Path(path)) as partial:
        # A file name that is not UTF-8 has lone surrogates, which cannot be encoded.
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
    # Some files report a duration that ends before their last frame.
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
        video=title_of(cast.tracks.videos, cast.folder),
        span=span,
        n_tracks=len(cast.tracks),
        **{
            group: [card for card in cards if card.character.group == group]
            for group in ("main", "background", "small")
        },
        place=lambda one: place(one, span),
        about=about or {},
        style=style(__package__, "report.css"),
        script=Markup(script),
        script_hash=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page.strip().replace("\0", "\ufffd") + "\n"  # HTML cannot contain NUL


def report_folder(corrections: CurrentCast) -> Path:
    """Write the report of a cast, with its corrections, into its folder and return its path."""
    folder = corrections.folder

    def crops(track: int) -> list[bytes]:
        paths = corrections.pictures_of(str(corrections.tracks.ids[track]))
        return [data for path in paths if (data := jpeg_of(path)) is not None]

    def frames(track: int) -> tuple[bytes, Cover] | None:
        name = str(corrections.tracks.ids[track])
        path, cover = corrections.frame_of(name), corrections.covers.get(name)
        data = None if path is None or cover is None else jpeg_of(path)
        return None if data is None or cover is None else (data, cover)

    run = corrections.scanned.run
    about: dict[str, object] = {
        name: run[name] for name in ("castlist", "settings", "counts") if name in run
    }
    write_report(
        corrections.cast, crops, folder / REPORT, about, shown=corrections.shown, frames=frames
    )
    if not (folder / CAST).is_file():  # a report alone would keep other commands out of the folder
        (folder / REPORT).unlink(missing_ok=True)
        with suppress(OSError):  # something else may lie there
            folder.rmdir()
        raise CastlistError(f"{folder} was removed while its report was written")
    return folder / REPORT


def title_of(videos: Sequence[str], folder: Path | None = None) -> str:
    """Return the title of a cast: the name of its video; of several videos, that of its folder."""
    if len(videos) > 1 and folder is not None:
        return f"{printable(folder.resolve().name.removesuffix('.cast'))}, {len(videos)} videos"
    if len(videos) > 1:
        return f"{videos[0]} and {len(videos) - 1} more"
    return next(iter(videos), "") or "Unnamed video"


def place(one: Appearance, span: float) -> tuple[float, float]:
    """Return the start and the width of an appearance on the timeline."""
    scale = WIDTH / span if span > 0 else 0.0
    width = max((one.end - one.start) * scale, NARROWEST)
    return round(min(one.start * scale, WIDTH - width), 2), round(width, 2)


def boxed(cover: Cover) -> str:
    """Return the box of a face in per cent of its frame: left, top, width, height."""
    return " ".join(f"{100 * part:.1f}" for part in cover.box)


def _fill(
    cast: Cast, cards: Sequence[_Card], crops: Callable[[int], Sequence[bytes]], shown: Shown,
    frames: Frames,
) -> None:  # fmt: skip
    """Add faces to each card, the cover first, and the frame of its cover.

    All covers come before any second face, so that a large cast loses faces but never a character.
    Frames of background characters come last: there may be hundreds.
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
    """Yield the faces of a character, the cover first."""
    wanted = BACKGROUND_FACES if character.background else FACES
    for tracks in shown(character.tracks, wanted):
        for track in tracks:
            pictures = crops(track)
            if pictures:
                yield _Face(track, picture_uri(pictures[0]), float(cast.spans[track, 0]))
                break


def _longest(cast: Cast) -> Shown:
    """Return a choice of tracks by their number of faces."""
    worth = cast.tracks.face_counts.astype(np.float64)
    return lambda rows, most: shown_tracks(rows, most, worth)


def _known(seconds: float) -> float:
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
