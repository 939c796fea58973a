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
    after: int,
    scan_print: str,
    cast: Corrections,
    tracks: TrackSet,
    labels: Rows,
    named: set[int],
    settled: set[int],
) -> tuple[dict[int, str], int]:
    """Say in the log of a joined cast what was said of one of its videos.

    What was merged and moved is in the clustering already; names, what is background, and what is
    no face are said again, as by whom and when they were. What others said first stays.

    Parameters
    ----------
    log : Log
        Of the joined cast.
    after : int
        Its last event.
    scan_print : str
        What its tracks are remembered by.
    cast : Corrections
        Of the video.
    tracks : TrackSet
        Its tracks, by their ids in the joined cast.
    labels : ndarray of int
        Their characters there.
    named : set of int
        Characters that have a name; those named here are added.
    settled : set of int
        Characters of which it is known whether they are background; those said here are added.

    Returns
    -------
    names : dict
        Character → name, of those that have one now and had none.
    last : int
        The last event of the log.
    """
    state, last = cast.state, after
    # By a process that was killed before its video was in.
    before = [(event.kind, event.body, event.who, event.at) for event in log.events()]

    def say(kind: str, value: str | bool, key: str, rows: Rows, *, each: bool = False) -> None:
        nonlocal last
        event = next(event for event in cast.live[::-1] if event.body.get(kind) == value)
        numbers = log.anchor(scan_print, anchors_of(tracks, rows.tolist()))
        body = {key: [numbers] if each else numbers, kind: value, "part": True}
        if (kind, body, event.who, event.at) not in before:
            last = log.append(kind, body, last, event.who, event.at).number

    new: dict[int, str] = {}
    for number in np.unique(state.owner).tolist():
        rows = state.members(number)
        character = int(labels[rows[0]]) if len(rows) else 0
        name, background = state.names.get(number), state.background.get(number)
        if character and name and character not in named:
            new[character] = name
            named.add(character)
            say("name", name, "who", rows)
        if character and background is not None and character not in settled:
            settled.add(character)
            say("background", background, "who", rows, each=True)
    hidden = np.flatnonzero(state.not_face)
    if len(hidden):
        say("not_face", True, "tracks", hidden)
    return new, last
