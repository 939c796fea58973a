"""The JSON that the page shows: the cast, one character, questions and history."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast import Character, appearances
from castlist.cast.corrections import Corrections
from castlist.cast.events import Edit, Event
from castlist.cast.history import describe_event, moves, title_now
from castlist.cast.links import overlap_summary
from castlist.cast.questions import Question, Strip, mixed_tracks, questions
from castlist.cast.recluster import Proposal
from castlist.cast.state import Change
from castlist.format import given_up_line
from castlist.report.page import MERGE, title_of

#: Pairs of lists of track ids that were skipped, and are not asked about again.
Skipped = list[tuple[list[str], list[str]]]
#: Number of faces per character in the cast, and of tracks shown per move.
_FACES, _MOVED = 5, 24


def cast_view(corrections: Corrections) -> dict[str, Any]:
    """Return all characters, by screen time."""
    cast, state = corrections.cast, corrections.state
    return {
        "last": corrections.version,
        "video": title_of(corrections.tracks.videos, corrections.folder),
        "duration": cast.duration,
        "tracks": len(corrections.tracks),
        "not_faces": np.flatnonzero(state.not_face).size,
        "lost": len(corrections.lost),
        "undo": describe_event(corrections, corrections.undoable) if corrections.undoable else None,
        "redo": describe_event(corrections, corrections.undone[0]) if corrections.undone else None,
        "characters": [card(corrections, one) for one in cast.characters],
    }


def character_view(corrections: Corrections, number: int) -> dict[str, Any]:
    """Return one character and all of its tracks, the least certain first."""
    one = corrections.character(number)
    sure = np.array(one.track_sure)
    mixed = mixed_tracks(corrections.state)
    order = np.argsort(sure, kind="stable")
    return {
        "last": corrections.version,
        **card(corrections, one),
        "all": [
            {**_track(corrections, row), "sure": round(p, 3),
             "pinned": bool(corrections.state.pin[row]), "mixed": row in mixed}
            for row, p in zip(one.tracks[order].tolist(), sure[order].tolist(), strict=True)
        ],
    }  # fmt: skip


def not_faces_view(corrections: Corrections) -> dict[str, Any]:
    """Return the tracks that were marked as not a face."""
    rows = np.flatnonzero(corrections.state.not_face).tolist()
    return {"last": corrections.version, "all": [_track(corrections, row) for row in rows]}


def track_view(corrections: Corrections, track: str) -> dict[str, Any]:
    """Return one track with the box of its face at each time."""
    row = int(corrections.rows([track])[0])
    tracks = corrections.tracks
    faces = slice(tracks.offsets[row], tracks.offsets[row + 1])
    boxes = np.column_stack([tracks.time[faces], tracks.box[faces]]).astype(float)
    return {
        **_track(corrections, row),
        "film": int(tracks.video[row]),
        # Rounded down: a cut at this time has the face in its second part.
        "picture_times": [
            math.floor(100 * time + 1e-6) / 100 for time in corrections.picture_times(track)
        ],
        "size": corrections.scanned.films[tracks.video[row]].get("size"),
        "delay": corrections.scanned.films[tracks.video[row]].get("delay") or 0.0,
        "boxes": boxes[np.isfinite(boxes).all(axis=1)].round(3).tolist(),
    }


def questions_view(corrections: Corrections, skipped: Skipped, most: int) -> dict[str, Any]:
    """Return the best questions that were not skipped."""
    pairs = [
        (corrections.rows(one), corrections.rows(other))
        for one, other in skipped
        if all(map(corrections.has_track, (*one, *other)))  # another scan has other tracks
    ]
    asked = questions(corrections.points, corrections.facts, corrections.state, most, pairs)
    return {
        "last": corrections.version,
        "questions": [_question(corrections, one) for one in asked],
    }


def history_view(corrections: Corrections) -> dict[str, Any]:
    """Return all events, the latest first, with the tracks that each moved, and lost tracks."""
    moved = moves(corrections)
    return {
        "last": corrections.version,
        "events": [
            {"number": event.number, "at": event.at, "who": event.who, "kind": event.kind,
             "text": describe_event(corrections, event), "holds": holds,
             "about": _about(corrections, event),
             "moves": [_move(corrections, one) for one in moved.get(event.number, ())]}
            for event, holds in reversed(corrections.history)
        ],
        "lost": [
            {"number": one.number, "text": describe_event(corrections, one.event),
             "video": one.anchor.video, "track": one.anchor.track,
             "time": one.anchor.faces[0][0] if one.anchor.faces else None, "partly": one.partly,
             "there": [_track(corrections, row) for row in one.there.tolist()]}
            for one in corrections.lost
        ],
    }  # fmt: skip


def _about(corrections: Corrections, event: Event) -> list[dict[str, Any]]:
    """Return the characters that an event names or marks, with a face each."""
    if not isinstance(event.body, Edit):
        return []
    body = event.body
    numbers = dict.fromkeys(
        [
            *(one.id for one in body.names),
            *(one.id for one in body.background),
            *(one.id for one in body.not_named),
        ]
    )
    faces = {
        one.number: _shown(corrections, one.tracks)[:1]
        for one in corrections.cast.characters
        if one.number in numbers
    }
    return [
        {"title": _title(corrections, number), "faces": faces.get(number, [])} for number in numbers
    ]


def _title(corrections: Corrections, number: int) -> str:
    """Return the title of a character as the beginning of a line; names stay as they are."""
    title = title_now(corrections, number)
    return title if corrections.state.names.get(number) else title.capitalize()


def _move(corrections: Corrections, change: Change) -> dict[str, Any]:
    """Return the tracks that moved from one character to another, the first of them in full."""
    return {
        "from": _title(corrections, change.before),
        "to": _title(corrections, change.after),
        "n_tracks": len(change.tracks),
        "tracks": [_track(corrections, row) for row in change.tracks[:_MOVED].tolist()],
    }


def proposal_view(corrections: Corrections, proposal: Proposal, number: int) -> dict[str, Any]:
    """Return what a new clustering would change."""
    titles = {one.number: one.title for one in corrections.cast.characters}
    return {
        "number": number,
        "tracks": sum(len(change.tracks) for change in proposal.changes),
        "given_up": _given_up(corrections, proposal),
        "changes": [
            {
                "from": titles.get(change.before, f"Character {change.before}"),
                "to": proposal.names.get(change.after)
                or titles.get(change.after, f"a new character ({change.after})"),
                "tracks": [_track(corrections, row) for row in change.tracks[:_MOVED].tolist()],
                "n_tracks": len(change.tracks),
            }
            for change in proposal.changes
        ],
    }


def _given_up(corrections: Corrections, proposal: Proposal) -> str:
    if not len(proposal.given_up):
        return ""
    return given_up_line(
        proposal.n_characters, overlap_summary(corrections.tracks, proposal.given_up)
    )


def card(corrections: Corrections, one: Character) -> dict[str, Any]:
    """Return one character without its tracks."""
    duration = max(corrections.cast.duration, 1e-9)
    spans = appearances(corrections.cast.spans[one.tracks], duration * MERGE)
    return {
        "number": one.number,
        "title": one.title,
        "name": one.name,
        "state": one.state,
        "background": one.background,
        "group": one.group,
        "seconds": round(one.seconds, 2),
        "sure": round(one.sure, 3),
        "small": one.small,
        "n_tracks": len(one.tracks),
        "faces": _shown(corrections, one.tracks),
        "spans": [[round(s.start, 2), round(s.end, 2)] for s in spans],
    }


def _shown(corrections: Corrections, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return the faces that represent a character, the cover first."""
    ids = corrections.tracks.ids
    named = ([str(ids[row]) for row in part] for part in corrections.shown(rows, _FACES))
    chosen = (next((one for one in some if one in corrections.pictures), None) for some in named)
    return [{"id": one, "frame": _frame(corrections, one)} for one in chosen if one is not None]


