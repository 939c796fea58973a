"""The current cast of a folder: the result of the scan, with all corrections applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor, CutTracks, unit
from castlist.cast.cast import Cast, Character, make_cast
from castlist.cast.covers import picture_quality, shown_tracks
from castlist.cast.events import ACTIONS, Body, Edit, Event, live_events
from castlist.cast.finder import Finder, SameTracks, found_in, present, same_tracks
from castlist.cast.folder import CAST, CORRECTIONS, Scanned, read_scanned
from castlist.cast.log import Clustering, Log
from castlist.cast.state import State
from castlist.errors import InputError
from castlist.io.pictures import Cover

if TYPE_CHECKING:
    from castlist.cast.evidence import Facts

Rows = NDArray[np.int64]
_VERSIONS_PER_SCAN = 1_000_000  # more than there are events
#: Events after which the state is computed from the start, not incrementally.
_REBUILD = ("undo", "redo", "recluster", "found", "cut", "add", "remove")


@dataclass(frozen=True)
class LostTrack:
    """A track that an event refers to and that was not found in this scan, or not as a whole.

    Attributes
    ----------
    event : Event
        The last event that refers to it.
    number : int
        The number of its anchor.
    anchor : Anchor
        The track.
    there : ndarray of int
        Tracks that are at its time and place now, with a different face.
    partly : bool
        Whether some of it was found; ``there`` are tracks that no correction applies to.
    """

    event: Event
    number: int
    anchor: Anchor
    there: Rows
    partly: bool = False


class CurrentCast:
    """The cast of a folder, as corrected so far.

    Parameters
    ----------
    folder : path
        A folder from `castlist scan` or `castlist join`.
    who : str, optional
        The author of new events; the current user if not given.
    scanned : Scanned, optional
        The result of a scan that is not in the folder yet; read from the folder if not given.
    """

    def __init__(
        self, folder: str | Path, who: str | None = None, scanned: Scanned | None = None
    ) -> None:
        self.folder = Path(folder)
        #: The model of the scan, if it is not a shipped one and the user has named it.
        self.model: Path | None = None
        self.who = who
        self._given = scanned
        self.lock = RLock()
        self._scans = -1
        self._events: list[Event] = []
        self.live: list[Event] = []
        self.undone: list[Event] = []
        self._cast: Cast | None = None
        self._by_number: dict[int, Character] = {}
        self._finder: Finder
        self.cut_tracks: CutTracks
        self.mean_features: NDArray[np.float32]
        self.log = Log(self.folder / CORRECTIONS)
        try:
            self._load()
        except BaseException:  # the caller gets no object to close
            self.log.close()
            raise

    def close(self) -> None:
        """Close the log."""
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _load(self) -> None:
        """Read the result of the scan and all events."""
        stamp = self._stamp_now()
        events = self.log.events()
        live, _ = live_events(events)
        self.scanned: Scanned = self._given or read_scanned(self.folder, live)
        self._stamp = stamp  # only if it could be read: else the next refresh tries again
        self._scans += 1
        if not np.isfinite(self.scanned.tracks.time).all():
            raise InputError(f"{self.folder}: some of its faces have no time; scan the video again")
        self.whole_features = unit_mean_features(self.scanned)
        self._cuts: tuple[list[tuple[int, float]], SameTracks] | None = None
        self._faces = self._faces_now()
        self._fold(events)

    def _stamp_now(self) -> tuple[int, int]:
        try:
            stat = (self.folder / CAST).stat()
        except OSError:  # reading it reports the error
            return 0, 0
        return stat.st_mtime_ns, stat.st_size

    def _faces_now(self) -> dict[Path, int]:
        """Return the inode of each folder of pictures: a new scan uses the same names."""
        names = {self.scanned.faces_folder(track) for track in self.scanned.tracks.ids.tolist()}
        return {name: name.stat().st_ino for name in names if name.is_dir()}

    def has_pictures(self, track: str) -> bool:
        """Return whether the pictures of a track on disk are those of this scan."""
        folder = self.scanned.faces_folder(track)
        try:
            return folder.stat().st_ino == self._faces.get(folder)
        except OSError:
            return False

    def refresh(self) -> int:
        """Apply events and scans of other processes; return the number of the last event."""
        with self.lock:
            if self._stamp_now() != self._stamp:
                self._load()
                return self.last
            new = self.log.events(self.last)
            if not new:
                return self.last
            if any(event.kind in ("add", "remove") for event in self._touched(new)):
                self._load()
            elif any(event.kind in _REBUILD for event in new):
                self._fold([*self._events, *new])
            else:
                self._finder.learn()
                for event in new:
                    self.state.apply(event.body, self._finder.rows)
                self._events += new
                self.live += new
                self.undone = []
                self._cast = None
            return self.last

    def _touched(self, new: list[Event]) -> list[Event]:
        """Return the events that new ones bring into effect, or out of it."""
        before = {event.number for event in self.live}
        now, _ = live_events([*self._events, *new])
        after = {event.number for event in now}
        return [one for one in [*self._events, *new] if one.number in before ^ after]

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """Hold the lock of the cast, refreshed."""
        with self.lock:
            self.refresh()
            yield

    def _fold(self, events: list[Event]) -> None:
        """Compute the state: a fold over the events in effect."""
        self._events = events
        self.live, self.undone = live_events(events)
        same = same_tracks(self.live)
        if self._apply_cuts(same):
            self._finder = Finder(self.log, self.cut_tracks, self.scanned, self.mean_features)
        else:
            self._finder.learn()
        self._finder.same = same
        self.state = State.of(self.scanned.labels[self.cut_tracks.origin])
        self.points = self.cut_tracks.points(self.scanned.points, self.mean_features)
        for event in self.live:
            self.apply(self.state, event)
            if event.kind == "recluster" and event.number not in self.scanned.taken:
                self._take_points(event.body.clustering)
        self._cast = None

    def _apply_cuts(self, same: SameTracks) -> bool:
        """Apply the cuts in effect; return whether they differ from those applied before."""
        wanted = [
            (cut.track, cut.at)
            for event in self.live
            if isinstance(event.body, Edit)
            for cut in event.body.cuts
        ]
        now = wanted, same if wanted else {}
        if now == self._cuts:
            return False
        self._cuts = now
        self.cut_tracks = CutTracks.whole(self.scanned.tracks)
        self.mean_features = self.whole_features
        anchors = self.log.anchors() if wanted else {}
        for number, seconds in wanted:
            rows = present(number, same, lambda one: self._rows_of(anchors[one]))
            for row in rows[::-1].tolist():
                self.cut_tracks = self.cut_tracks.cut(row, seconds)
            self.mean_features = self.cut_tracks.mean_features(self.whole_features)
        self.tracks = self.cut_tracks.tracks
        self._place = {name: row for row, name in enumerate(self.tracks.ids.tolist())}
        for name in ("overlaps", "pictures", "covers", "facts", "_worth"):
            self.__dict__.pop(name, None)
        return True

    def _rows_of(self, anchor: Anchor) -> Rows:
        scans = [self.scanned.scans[film] for film in self.cut_tracks.tracks.video.tolist()]
        rows = [
            row
            for row, (scan, marks) in enumerate(zip(scans, self.cut_tracks.marks, strict=True))
            if any((scan + times, name) == (anchor.scan, anchor.track) for times, name in marks)
        ]
        if rows:
            return np.array(rows)
        given = (self.scanned, self.cut_tracks.tracks, [anchor], self.mean_features)
        return found_in(*given)[0][0]

    def apply(self, state: State, event: Event) -> None:
        """Apply an event to a state of this cast."""
        if isinstance(event.body, Edit):
            state.apply(event.body, self._finder.rows)
        elif event.kind == "recluster" and event.number not in self.scanned.taken:
            kept, known, rows = self._clustering(event.body.clustering)
            state.base[rows] = kept.labels[known]

    def _take_points(self, number: int) -> None:
        """Use the embeddings of a clustering, if it has its own and covers all tracks."""
        kept, known, rows = self._clustering(number)
        if len(kept.points) and len(rows) == len(self.tracks):
            self.points[rows] = kept.points[known]

    def _clustering(self, number: int) -> tuple[Clustering, list[int], Rows]:
        """Return a clustering, the positions of its tracks that are present, and their rows."""
        kept = self.log.clustering(number)
        place = {key: row for row, key in enumerate(self.keys())}
        known = [k for k, key in enumerate(kept.tracks) if key in place]
        return kept, known, np.array([place[kept.tracks[k]] for k in known], np.int64)

    @property
    def last(self) -> int:
        """Number of the last event that is applied."""
        return self._events[-1].number if self._events else 0

    @property
    def version(self) -> int:
        """Version of the cast: changes with every event and with every scan."""
        return self.last + _VERSIONS_PER_SCAN * self._scans

    @property
    def undoable(self) -> Event | None:
        """The last correction in effect, which `undo` would undo; None if there is none."""
        return self.live[-1] if self.live and self.live[-1].kind in ACTIONS else None

    @property
    def next_id(self) -> int:
        """The least id that no character has, according to the state and the folder."""
        known = (*self.state.base.tolist(), *self.state.pin.tolist(), *self.state.names)
        return max(self.scanned.next_id, max(known, default=0) + 1)

    @property
    def cast(self) -> Cast:
        """The characters, as corrected."""
        with self.lock:
            if self._cast is None:
                made = make_cast(
                    self.tracks, self.state.labels, self.mean_features, self.scanned.duration,
                    self.state, self.scanned.starts.tolist(),
                )  # fmt: skip
                self._cast = replace(made, folder=self.folder)
                self._by_number = {one.number: one for one in self._cast.characters}
            return self._cast

    @cached_property
    def overlaps(self) -> Rows:
        """Pairs of tracks that share a frame."""
        return self.tracks.overlaps()

    @cached_property
    def facts(self) -> Facts:
        """Facts about the tracks, for questions."""
        from castlist.cast.evidence import Facts

        return Facts.of(self.tracks, self.mean_features, self.overlaps)

    @cached_property
    def covers(self) -> dict[str, Cover]:
        """The cover of each track; a part of a cut track has one if it contains that picture."""
        found = self.scanned.covers()
        for track, whole, shown in self._parts(found):
            if 0 in shown:
                found[track] = found[whole]
        return found

    @cached_property
    def pictures(self) -> dict[str, int]:
        """Number of pictures of each track; a part of a cut track has those within it."""
        found = self.scanned.picture_counts()
        for track, _, shown in self._parts(self.scanned.covers()):
            found[track] = len(shown)
        return found

    def _parts(self, covers: dict[str, Cover]) -> Iterator[tuple[str, str, list[int]]]:
        """Yield the id of each part, the id of its whole track, and the pictures within it."""
        for row in self.cut_tracks.parts.tolist():
            marks = self.cut_tracks.marks[row]
            whole, track = marks[0][1], marks[-1][1]
            start, end = self.tracks.spans[row].round(3).tolist()  # as the times of pictures are
            cover = covers.get(whole)
            times = () if cover is None else cover.times or (cover.time,)
            yield track, whole, [k for k, time in enumerate(times) if start <= time < end]

    def pictures_of(self, track: str) -> list[Path]:
        """Return the pictures of a track's faces, best first; of a part, those within it."""
        paths = self.scanned.pictures(self._whole(track))
        if track == self._whole(track):
            return paths
        shown = next(some for name, _, some in self._parts(self.scanned.covers()) if name == track)
        return [paths[k] for k in shown if k < len(paths)]

    def picture_times(self, track: str) -> list[float]:
        """Return the time of each picture of a track, in the order of :meth:`pictures_of`."""
        covers = self.scanned.covers()
        cover = covers.get(self._whole(track))
        times = [] if cover is None else list(cover.times or (cover.time,))
        if track == self._whole(track):
            return times
        shown = next(some for name, _, some in self._parts(covers) if name == track)
        return [times[k] for k in shown]

    def frame_of(self, track: str) -> Path | None:
        """Return the path of the frame of a track's best picture; None if it cannot have one."""
        known = track == self._whole(track) or track in self.covers
        return self.scanned.frame(self._whole(track)) if known else None

    def _whole(self, track: str) -> str:
        """Return the id of the track before all cuts."""
        return self.cut_tracks.marks[self._place[track]][0][1]

    @cached_property
    def _worth(self) -> NDArray[np.float64]:
        known = (self.covers.get(track) for track in self.tracks.ids.tolist())
        quality = np.array([one.quality if one else 0.0 for one in known], np.float64)
        return picture_quality(self.tracks.face_counts, quality)

    def shown(self, rows: Rows, most: int) -> list[list[int]]:
        """Return the tracks to show for a character, as :func:`shown_tracks` does."""
        return shown_tracks(rows, most, self._worth, self.points)

    def character(self, which: int | str) -> Character:
        """Return a character by number, or by number, name or title as text."""
        everybody = self.cast.characters
        if isinstance(which, str) and which.isascii() and which.isdigit():
            number = int(which) if len(which) < 10 else 0
            if number in self._by_number:
                return self._by_number[number]
        if isinstance(which, int):
            if which not in self._by_number:
                raise self._no_such_character(which)
            return self._by_number[which]
        for kind in ("name", "title"):
            found = [one for one in everybody if which and which == getattr(one, kind)]
            if len(found) > 1:
                numbers = " and ".join(str(one.number) for one in found)
                raise InputError(f"{len(found)} characters are called {which!r}: {numbers}")
            if found:
                return found[0]
        raise self._no_such_character(which)

    def _no_such_character(self, which: int | str) -> InputError:
        return InputError(
            f"{self.folder}: there is no character {which!r}; the report lists names and numbers "
            f"(`castlist report {self.folder}` writes it)"
        )

    def has_track(self, track: str) -> bool:
        """Return whether there is a track with this id."""
        return track in self._place

    def rows(self, tracks: Iterable[str]) -> Rows:
        """Return the rows of tracks, by their ids."""
        found = []
        for name in tracks:
            if name not in self._place:
                raise InputError(
                    f"{self.folder}: there is no track {name!r}; "
                    f"`castlist export {self.folder} --to csv -o -` lists them"
                )
            found.append(self._place[name])
        if not found:
            raise InputError("no tracks were given")
        return np.unique(found)

    @property
    def history(self) -> list[tuple[Event, bool]]:
        """Every event, and whether it is in effect."""
        holds = {event.number for event in self.live}
        return [(event, event.number in holds) for event in self._events]

    @property
    def lost(self) -> list[LostTrack]:
        """The tracks of corrections that were not found, or that have a different face now."""
        last = {
            number: event
            for event in self.live
            if isinstance(event.body, Edit)
            for number in sorted(event.anchors())
        }
        said, lost = self._finder.rows(last), []
        for number, there in self._finder.missing.items():
            if number in last:
                # One that is elsewhere, as a person said, is not lost, whoever is in its place.
                partly = self._finder.is_present(number)
                rest = np.setdiff1d(there, said) if partly else there
                if len(rest) if partly else not len(self._finder.rows([number])):
                    anchor = self._finder.anchors[number]
                    lost.append(LostTrack(last[number], number, anchor, rest, partly))
        return lost

    def keys(self) -> list[str]:
        """Return a key for each track that is unique among all scans."""
        return self._finder.keys()

    def anchor_numbers(self, rows: Rows) -> tuple[int, ...]:
        """Return the anchor numbers of tracks; new anchors are stored in the log."""
        return tuple(self._finder.numbers(rows))

    def append_event(
        self, kind: str, body: Body, after: int | None = None, new: Sequence[int] = ()
    ) -> Event:
        """Append an event to the log, with the ids of new characters, and apply it."""
        seen = self.last if after is None else after
        event = self.log.append(kind, body, seen, self.who, new)
        self.refresh()
        return event


def unit_mean_features(scanned: Scanned) -> NDArray[np.float32]:
    """Return the mean features of a scan's tracks, normalised to unit length."""
    if not len(scanned.tracks):
        return np.empty((0, 0), np.float32)
    return unit(scanned.tracks.mean_features())
