"""The cast of a folder as it is: what the scan made, and what was said of it since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor
from castlist.cast.cast import Cast, Character, make_cast
from castlist.cast.covers import shown_tracks, track_worth
from castlist.cast.evidence import Facts
from castlist.cast.folder import CAST, CORRECTIONS, Scanned
from castlist.cast.log import Event, Log
from castlist.cast.memory import Memory
from castlist.cast.read import read_scanned
from castlist.cast.replay import State, live_events
from castlist.errors import InputError

_A_SCAN = 1_000_000  # more than anybody says


class Corrected:
    """The cast of a folder, as corrected so far.

    Parameters
    ----------
    folder : path
        What `castlist scan` made.
    who : str, optional
        In whose name things are said; the user's if not given.
    """

    def __init__(self, folder: str | Path, who: str | None = None) -> None:
        self.folder = Path(folder)
        self.who = who
        self.lock = RLock()
        self._scans = -1
        self.log = Log(self.folder / CORRECTIONS)
        try:
            self._load()
        except BaseException:  # nobody else will let go of the file
            self.log.close()
            raise

    def close(self) -> None:
        """Let go of the log."""
        self.log.close()

    def _load(self) -> None:
        """Read what the scan made, and everything that was said."""
        stamp = self._stamp_now()
        self.scanned: Scanned = read_scanned(self.folder)
        self._stamp = stamp  # if it could be read; else the next look says so again
        self._scans += 1
        self.tracks = self.scanned.tracks
        if not np.isfinite(self.tracks.time).all():
            raise InputError(f"{self.folder}: some of its faces have no time; scan again")
        self._memory = Memory(self.log, self.tracks, self.scanned.scan_print)
        self._remember, self._find = self._memory.numbers, self._memory.rows
        self._events: list[Event] = []
        self.live: list[Event] = []
        self.undone: list[Event] = []
        self._cast: Cast | None = None
        self.facts = Facts.of(self.tracks)
        self.overlaps = self.facts.overlaps
        self.pictures = self.scanned.picture_counts()
        self.covers = self.scanned.covers()
        known = (self.covers.get(track) for track in self.tracks.ids.tolist())
        quality = np.array([one.quality if one else 0.0 for one in known], np.float64)
        self._worth = track_worth(self.tracks.face_counts, quality)
        self._replay([])
        self.refresh()

    def _stamp_now(self) -> tuple[int, int]:
        try:
            stat = (self.folder / CAST).stat()
        except OSError:  # said when it is read
            return 0, 0
        return stat.st_mtime_ns, stat.st_size

    def refresh(self) -> int:
        """Take up what others said, or scanned, meanwhile; the number of the last event."""
        with self.lock:
            if self._stamp_now() != self._stamp:
                self._load()
                return self.last
            new = self.log.events(self.last)
            if new:
                self._memory.learn()
                self._events += new
                if all(event.kind not in ("undo", "redo", "recluster") for event in new):
                    for event in new:
                        self.state.apply(event, self._find)
                    self.live += new
                    self.undone = []
                    self._cast = None
                else:
                    self._replay(self._events)
            return self.last

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Hold the cast, with what others said meanwhile."""
        with self.lock:
            self.refresh()
            yield

    @property
    def last(self) -> int:
        """Number of the last event that is in the cast."""
        return self._events[-1].number if self._events else 0

    @property
    def version(self) -> int:
        """Say how far the cast is: it changes with every event, and with every scan."""
        return self.last + _A_SCAN * self._scans

    @property
    def cast(self) -> Cast:
        """The characters, as corrected."""
        with self.lock:
            if self._cast is None:
                scanned, state = self.scanned, self.state
                labels = np.where(state.not_face, -1, state.owner)
                self._cast = make_cast(
                    self.tracks, labels, self.facts.looks, scanned.duration, state,
                    scanned.starts.tolist(),
                )  # fmt: skip
                self._by_number = {one.number: one for one in self._cast.characters}
            return self._cast

    def shown(self, rows: NDArray[np.int64], most: int) -> list[list[int]]:
        """Return the tracks to show a character by, as :func:`shown_tracks` does."""
        return shown_tracks(rows, most, self._worth, self.points)

    def character(self, which: int | str) -> Character:
        """Return a character by number, or by name, title or number as text."""
        everybody = self.cast.characters
        if isinstance(which, int):
            if which not in self._by_number:
                raise self._nobody(which)
            return self._by_number[which]
        ways = (
            lambda one: bool(which) and which == one.name,
            lambda one: which in (one.title, str(one.number)),
        )
        for fits in ways:
            found = [one for one in everybody if fits(one)]
            if len(found) > 1:
                numbers = " and ".join(str(one.number) for one in found)
                raise InputError(f"{len(found)} characters are called {which!r}: {numbers}")
            if found:
                return found[0]
        raise self._nobody(which)

    def _nobody(self, which: int | str) -> InputError:
        return InputError(
            f"{self.folder}: there is no character {which!r}; names and numbers stand in the "
            f"report, which `castlist report {self.folder}` writes"
        )

    def has_track(self, track: str) -> bool:
        """Say whether there is a track, by its id."""
        return self._memory.place(track) is not None

    def rows(self, tracks: Iterable[str]) -> NDArray[np.int64]:
        """Return where tracks are, by their ids."""
        found = []
        for name in tracks:
            place = self._memory.place(name)
            if place is None:
                raise InputError(
                    f"{self.folder}: there is no track {name!r}; "
                    f"`castlist export {self.folder} --to csv -o -` lists them"
                )
            found.append(place)
        if not found:
            raise InputError("no tracks were given")
        return np.unique(found)

    @property
    def history(self) -> list[tuple[Event, bool]]:
        """Everything that was said, and whether it holds."""
        holds = {event.number for event in self.live}
        return [(event, event.number in holds) for event in self._events]

    @property
    def lost(self) -> list[tuple[Event, list[Anchor]]]:
        """What was said of tracks, or a clustering, that are not there any more after a scan."""
        missing = []
        for event in self.live:
            gone = [n for n in _numbers(event.body) if not len(self._find([n]))]
            if gone or (event.kind == "recluster" and event.body["clustering"] in self._void):
                missing.append((event, [self._memory.anchors[n] for n in gone]))
        return missing

    def say(self, kind: str, body: dict[str, Any], after: int | None = None) -> None:
        """Append an event to the log, and let it happen."""
        self.log.append(kind, body, self.last if after is None else after, self.who)
        self.refresh()

    def _replay(self, events: list[Event]) -> None:
        """Begin with the clustering that holds, and apply all that holds."""
        self.live, self.undone = live_events(events)
        self._void: set[int] = set()  # clusterings of another scan
        labels, self.points = self.scanned.labels, self.scanned.points
        for event in self.live:
            if event.kind == "recluster":
                kept = self.log.clustering(event.body["clustering"])
                if kept is not None and kept[0] == self.scanned.basis:
                    if len(kept[1]) != len(self.tracks):
                        raise InputError(f"{self.log.path}: a damaged clustering")
                    labels, self.points = kept[1], kept[2]
                elif event.body["clustering"] not in self.scanned.run.get("taken", []):
                    self._void.add(event.body["clustering"])
        self.clustered = labels  # what the log is applied to
        self.state = self.state_on(labels)
        self._cast = None

    def state_on(self, labels: NDArray[np.int64]) -> State:
        """Apply all that holds to a clustering."""
        run = self.scanned.run
        new = np.setdiff1d(labels, self.scanned.labels).tolist()  # of another clustering
        taken = frozenset([*run.get("made", []), *new])
        # Of a joined cast, that of when it was joined: one more video changes nobody's number.
        state = State.of(labels, run.get("first"), taken)
        for event in self.live:
            state.apply(event, self._find)
        return state


def _numbers(value: Any) -> list[int]:
    """Return all remembered tracks that an event speaks of."""
    if isinstance(value, dict):
        return [n for key in ("who", "tracks", "to", "away", "one", "same", "different",
                "instead", "waived")
                for n in _numbers(value.get(key, []))]  # fmt: skip
    if isinstance(value, list):
        return [n for one in value for n in (_numbers(one) if isinstance(one, list) else [one])]
    return []
