"""What was said of a video, as words of a cast of several that it is put into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import store_anchors
from castlist.cast.current import CurrentCast
from castlist.cast.cuts import CutTracks
from castlist.cast.events import Cut, Marked, Named, Pinned, Words
from castlist.cast.folder import OF
from castlist.cast.log import Log

Rows = NDArray[np.int64]


def inherited_words(
    cast: CurrentCast,
    film: dict[str, Any],
    labels: Rows,
    log: Log,
    named: set[int],
    marked: set[int],
) -> Words:
    """Return what was said of a video that is put into a cast of several.

    Parameters
    ----------
    cast : CurrentCast
        The cast of the video.
    film : dict
        What the cast of several knows of it.
    labels : ndarray of int
        The ids of its tracks' characters there.
    log : Log
        Of the cast of several: the tracks that are spoken of are stored in it.
    named : set of int
        Ids that have a name; those named here are added. Who is first there keeps theirs.
    marked : set of int
        Ids of which it is known whether they are background; those marked here are added.
    """
    state = cast.state
    cut, cuts = _cut_as(cast, film, log)
    spoken = _all_rows(cast)
    numbers = store_anchors(log, cut, spoken.tolist(), cast.scanned.scans, cast.looks)
    number = dict(zip(spoken.tolist(), numbers, strict=True))

    def find(rows: Rows) -> tuple[int, ...]:
        return tuple(number[row] for row in rows.tolist())

    pins = [
        Pinned(id=there, tracks=find(np.flatnonzero((state.pin > 0) & (labels == there))))
        for there in np.unique(labels[state.pin > 0]).tolist()
    ]
    names, marks = [], []
    for here in np.unique(state.owner).tolist():
        there = int(labels[state.owner == here][0])
        if state.names.get(here) and there not in named:
            named.add(there)
            names.append(Named(id=there, name=state.names[here]))
        if here in state.background and there not in marked:
            marked.add(there)
            marks.append(Marked(id=there, background=state.background[here]))
    return Words(
        cuts=tuple(cuts), pins=tuple(pins), names=tuple(names), background=tuple(marks),
        not_face=find(np.flatnonzero(state.not_face)),
        different=tuple((find(a), find(b)) for a, b in state.two_people()),
        same=tuple((find(a), find(b)) for a, b in state.same),
        checked=find(np.flatnonzero(state.checked)),
        mixed=tuple(find(rows) for rows in state.mixed),
        waived=tuple((number[i], number[j]) for i, j in sorted(state.waived)),
    )  # fmt: skip


def _all_rows(cast: CurrentCast) -> Rows:
    """Return the tracks that anything was said of."""
    state = cast.state
    said: Sequence[Rows] = [
        np.flatnonzero((state.pin > 0) | state.not_face | state.checked),
        *(rows for pair in (*state.different, *state.same) for rows in pair), *state.mixed,
        np.array(sorted(state.waived), np.int64).ravel(),
    ]  # fmt: skip
    return np.unique(np.concatenate(said))


def _cut_as(cast: CurrentCast, film: dict[str, Any], log: Log) -> tuple[CutTracks, list[Cut]]:
    """Cut the tracks by their ids in the cast of several, as they are cut in that of the video."""
    prefix = f"{film['episode']}{OF}"
    scans = cast.scanned.scans
    whole = cast.scanned.tracks
    ids = np.array([f"{prefix}{name}" for name in whole.ids.tolist()], np.str_)
    made = CutTracks.whole(replace(whole, ids=ids, videos=(film["title"],)))
    wanted = sorted(
        {
            (len(parent[0]), parent, child[0][len(parent[0]) + 1 :])
            for marks in cast.cut_tracks.marks
            for parent, child in pairwise(marks)
        }
    )
    cuts = []
    for _, (times, name), at in wanted:
        row = next(k for k, own in enumerate(made.marks) if own[-1] == (times, f"{prefix}{name}"))
        (number,) = store_anchors(log, made, [row], scans, made.looks(cast.whole_looks))
        cuts.append(Cut(track=number, at=float(at)))
        made = made.cut(row, float(at))
    return made, cuts
