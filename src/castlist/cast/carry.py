"""What was said of single videos, carried over to a cast of several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import anchors_of
from castlist.cast.corrections import Corrections
from castlist.cast.log import Log
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]


def carry_over(
    log: Log,
    scan_print: str,
    cast: Corrections,
    tracks: TrackSet,
    labels: Rows,
    said: set[tuple[int, str]],
) -> dict[int, str]:
    """Say in the log of a joined cast what was said of one of its videos.

    What was merged and moved is in the clustering already; names, what is background, and what is
    no face are said again, as by whom and when they were.

    Parameters
    ----------
    log : Log
        Of the joined cast.
    scan_print : str
        What its tracks are remembered by.
    cast : Corrections
        Of the video.
    tracks : TrackSet
        Its tracks, by their ids in the joined cast.
    labels : ndarray of int
        Their characters there.
    said : set of (int, str)
        Names that characters have already; those said here are added.

    Returns
    -------
    dict
        Character → name, of those that have one now and had none.
    """
    known = {number for number, name in said if name}
    new: dict[int, str] = {}

    def say(kind: str, rows: Rows, body: dict[str, object], who: str, at: float | None) -> None:
        numbers = log.anchor(scan_print, anchors_of(tracks, rows.tolist()))
        about = {"who": numbers} if kind == "name" else {"tracks": numbers}
        log.append(kind, {**about, **body}, log.last, who, at)

    for number, name in sorted(cast.state.names.items()):
        rows = cast.state.members(number)
        if not name or not len(rows):
            continue
        character = int(labels[rows[0]])
        if (character, name) in said or character in known:
            continue
        said.add((character, name))
        known.add(character)
        new[character] = name
        event = next((e for e in cast.live[::-1] if e.body.get("name") == name), None)
        who, at = ("", None) if event is None else (event.who, event.at)
        say("name", rows, {"name": name, "part": True}, who, at)
    hidden = np.flatnonzero(cast.state.not_face)
    if len(hidden):
        event = next((e for e in cast.live[::-1] if e.kind == "not_face"), None)
        who, at = ("", None) if event is None else (event.who, event.at)
        say("not_face", hidden, {"not_face": True}, who, at)
    return new
