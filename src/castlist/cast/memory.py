"""The tracks that the log speaks of, found among those of the scan at hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor, anchors_of, find_anchors
from castlist.cast.log import Log
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]


class Memory:
    """Which rows of a scan are the tracks that the log remembers by number.

    Parameters
    ----------
    log : Log
        Where tracks are remembered.
    tracks : TrackSet
        Those of the scan.
    scan_print : str
        Which scan it is: its own tracks are known by their ids, others' by time and box.
    """

    def __init__(self, log: Log, tracks: TrackSet, scan_print: str) -> None:
        self._log = log
        self._tracks = tracks
        self._scan_print = scan_print
        self._place = {str(name): i for i, name in enumerate(tracks.ids)}
        self._rows: dict[int, Rows] = {}  # of each remembered track
        self._number: dict[int, int] = {}  # under which a row of this scan is remembered
        self.anchors: dict[int, Anchor] = {}

    def place(self, track: str) -> int | None:
        """Return where a track is, by its id."""
        return self._place.get(track)

    def numbers(self, rows: Rows) -> list[int]:
        """Return the numbers by which the log knows tracks, remembering those that are new."""
        new = [row for row in rows.tolist() if row not in self._number]
        if new:
            numbers = self._log.anchor(self._scan_print, anchors_of(self._tracks, new))
            self._number |= dict(zip(new, numbers, strict=True))
            self.learn()
        return [self._number[row] for row in rows.tolist()]

    def rows(self, numbers: Iterable[int]) -> Rows:
        """Return the tracks that the log knows by some numbers, as far as they are there."""
        parts = [self._rows[n] for n in numbers]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def learn(self) -> None:
        """Take up the tracks that were remembered since."""
        elsewhere = []
        for number, scan, anchor in self._log.anchors(max(self._rows, default=0)):
            self.anchors[number] = anchor
            row = self._place.get(anchor.track) if scan == self._scan_print else None
            if row is not None:
                self._rows[number] = np.array([row])
                self._number[row] = number
            else:
                elsewhere.append(number)
        found = find_anchors(self._tracks, [self.anchors[n] for n in elsewhere])
        self._rows |= dict(zip(elsewhere, found, strict=True))
