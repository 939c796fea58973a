"""What a joined cast takes over of the words about a video, in the order in which they were said.

A video has a cast of its own, of which something may be said at any time. If the video was in the
joined cast before, something was said of it there as well. The last word about a track holds,
wherever it was said; the words that came with the video before are those of its own cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import CutTracks
from castlist.cast.current import CurrentCast
from castlist.cast.earlier_words import NEVER, EarlierWords, LastSaid, cuts_of, renamed
from castlist.cast.events import BackgroundMark, Cut, Edit, Named, NotNamed, Pinned
from castlist.cast.finder import store_anchors
from castlist.cast.log import Log
from castlist.cast.matching import LocalCharacters

Rows = NDArray[np.int64]


def _part_at(cut: CutTracks, origin: int, at: float) -> int | None:
    """Return the part of a track that has faces on both sides of a time; None if there is none."""
    rows = np.flatnonzero(cut.origin == origin).tolist()
    return next((row for row in rows if cut.place_of(row, at)), None)


@dataclass(frozen=True)
class Places:
    """Where the characters of a video may come in a joined cast.

    Attributes
    ----------
    units : LocalCharacters
        The characters; names that have a later word in the joined cast are left out.
    settled : dict
        Character → the id that its tracks are pinned to there.
    refused : dict
        Character → ids of characters that it is kept apart from.
    """

    units: LocalCharacters
    settled: dict[int, int] = field(default_factory=dict)
    refused: dict[int, set[int]] = field(default_factory=dict)


class Inheritance:
    """The words about a video that a joined cast takes over.

    Parameters
    ----------
    cast : CurrentCast
        The cast of the video.
    film : dict
        The entry of the video in the joined cast.
    earlier : EarlierWords, optional
        What was said of the video in the joined cast, if it was there before.

    Attributes
    ----------
    cut : CutTracks
        The tracks of the video with their ids in the joined cast, cut as there and as in its cast.
    own : ndarray of int, shape (n_parts,)
        The row of each part in the cast of the video.
    pins, marks : ndarray of bool, shape (n_parts,)
        Whether the part was assigned to a character in the video's cast, or marked there as a face
        or as none, and nothing else was said of that in the joined cast since.
    held : ndarray of int, shape (n_parts,)
        The id that a word in the joined cast pins each part to; 0 for none.
    """

    def __init__(
        self, cast: CurrentCast, film: dict[str, Any], earlier: EarlierWords | None = None
    ) -> None:
        self._cast, self._earlier = cast, earlier
        cut = CutTracks.whole(renamed(cast, film))
        for origin, at in earlier.cuts if earlier else ():
            row = _part_at(cut, origin, at)
            cut = cut if row is None else cut.cut(row, at)
        before = cut
        self._cuts: list[tuple[CutTracks, int, float]] = []
        for origin, at in cuts_of(cast.cut_tracks):
            row = _part_at(cut, origin, at)
            if row is not None:
                self._cuts.append((cut, row, at))
                cut = cut.cut(row, at)
        self.cut = cut
        # All of them divide the same faces.
        self.own, self._row = (
            np.searchsorted(tracks.offsets, cut.tracks.offsets[:-1], "right") - 1
            for tracks in (cast.tracks, before.tracks)
        )
        state = cast.state
        self.pins = state.pin[self.own] > 0
        self.marks = (state.not_face | state.face)[self.own]
        self.held = np.zeros(len(self.own), np.int64)
        self._not_face = state.not_face[self.own]
        if earlier:
            self.pins &= self.last.pinned[self.own] > earlier.last.pinned[self._row]
            self.marks &= self.last.marked[self.own] > earlier.last.marked[self._row]
            self.held = np.where(self.pins, 0, earlier.pin[self._row])
            self._not_face = np.where(self.marks, self._not_face, earlier.not_face[self._row])

    @cached_property
    def last(self) -> LastSaid:
        """When it was said in the video's own cast."""
        return LastSaid.of(self._cast)

    def parts(self, rows: Iterable[int]) -> Rows:
        """Return the parts of tracks of the video's own cast."""
        return np.flatnonzero(np.isin(self.own, list(rows)))

    def is_past(
        self, kind: Literal["named", "background"], own_id: int, joined_id: int = 0
    ) -> bool:
        """Return whether a word about a character has a later one in the joined cast.

        Parameters
        ----------
        kind : {"named", "background"}
            What was said of it.
        own_id, joined_id : int
            Its id in the cast of the video, and in the joined cast, if that is known already.
        """
        if self._earlier is None:
            return False
        rows = self._row[self._cast.state.owner[self.own] == own_id]
        ids = {joined_id, *self._earlier.pin[rows].tolist()} - {
            0
        }  # it may have had another one before
        said = getattr(self.last, kind).get(own_id, NEVER)
        return any(getattr(self._earlier.last, kind).get(id, NEVER) > said for id in ids)

    def places(self, units: LocalCharacters) -> Places:
        """Return where words of the joined cast put the characters of the video, and where not."""
        if self._earlier is None:
            return Places(units)
        unit = units.of_track[self.own]
        settled: dict[int, int] = {}
        for k in np.unique(unit).tolist():
            held = self.held[unit == k]
            if held.all():
                settled[k] = int(held[0])
        refused: dict[int, set[int]] = {}
        free = ~self._not_face & (self.held == 0)
        pairs = self._two_people()
        for i, j in (*pairs, *(pair[::-1] for pair in pairs)):
            if free[i] and self.held[j] and not self._not_face[j]:
                refused.setdefault(int(unit[i]), set()).add(int(self.held[j]))
        for row, number in self._earlier.strangers:
            for i in np.flatnonzero((self._row == row) & free).tolist():
                refused.setdefault(int(unit[i]), set()).add(number)
        two = {(int(unit[i]), int(unit[j])) for i, j in pairs if free[i] and free[j]}
        cannot = np.array([pair for pair in two if pair[0] != pair[1]], np.int64).reshape(-1, 2)
        numbers = np.unique(self._cast.state.owner).tolist()
        names = [
            "" if name and self.is_past("named", own_id) else name
            for own_id, name in zip(numbers, units.names, strict=True)
        ]
        cannot = np.concatenate([units.cannot, cannot])
        return Places(replace(units, names=names, cannot=cannot), settled, refused)

    def _two_people(self) -> list[tuple[int, int]]:
        """Return the parts that share a frame, unless waived, or that somebody called different."""
        assert self._earlier is not None
        state, earlier = self._cast.state, self._earlier
        pairs = [
            (i, j)
            for i, j in self.cut.tracks.overlaps().tolist()
            if (self.own[i], self.own[j]) not in state.waived
            and (self._row[i], self._row[j]) not in earlier.waived
        ]
        for a, b in state.different_pairs():
            pairs += product(self.parts(a.tolist()).tolist(), self.parts(b.tolist()).tolist())
        for i, j in earlier.different:
            parts, others = (np.flatnonzero(self._row == row).tolist() for row in (i, j))
            pairs += product(parts, others)
        return pairs

    def store(self, log: Log, parts: Rows) -> tuple[dict[int, int], list[Cut]]:
        """Store anchors in the log; return those of the parts, and the cuts of the video's cast."""
        scanned, looks = self._cast.scanned, self._cast.whole_features
        cuts = []
        for cut, row, at in self._cuts:
            (number,) = store_anchors(log, cut, [row], scanned, cut.mean_features(looks))
            cuts.append(Cut(track=number, at=at))
        numbers = store_anchors(
            log, self.cut, parts.tolist(), scanned, self.cut.mean_features(looks)
        )
        return dict(zip(parts.tolist(), numbers, strict=True)), cuts