def _frame(corrections: Corrections, track: str) -> dict[str, Any] | None:
    """Return the time of a track's best picture, and its face's box in per cent of the frame."""
    cover = corrections.covers.get(track)
    if cover is None:
        return None
    return {"at": round(cover.time, 2), "box": [round(100 * part, 1) for part in cover.box]}


def _track(corrections: Corrections, row: int) -> dict[str, Any]:
    tracks = corrections.tracks
    start, end = tracks.spans[row].tolist()
    name = str(tracks.ids[row])
    several = len(tracks.videos) > 1
    return {
        "id": name,
        "video": tracks.videos[tracks.video[row]] if several else "",
        "at": round(float(corrections.cast.spans[row, 0]), 2),
        "start": round(start, 2),
        "end": round(end, 2),
        "pictures": corrections.pictures.get(name, 0),
        "frame": _frame(corrections, name),
    }


def _strip(corrections: Corrections, strip: Strip, whole: bool) -> dict[str, Any]:
    """Return a strip of tracks. An answer covers all of them if ``whole``, else those shown."""
    one = corrections.character(strip.character)
    rows = strip.tracks if whole else strip.shown
    return {
        "title": one.title,
        "n_tracks": len(strip.tracks),
        "tracks": [_track(corrections, row) for row in strip.shown.tolist()],
        "ids": [str(corrections.tracks.ids[row]) for row in rows.tolist()],
    }


def _question(corrections: Corrections, question: Question) -> dict[str, Any]:
    return {
        "doubts": [
            {
                # A part of a character moves, or stays, as a whole.
                **_strip(corrections, pair.other, whole=pair.inside),
                "inside": pair.inside,
                "ones": [_strip(corrections, one, whole=False) for one in pair.ones],
            }
            for pair in question.pairs
        ],
        "settles": round(question.settles, 2),
    }
