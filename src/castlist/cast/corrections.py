"""A cast that a person corrects: what is said goes into the log, and the cast follows from it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor, anchors_of, find_anchors
from castlist.cast.cast import Cast, Character, make_cast
from castlist.cast.folder import CAST, CORRECTIONS, FACES, Scanned, read_scanned
from castlist.cast.log import Event, Log
from castlist.cast.replay import State, live_events
from castlist.errors import InputError
from castlist.tracks import TrackSet
from castlist.video.parts import picture_counts

_LONGEST_NAME = 200
_A_SCAN = 1_000_000  # more than anybody says
#: Tracks of those left behind that stand for them when some are taken out.
_WITNESSES = 2


class SharedFrame(InputError):
    """Two tracks that share a frame were said to be one person, and nobody waived that.

    Attributes
    ----------
    pairs : list of (str, str)
        Ids of the tracks.
    """

    def __init__(self, pairs: list[tuple[str, str]], seconds: float) -> None:
        self.pairs = pairs
        self.seconds = seconds
        super().__init__(
            f"{len(pairs)} pairs of these tracks share a frame, the first at {seconds:.1f} s: "
            "two faces at once are two people. If it is a mirror, a split screen or a photograph, "
            "waive that (--waive)"
        )


class Corrections:
    """The cast of a folder, as corrected so far, and ways to correct it.

    Every method that changes it appends one event to the log and can be undone. ``after`` is the
    number of the last event that was seen by who asks for the change; if somebody else said
    something since, nothing happens and :class:`ChangedMeanwhile` is raised.

    Parameters
    ----------
    folder : path
        What `castlist scan` made.
    who : str, optional
        In whose name; the user's if not given.

    Examples
    --------
    >>> cast = Corrections("episode.cast")      # doctest: +SKIP
    >>> cast.name(1, "Anna")                    # doctest: +SKIP
    >>> cast.merge([1, 7])                      # doctest: +SKIP
    >>> cast.undo()                             # doctest: +SKIP
    """

    def __init__(self, folder: str | Path, who: str | None = None) -> None:
        self.folder = Path(folder)
        self.who = who
        self.lock = RLock()
        self._scans = -1
        self.log = Log(self.folder / CORRECTIONS)
        self._load()

    def close(self) -> None:
        """Let go of the log."""
        self.log.close()

    def _load(self) -> None:
        """Read what the scan made, and everything that was said."""
        self._stamp = self._stamp_now()
        self._scans += 1
        self.scanned: Scanned = read_scanned(self.folder)
        self.tracks = self.scanned.tracks
        self._place = {str(name): i for i, name in enumerate(self.tracks.ids)}
        self._rows: dict[int, NDArray[np.int64]] = {}  # of each remembered track
        self._anchors: dict[int, Anchor] = {}
        self._number: dict[int, int] = {}  # under which a row of this scan is remembered
        self._events: list[Event] = []
        self.live: list[Event] = []
        self.undone: list[Event] = []
        self._cast: Cast | None = None
        self.overlaps = self.tracks.overlaps()
        self.looks = _unit(self.tracks)
        self.pictures = picture_counts(self.folder / FACES)
        self._replay([])
        self.refresh()

    def _stamp_now(self) -> tuple[int, int]:
        try:
            stat = (self.folder / CAST).stat()
        except OSError:  # said when it is read
            return 0, 0
        return stat.st_mtime_ns, stat.st_size

    # What there is

    def refresh(self) -> int:
        """Take up what others said, or scanned, meanwhile; the number of the last event."""
        with self.lock:
            if self._stamp_now() != self._stamp:
                self._load()
                return self.last
            new = self.log.events(self.last)
            if new:
                self._learn_anchors()
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
                    self.tracks, labels, self.points, scanned.duration, scanned.pause,
                    scanned.threshold / 2, state,
                )  # fmt: skip
                self._by_number = {one.number: one for one in self._cast.characters}
            return self._cast

    def character(self, which: int | str) -> Character:
        """Return a character by number, or by name, title or number as text."""
        everybody = self.cast.characters
        if isinstance(which, int):
            if which not in self._by_number:
                raise InputError(f"{self.folder}: there is no character {which}")
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
        raise InputError(f"{self.folder}: there is no character {which!r}")

    def rows(self, tracks: Iterable[str]) -> NDArray[np.int64]:
        """Return where tracks are, by their ids."""
        found = []
        for name in tracks:
            if name not in self._place:
                raise InputError(f"{self.folder}: there is no track {name!r}")
            found.append(self._place[name])
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
            gone = [n for n in _numbers(event.body) if not len(self._rows[n])]
            if gone or (event.kind == "recluster" and event.body["clustering"] in self._void):
                missing.append((event, [self._anchors[n] for n in gone]))
        return missing

    # What can be said

    def name(self, which: int | str, name: str, *, after: int | None = None) -> None:
        """Give a character a name; an empty one takes it away."""
        with self.lock:
            self.say("name", {"who": self._who(which), "name": checked_name(name)}, after)

    def background(
        self, which: Sequence[int | str], background: bool = True, *, after: int | None = None
    ) -> None:
        """Say that characters are background, or that they are not."""
        with self.lock:
            body = {"who": [self._who(one) for one in which], "background": background}
            self.say("background", body, after)

    def merge(
        self, which: Sequence[int | str], *, name: str | None = None, waive: bool = False,
        after: int | None = None,
    ) -> None:  # fmt: skip
        """Say that characters are one person: the first keeps its number.

        Where they have different names, the one to keep must be given.
        """
        with self.lock:
            found = [self.character(one) for one in which]
            if len({one.number for one in found}) < 2:
                raise InputError("two characters at least are needed to merge")
            names = sorted({one.name for one in found if one.name})
            if name is None and len(names) > 1:
                raise InputError(f"they are called {' and '.join(names)}: which name to keep?")
            body: dict[str, Any] = {"who": [self._remember(one.tracks) for one in found]}
            body["waived"] = self._waivers([one.tracks for one in found], waive)
            if name is not None or names:
                body["name"] = checked_name(name if name is not None else names[0])
            self.say("merge", body, after)

    def move(
        self, tracks: Iterable[str], to: int | str | None = None, *, waive: bool = False,
        after: int | None = None,
    ) -> None:  # fmt: skip
        """Say that tracks belong to another character, or to a new one."""
        with self.lock:
            target = self.character(to).tracks if to is not None else np.empty(0, np.int64)
            rows = np.setdiff1d(self.rows(tracks), target)
            if not len(rows):
                raise InputError("these tracks are there already")
            rest = [
                np.setdiff1d(one.tracks, rows)
                for one in self.cast.characters
                if np.isin(one.tracks, rows).any() and not np.isin(one.tracks, target).any()
            ]
            if to is None and not sum(map(len, rest)):
                raise InputError("these tracks are a character of their own already")
            away = np.concatenate([self._least_alike(one, rows) for one in rest] or [rows[:0]])
            body = {
                "tracks": self._remember(rows), "to": self._remember(target),
                "away": self._remember(away), "waived": self._waivers([rows, target], waive),
            }  # fmt: skip
            self.say("move", body, after)

    def not_face(
        self, tracks: Iterable[str], not_face: bool = True, *, after: int | None = None
    ) -> None:
        """Say that tracks show no face, or that they do."""
        with self.lock:
            body = {"tracks": self._remember(self.rows(tracks)), "not_face": not_face}
            self.say("not_face", body, after)

    def answer(
        self, one: Iterable[str], others: Sequence[Iterable[str]], same: int | None, *,
        waive: bool = False, after: int | None = None,
    ) -> None:  # fmt: skip
        """Answer a question: which of several others is the same person as one, if any.

        Parameters
        ----------
        one : track ids
            Who was asked about.
        others : sequence of track ids
            Whom it was compared with.
        same : int or None
            Which of them is the same person; None if they are all others.
        waive : bool
            Also if they share a frame.
        after : int, optional
            The last event that was seen.
        """
        with self.lock:
            first, groups = self.rows(one), [self.rows(other) for other in others]
            if any(len(np.intersect1d(first, rows)) for rows in groups):
                raise InputError("a track cannot be on both sides of a question")
            a = self._remember(first)
            if same is None:
                body = {"a": a, "b": [self._remember(rows) for rows in groups]}
                self.say("different", body, after)
                return
            if not 0 <= same < len(groups):
                raise InputError(f"there is no answer {same}: {len(groups)} were compared")
            owners = [np.unique(self.state.owner[rows]) for rows in (first, groups[same])]
            found = {self.state.names.get(n, "") for own in owners for n in own.tolist()}
            if len(names := sorted(found - {""})) > 1:
                raise InputError(f"they are called {' and '.join(names)}: merge them instead")
            labels = np.where(self.state.not_face, -1, self.state.owner)
            whole = [np.flatnonzero(np.isin(labels, own)) for own in owners]
            body = {"a": a, "b": self._remember(groups[same])}
            self.say("same", {**body, "waived": self._waivers(whole, waive)}, after)

    def undo(self, *, after: int | None = None) -> Event:
        """Take back the last action that holds."""
        with self.lock:
            if not self.live:
                raise InputError("there is nothing to undo")
            return self._take("undo", self.live[-1], after)

    def redo(self, *, after: int | None = None) -> Event:
        """Do again what was undone last."""
        with self.lock:
            if not self.undone:
                raise InputError("there is nothing to redo")
            return self._take("redo", self.undone[0], after)

    # How

    def _take(self, kind: str, event: Event, after: int | None) -> Event:
        self.say(kind, {"event": event.number}, after)
        return event

    def say(self, kind: str, body: dict[str, Any], after: int | None = None) -> None:
        """Append an event to the log, and let it happen."""
        self.log.append(kind, body, self.last if after is None else after, self.who)
        self.refresh()

    def _who(self, which: int | str) -> list[int]:
        return self._remember(self.character(which).tracks)

    def _remember(self, rows: NDArray[np.int64]) -> list[int]:
        """Return the numbers by which the log knows tracks."""
        new = [row for row in rows.tolist() if row not in self._number]
        if new:
            numbers = self.log.anchor(self.scanned.scan_print, anchors_of(self.tracks, new))
            self._number |= dict(zip(new, numbers, strict=True))
            self._learn_anchors()
        return [self._number[row] for row in rows.tolist()]

    def _learn_anchors(self) -> None:
        """Find the tracks that the log speaks of."""
        told = self.log.anchors(max(self._rows, default=0))
        elsewhere = []
        for number, scan, anchor in told:
            self._anchors[number] = anchor
            if scan == self.scanned.scan_print:
                row = self._place[anchor.track]
                self._rows[number] = np.array([row])
                self._number[row] = number
            else:
                elsewhere.append(number)
        found = find_anchors(self.tracks, [self._anchors[n] for n in elsewhere])
        self._rows |= dict(zip(elsewhere, found, strict=True))

    def _find(self, numbers: Iterable[int]) -> NDArray[np.int64]:
        parts = [self._rows[n] for n in numbers]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.int64)

    def _replay(self, events: list[Event]) -> None:
        """Begin with the clustering that holds, and apply all that holds."""
        self.live, self.undone = live_events(events)
        self._void: set[int] = set()  # clusterings of another scan
        labels, self.points = self.scanned.labels, self.scanned.points
        for event in self.live:
            if event.kind == "recluster":
                kept = self.log.clustering(event.body["clustering"])
                if kept is not None and kept[0] == self.scanned.basis:
                    labels, self.points = kept[1], kept[2]
                else:
                    self._void.add(event.body["clustering"])
        self.state = self.state_on(labels)
        self._cast = None

    def state_on(self, labels: NDArray[np.int64]) -> State:
        """Apply all that holds to a clustering."""
        state = State.of(labels)
        for event in self.live:
            state.apply(event, self._find)
        return state

    def _least_alike(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tracks that resemble some others least: surely not the same person.

        More of them may be, where a character was two people and only some tracks are taken out.
        """
        alike = self.points[rows] @ self.points[others].mean(axis=0)
        return rows[np.argsort(alike, kind="stable")[:_WITNESSES]]

    def _waivers(self, groups: list[NDArray[np.int64]], waive: bool) -> list[list[int]]:
        """Return the pairs that share a frame and would now be one person."""
        group = np.full(len(self.tracks), -1)
        for i, rows in enumerate(groups):
            group[rows] = i
        a, b = group[self.overlaps].T
        pairs = [
            (i, j)
            for i, j in self.overlaps[(a >= 0) & (b >= 0) & (a != b)].tolist()
            if (i, j) not in self.state.waived
        ]
        if pairs and not waive:
            when, (i, j) = min((self._together_at(*pair), pair) for pair in pairs)
            ids = self.tracks.ids
            first = [(i, j), *(pair for pair in pairs if pair != (i, j))]
            raise SharedFrame([(str(ids[i]), str(ids[j])) for i, j in first], when)
        return [self._remember(np.array(pair)) for pair in pairs]

    def _together_at(self, i: int, j: int) -> float:
        """Say when two tracks share a frame first, in seconds."""
        tracks = self.tracks
        faces, others = (slice(tracks.offsets[row], tracks.offsets[row + 1]) for row in (i, j))
        shared = np.isin(tracks.frame[faces], tracks.frame[others])
        return float(tracks.time[faces][shared].min())


def _unit(tracks: TrackSet) -> NDArray[np.float32]:
    """Return the tracks' mean features, of unit length."""
    if not len(tracks):
        return np.empty((0, 0), np.float32)
    means = tracks.mean_features()
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9))


def checked_name(name: str) -> str:
    """Return a name as it is kept: one line, no blanks around it."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if len(name) > _LONGEST_NAME:
        raise InputError(f"a name has at most {_LONGEST_NAME} letters, not {len(name)}")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise InputError("a name is plain text, without control characters")
    return name


def _numbers(value: Any) -> list[int]:
    """Return all remembered tracks that an event speaks of."""
    if isinstance(value, dict):
        return [n for key in ("who", "tracks", "to", "away", "a", "b", "waived")
                for n in _numbers(value.get(key, []))]  # fmt: skip
    if isinstance(value, list):
        return [n for one in value for n in (_numbers(one) if isinstance(one, list) else [one])]
    return []
