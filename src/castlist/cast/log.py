"""The log of a cast: who said what, in SQLite, appended to and never changed."""

from __future__ import annotations

import getpass
import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor, check_faces, check_feature
from castlist.cast.cast_file import valid_embeddings
from castlist.cast.database import Database
from castlist.cast.events import (
    MOST_IDS,
    AcceptedClustering,
    Body,
    Event,
    check_time,
    read_body,
    write_body,
)
from castlist.errors import CastlistError, InputError
from castlist.io.files import printable
from castlist.io.untrusted import parse_json


class ConflictError(CastlistError):
    """Somebody else changed the cast after it was looked at."""


@dataclass(frozen=True)
class Clustering:
    """A clustering that was taken.

    Attributes
    ----------
    tracks : list of str
        Which tracks, as :meth:`castlist.cast.anchors.Finder.keys` calls them.
    labels : ndarray of int
        The id of each one's character.
    points : ndarray of float32
        What was clustered; empty if that was as the scan left it.
    """

    tracks: list[str]
    labels: NDArray[np.int64]
    points: NDArray[np.float32]


class Log(Database):
    """The events of one cast, the tracks they speak of, the clusterings they chose, and ids.

    Parameters
    ----------
    path : Path
        The file. It is made by the first thing that is said.
    """

    @property
    def last(self) -> int:
        """Number of the last event; 0 if nothing was said yet."""
        if self._empty:
            return 0
        return int(self._read("SELECT max(number) FROM events")[0][0] or 0)

    def append(
        self, kind: str, body: Body, after: int, who: str | None = None, new: Sequence[int] = ()
    ) -> Event:
        """Append an event.

        Parameters
        ----------
        kind, body
            What it says.
        after : int
            The last event that was seen; if there is another since, it is refused.
        who : str, optional
            Who says it; the user if not given.
        new : sequence of int
            Ids of the characters that it makes, as :meth:`next_id` said; if they are not free any
            more, it is refused.
        """
        with self._writing() as db:
            _check_last(db, after)
            _take_ids(db, new)
            return _insert(db, kind, body, who)

    def append_clustering(
        self, clustering: Clustering, after: int, who: str | None = None, new: Sequence[int] = ()
    ) -> Event:
        """Keep a clustering and append the event that takes it: both, or neither."""
        with self._writing() as db:
            _check_last(db, after)
            _take_ids(db, new)
            cursor = db.execute(
                "INSERT INTO clusterings (tracks, labels, points) VALUES (?, ?, ?)",
                (
                    json.dumps(clustering.tracks), clustering.labels.astype("<i8").tobytes(),
                    clustering.points.astype("<f4").tobytes(),
                ),
            )  # fmt: skip
            body = AcceptedClustering(clustering=int(cursor.lastrowid or 0))
            return _insert(db, "recluster", body, who)

    def events(self, after: int = 0) -> list[Event]:
        """Return what was said after an event."""
        if self._empty:
            return []
        rows = self._read(
            "SELECT number, at, who, kind, body FROM events WHERE number > ? ORDER BY number", after
        )
        known = (
            {number for (number,) in self._read("SELECT number FROM anchors")} if rows else set()
        )
        found = []
        for number, at, who, kind, text in rows:
            try:
                event = Event(number, check_time(at), str(who), kind, read_body(kind, text))
                if not event.anchors() <= known:
                    raise InputError("it speaks of tracks that are not in the log")
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{self.path}: a damaged log of corrections (event {number}: {error})"
                ) from error
            found.append(event)
        return found

    def anchor(self, anchors: Sequence[Anchor]) -> list[int]:
        """Store tracks that an event will speak of; return their numbers."""
        with self._writing() as db:
            db.executemany(
                "INSERT OR IGNORE INTO anchors (scan, track, video, faces, describer, feature) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        one.scan, one.track, one.video, json.dumps(one.faces), one.describer,
                        one.feature.astype("<f2").tobytes(),
                    )
                    for one in anchors
                ],
            )  # fmt: skip
            find = "SELECT number FROM anchors WHERE scan = ? AND video = ? AND track = ?"
            return [
                int(db.execute(find, (one.scan, one.video, one.track)).fetchone()[0])
                for one in anchors
            ]

    def anchors(self, after: int = 0) -> dict[int, Anchor]:
        """Return the tracks stored after a number, by number."""
        if self._empty:
            return {}
        rows = self._read(
            "SELECT number, scan, video, track, faces, describer, feature FROM anchors "
            "WHERE number > ? ORDER BY number", after,
        )  # fmt: skip
        try:
            return {
                number: Anchor(
                    str(scan), str(video), str(track), check_faces(parse_json(faces)),
                    str(describer), check_feature(feature),
                )
                for number, scan, video, track, faces, describer, feature in rows
            }  # fmt: skip
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{self.path}: a damaged log of corrections ({error})") from error

    def clustering(self, number: int) -> Clustering:
        """Return a clustering that was taken."""
        found = self._read(
            "SELECT tracks, labels, points FROM clusterings WHERE number = ?", number
        )
        try:
            ((text, ids, where),) = found
            tracks = parse_json(text)
            labels = np.frombuffer(ids, "<i8").astype(np.int64)
            points = np.frombuffer(where, "<f4").astype(np.float32)
            points = points.reshape(len(labels) if len(points) else 0, -1 if len(points) else 0)
            if not isinstance(tracks, list) or not all(isinstance(one, str) for one in tracks):
                raise ValueError("of no tracks")
            if len(tracks) != len(labels) or not valid_embeddings(points):
                raise ValueError("its parts do not fit")
            if not ((labels > 0) & (labels < MOST_IDS)).all():
                raise ValueError("an id that is none")
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.path}: a damaged clustering ({error})") from error
        return Clustering(tracks, labels, points)

    def next_id(self, first: int) -> int:
        """Return the least id that is free now, ``first`` if nobody reserved it."""
        if self._empty:
            return first
        known = self._read("SELECT max(next) FROM ids")[0][0]
        return max(first, known) if type(known) is int else first

    def reserve(self, count: int, first: int) -> int:
        """Reserve ids that nobody was given and nobody else will be; return the first of them.

        Parameters
        ----------
        count : int
            How many.
        first : int
            The least that is free, as far as the folder's other files say.
        """
        with self._writing() as db:
            free = max(first, _free(db))
            _take_ids(db, range(free, free + count))
            return free


