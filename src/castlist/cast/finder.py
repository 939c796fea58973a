"""The tracks that events refer to, in the current scan: stored as anchors, and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor, CutTracks, anchors_of, find_anchors
from castlist.cast.events import Event
from castlist.cast.folder import Scanned
from castlist.cast.log import Log
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
#: Anchor → anchors of tracks that a person called the same track, the last one first.
SameTracks = dict[int, list[int]]


def same_tracks(live: Iterable[Event]) -> SameTracks:
    """Return the tracks that a person called the same track, in the events in effect."""
    same: SameTracks = {}
    for event in live:
        if event.kind == "found":
            for one, other in permutations((event.body.anchor, event.body.track)):
                same.setdefault(one, []).insert(0, other)
    return same


def present(number: int, same: SameTracks, rows: Callable[[int], Rows]) -> Rows:
    """Return the rows of an anchor or, if it is missing, of the nearest that is the same track.

    Each scan may lose a track that was found again in the last one, so that several anchors are of
    one track. An anchor that is present is itself, whatever was said of it when it was missing.

    Parameters
    ----------
    number : int
        The anchor.
    same : dict
        From :func:`same_tracks`.
    rows : callable
        Returns the rows that an anchor itself has in this scan.
    """
    chain = [number]
    for step in chain:
        own = rows(step)
        if len(own):
            return own
        chain += [other for other in same.get(step, ()) if other not in chain]
    return np.empty(0, np.int64)


def store_anchors(
    log: Log,
    cut: CutTracks,
    rows: Sequence[int],
    scanned: Scanned,
    mean_features: Floats,
) -> list[int]:
    """Store anchors of tracks, which may be parts of cut tracks; return their numbers."""
    made = anchors_of(cut.tracks, rows, scanned.scans, mean_features, scanned.sizes)
    marked = [
        replace(one, scan=one.scan + cut.marks[row][-1][0])
        for row, one in zip(rows, made, strict=True)
    ]
    return log.anchor(marked)


def found_in(
    scanned: Scanned, tracks: TrackSet, anchors: Sequence[Anchor], mean_features: Floats
) -> list[tuple[Rows, Rows]]:
    """Return the tracks of a cast, cut or not, that :func:`find_anchors` finds for anchors."""
    return find_anchors(tracks, anchors, mean_features, not scanned.joined, scanned.sizes)


class Finder:
    """Finds the current tracks that events refer to.

    Parameters
    ----------
    log : Log
        The log that has the anchors.
    cut : CutTracks
        The current tracks.
    scanned : Scanned
        What was scanned: anchors of the same scan are found by id, those of other scans by time,
        box and face.
    mean_features : ndarray of shape (n_tracks, dim)
        Mean features of the tracks, of unit length.
    """

    def __init__(self, log: Log, cut: CutTracks, scanned: Scanned, mean_features: Floats) -> None:
        self._log = log
        self._cut = cut
        self._scanned = scanned
        self._looks = mean_features
        self._place: dict[tuple[str, str], list[int]] = {}
        for row, marks in enumerate(cut.marks):
            for times, name in marks:
                self._place.setdefault((self._scan(row) + times, name), []).append(row)
        self._rows: dict[int, Rows] = {}  # of each anchor
        self._number: dict[int, int] = {}  # the anchor of a row
        self.anchors: dict[int, Anchor] = {}
        #: Anchors that were not found, or not as a whole, and the tracks at their place with a
        #: different face.
        self.missing: dict[int, Rows] = {}
        #: The tracks that a person called the same track, of the events in effect.
        self.same: SameTracks = {}
        self.learn()

    def _scan(self, row: int) -> str:
        return str(self._scanned.scans[self._cut.tracks.video[row]])

    def keys(self) -> list[str]:
        """Return a key for each track that is unique among all scans."""
        return [
            f"{self._scan(row)}{times} {name}"
            for row, marks in enumerate(self._cut.marks)
            for times, name in marks[-1:]
        ]

    def numbers(self, rows: Rows) -> list[int]:
        """Return the anchor numbers of tracks; new anchors are stored in the log."""
        new = [row for row in rows.tolist() if row not in self._number]
        if new:
            stored = store_anchors(self._log, self._cut, new, self._scanned, self._looks)
            self._number |= dict(zip(new, stored, strict=True))
            self.learn()
        return [self._number[row] for row in rows.tolist()]

    def rows(self, numbers: Iterable[int]) -> Rows:
        """Return the tracks of anchors; those that were not found are left out."""
        parts = [part for n in numbers for part in self._parts(n)]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def is_present(self, number: int) -> bool:
        """Return whether an anchor itself has a track, or a part of one, in this scan."""
        return len(self._rows[number]) > 0

    def _parts(self, number: int) -> Iterator[Rows]:
        """Yield the tracks of an anchor, and what a person called the same of the rest of it."""
        yield present(number, self.same, self._rows.__getitem__)
        rest = self.missing.get(number, ())
        if len(rest):
            for other in self.same.get(number, ()):
                yield np.intersect1d(present(other, self.same, self._rows.__getitem__), rest)

    def learn(self) -> None:
        """Find the tracks of anchors that were stored since the last call."""
        elsewhere = []
        for number, anchor in self._log.anchors(max(self._rows, default=0)).items():
            self.anchors[number] = anchor
            rows = self._place.get((anchor.scan, anchor.track))
            if rows is None:
                elsewhere.append(number)
                continue
            self._rows[number] = np.array(rows)
            times, name = self._cut.marks[rows[0]][-1]
            if name == anchor.track and self._scan(rows[0]) + times == anchor.scan:
                self._number[rows[0]] = number
        anchors = [self.anchors[n] for n in elsewhere]
        found = found_in(self._scanned, self._cut.tracks, anchors, self._looks)
        for number, (same, other) in zip(elsewhere, found, strict=True):
            self._rows[number] = same
            if not len(same) or len(other):
                self.missing[number] = other
