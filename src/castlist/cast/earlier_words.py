"""What was said in a joined cast of a video that was in it before, and when.

The log of a joined cast keeps what was said of a video that was removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import CutTracks
from castlist.cast.current import CurrentCast
from castlist.cast.events import Edit, Event
from castlist.cast.folder import OF, Scanned, read_scanned
from castlist.cast.state import State
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
Times = NDArray[np.float64]
NEVER = -np.inf


@dataclass(frozen=True)
class LastSaid:
    """When something was last said of the tracks and characters of a cast, in seconds since 1970.

    Attributes
    ----------
    pinned, marked : ndarray of float64, shape (n_tracks,)
        When each track was assigned to a character, and marked as a face or as none.
    named, background : dict
        Id → when it was named, and marked as background or not.
    """

    pinned: Times
    marked: Times
    named: dict[int, float] = field(default_factory=dict)
    background: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, cast: CurrentCast) -> LastSaid:
        """Return when it was said in this cast; what came with its videos was said elsewhere."""
        n, now = len(cast.tracks), NEVER
        said = cls(np.full(n, NEVER), np.full(n, NEVER))
        for event in cast.live:
            if not isinstance(event.body, Edit) or event.kind in ("join", "add"):
                continue
            now = max(now, event.at)  # of one log, its order counts, whatever the clock says
            word = State.of(cast.state.base)
            cast.apply(word, event)
            said.pinned[word.pin > 0] = now
            said.marked[word.not_face | word.face] = now
            said.named.update(dict.fromkeys(word.names, now))
            said.background.update(dict.fromkeys(word.background, now))
        return said


@dataclass(frozen=True)
class EarlierWords:
    """What was said in a joined cast of a video that was in it before.

    Attributes
    ----------
    cuts : list of (int, float)
        The cuts of its tracks there: the row before all cuts, and the time.
    pin, not_face : ndarray, shape (n_parts,)
        Of the tracks as cut there: the id that each is pinned to, and whether it is not a face.
    last : LastSaid
        When that was said; rows are the tracks as cut there.
    names : dict
        Id → name.
    different : set of (int, int)
        Pairs of these tracks that show two people.
    strangers : set of (int, int)
        Tracks, and the ids of characters in other videos that they are different from.
    waived : set of (int, int)
        Pairs of these tracks that share a frame and may be one person.
    """

    cuts: list[tuple[int, float]]
    pin: Rows
    not_face: NDArray[np.bool_]
    last: LastSaid
    names: dict[int, str]
    different: set[tuple[int, int]]
    strangers: set[tuple[int, int]]
    waived: set[tuple[int, int]]


def earlier_words(
    folder: Path, live: Sequence[Event], film: dict[str, Any], cast: CurrentCast,
    points: NDArray[np.float32], first: int,
) -> EarlierWords:  # fmt: skip
    """Return what was said in a joined cast of a video that is added to it again.

    Parameters
    ----------
    folder : Path
        The joined cast.
    live : sequence of Event
        Its events in effect.
    film : dict
        The entry of the video in ``run.json``.
    cast : CurrentCast
        The cast of the video.
    points : ndarray of float32
        The embeddings of its tracks as scanned.
    first : int
        The least unused id.
    """
    inside = read_scanned(folder, live)
    n = len(inside.tracks)
    new = renamed(cast, film)
    titles = (*inside.tracks.videos, *new.videos)
    joined = TrackSet.join([one for one in (inside.tracks, new) if len(one)] or [new])
    place = np.array([titles.index(title) for title in joined.videos], np.int32)
    scanned = Scanned(
        folder, replace(joined, videos=titles, video=place[joined.video]),
        np.concatenate([inside.labels, np.arange(first, first + len(new))]),
        np.concatenate([inside.points, points]) if n else points,
        inside.threshold, inside.duration, {**inside.run, "videos": [*inside.films, film]},
        (*inside.scans, *cast.scanned.scans), first + len(new),
    )  # fmt: skip
    with CurrentCast(folder, scanned=scanned) as there:
        state, last = there.state, LastSaid.of(there)
        own = there.cut_tracks.origin >= n
        begin = len(own) - int(own.sum())
        different: set[tuple[int, int]] = set()
        strangers: set[tuple[int, int]] = set()
        for pair in state.different:
            for rows, others in (pair, pair[::-1]):
                others = others[~state.not_face[others]]
                for row, other in product(rows[own[rows]].tolist(), others.tolist()):
                    if own[other]:
                        different.add((row - begin, other - begin))
                    else:
                        strangers.add((row - begin, int(state.owner[other])))
        return EarlierWords(
            [(row - n, at) for row, at in cuts_of(there.cut_tracks) if row >= n],
            state.pin[own], state.not_face[own],
            replace(last, pinned=last.pinned[own], marked=last.marked[own]),
            {number: name for number, name in state.names.items() if name}, different, strangers,
            {(i - begin, j - begin) for i, j in state.waived if own[i] and own[j]},
        )  # fmt: skip


def renamed(cast: CurrentCast, film: dict[str, Any]) -> TrackSet:
    """Return the tracks of a video as scanned, with their ids in the joined cast."""
    whole = cast.scanned.tracks
    ids = np.array([f"{film['episode']}{OF}{name}" for name in whole.ids.tolist()], np.str_)
    return replace(whole, ids=ids, videos=(film["title"],))


def cuts_of(cut: CutTracks) -> list[tuple[int, float]]:
    """Return the cuts of tracks, in an order in which they can be made: row before all, time."""
    wanted = {
        (len(parent[0]), row, float(child[0][len(parent[0]) + 1 :]))
        for row, marks in zip(cut.origin.tolist(), cut.marks, strict=True)
        for parent, child in pairwise(marks)
    }
    return [(row, at) for _, row, at in sorted(wanted)]