def inherited_edits(
    cast: CurrentCast,
    words: Inheritance,
    labels: Rows,
    log: Log,
    named: set[int],
    marked: dict[int, float],
) -> Edit:
    """Return the corrections of a video as an edit of the joined cast it is added to.

    Parameters
    ----------
    cast : CurrentCast
        The cast of the video.
    words : Inheritance
        Its tracks in the joined cast, and which words about them are the last.
    labels : ndarray of int
        The ids of its tracks' characters in the joined cast.
    log : Log
        The log of the joined cast; anchors of corrected tracks are stored in it.
    named : set of int
        Ids that have a name, which they keep; ids named here are added.
    marked : dict
        Ids whose background mark is known, and when that was given; ids marked here are added.
    """
    state, own = cast.state, words.own
    number, cuts = words.store(log, words.parts(_all_rows(cast).tolist()))

    def find(rows: Rows) -> tuple[int, ...]:
        return tuple(number[part] for part in words.parts(rows.tolist()).tolist())

    def marked_as(mask: NDArray[np.bool_]) -> tuple[int, ...]:
        return tuple(number[part] for part in np.flatnonzero(mask[own] & words.marks).tolist())

    pins = [
        Pinned(
            id=joined_id,
            tracks=tuple(
                number[k] for k in np.flatnonzero(words.pins & (labels[own] == joined_id)).tolist()
            ),
        )
        for joined_id in np.unique(labels[own][words.pins]).tolist()
    ]
    names, marks = [], []
    for own_id in np.unique(state.owner).tolist():
        joined_id = int(labels[state.owner == own_id][0])
        if (
            state.names.get(own_id)
            and joined_id not in named
            and not words.is_past("named", own_id, joined_id)
        ):
            named.add(joined_id)
            names.append(Named(id=joined_id, name=state.names[own_id]))
        if own_id in state.background and not words.is_past("background", own_id, joined_id):
            said_at = words.last.background[own_id]
            if said_at > marked.get(joined_id, NEVER):
                marked[joined_id] = said_at
                marks.append(BackgroundMark(id=joined_id, background=state.background[own_id]))
    said: dict[str, Any] = {
        "cuts": tuple(cuts), "pins": tuple(pins), "names": tuple(names), "background": tuple(marks),
        "not_face": marked_as(state.not_face), "face": marked_as(state.face),
        "different": tuple((find(a), find(b)) for a, b in state.different),
        "same": tuple((find(a), find(b)) for a, b in state.same),
        "checked": find(np.flatnonzero(state.checked)),
        "mixed": tuple(find(rows) for rows in state.mixed),
        "waived": tuple(
            (i, j) for pair in sorted(state.waived)
            for i, j in product(*(find(np.array([row])) for row in pair))
        ),
        "not_named": tuple(
            NotNamed(id=int(labels[rows[0]]), name=name, tracks=find(rows))
            for name, rows in state.not_named if len(rows)
        ),
    }  # fmt: skip
    return Edit(**{name: said[name] for name in Edit.model_fields})  # so that none is forgotten


def _all_rows(cast: CurrentCast) -> Rows:
    """Return the tracks that have corrections."""
    state = cast.state
    groups: Sequence[Rows] = [
        np.flatnonzero((state.pin > 0) | state.not_face | state.face | state.checked),
        *(rows for pair in (*state.different, *state.same) for rows in pair), *state.mixed,
        *(rows for _, rows in state.not_named),
        np.array(sorted(state.waived), np.int64).ravel(),
    ]  # fmt: skip
    return np.unique(np.concatenate(groups))