def _check_last(db: sqlite3.Connection, after: int) -> None:
    """Refuse to go on if more was said than who speaks has seen."""
    last = db.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
    if last != after:
        raise ConflictError("the cast was changed by somebody else meanwhile; look at it again")


def _free(db: sqlite3.Connection) -> int:
    """Return the least id that nobody took."""
    known = db.execute("SELECT max(next) FROM ids").fetchone()[0]
    return known if type(known) is int else 1


def _take_ids(db: sqlite3.Connection, new: Sequence[int]) -> None:
    """Let ids be taken: nobody is given them again, also if what they were for is undone."""
    if not new:
        return
    if min(new) < _free(db):
        raise ConflictError("characters were made by somebody else meanwhile; try again")
    if max(new) + 1 >= MOST_IDS:
        raise InputError("no numbers are left for characters")
    db.execute("DELETE FROM ids")
    db.execute("INSERT INTO ids (next) VALUES (?)", (max(new) + 1,))


def _insert(db: sqlite3.Connection, kind: str, body: Body, who: str | None) -> Event:
    at, who = time.time(), _user() if who is None else who
    cursor = db.execute(
        "INSERT INTO events (at, who, kind, body) VALUES (?, ?, ?, ?)",
        (at, who, kind, write_body(body)),
    )
    return Event(int(cursor.lastrowid or 0), at, who, kind, body)


def _user() -> str:
    try:
        return printable(getpass.getuser())
    except (OSError, KeyError, ImportError):  # no such user here, as in some containers
        return ""
