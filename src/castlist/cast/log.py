"""The append-only log of corrections of a cast, in SQLite."""

from __future__ import annotations

import getpass
import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor, check_feature, faces_from_json, faces_to_json
from castlist.cast.cast_file import valid_embeddings
from castlist.cast.database import FORMAT, Database
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
    """The cast was changed by somebody else since it was read."""


@dataclass(frozen=True)
class Clustering:
    """A clustering that was accepted.

    Attributes
    ----------
    tracks : list of str
        Keys of the tracks, as :meth:`castlist.cast.anchors.Finder.keys` returns them.
    labels : ndarray of int
        The id of each track's character.
    points : ndarray of float32
        The embeddings that were clustered; empty if they are those of the scan, as they are since
        castlist no longer fine-tunes here (0.1.0 did).
    """

    tracks: list[str]
    labels: NDArray[np.int64]
    points: NDArray[np.float32]


class Log(Database):
    """The events of one cast, the tracks they refer to, accepted clusterings, and reserved ids.

    Parameters
    ----------
    path : Path
        The file. The first write creates it.
    """

    @property
    def last(self) -> int:
        """Number of the last event; 0 if there is none."""
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
            Its kind and body.
        after : int
            Number of the last event that the caller has seen. ConflictError is raised if there are
            later ones.
        who : str, optional
            The author; the current user if not given.
        new : sequence of int
            Ids of the characters that it creates, from :meth:`next_id`. ConflictError is raised if
            they have been taken since.
        """
        with self._writing() as db:
            _check_last(db, after)
            _take_ids(db, new)
            return _insert(db, kind, body, who)

    def append_clustering(
        self, clustering: Clustering, after: int, who: str | None = None, new: Sequence[int] = ()
    ) -> Event:
        """Store a clustering and append the event that accepts it, in one transaction."""
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
        """Return the events after an event number."""
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
                    raise InputError("it refers to tracks that are not in the log")
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{self.path}: a damaged log of corrections (event {number}: {error})"
                ) from error
            found.append(event)
        return found

    def anchor(self, anchors: Sequence[Anchor]) -> list[int]:
        """Store tracks that an event will refer to; return their numbers."""
        with self._writing() as db:
            db.execute(f"PRAGMA user_version = {FORMAT}")  # of earlier ones, it has been of another
            db.executemany(
                "INSERT OR IGNORE INTO anchors (scan, track, video, faces, describer, feature) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        one.scan, one.track, one.video, faces_to_json(one),
                        one.describer,
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
        """Return the tracks stored after a number, keyed by number."""
        if self._empty:
            return {}
        rows = self._read(
            "SELECT number, scan, video, track, faces, describer, feature FROM anchors "
            "WHERE number > ? ORDER BY number", after,
        )  # fmt: skip
        found = {}
        try:
            for number, scan, video, track, text, describer, feature in rows:
                faces, size = faces_from_json(text)
                found[number] = Anchor(
                    str(scan), str(video), str(track), faces, str(describer),
                    check_feature(feature), size,
                )  # fmt: skip
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{self.path}: a damaged log of corrections ({error})") from error
        return found

    def clustering(self, number: int) -> Clustering:
        """Return an accepted clustering."""
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
                raise ValueError("its tracks are not a list of keys")
            if len(tracks) != len(labels) or not valid_embeddings(points):
                raise ValueError("its arrays do not fit together")
            if not ((labels > 0) & (labels < MOST_IDS)).all():
                raise ValueError("an invalid id")
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.path}: a damaged clustering ({error})") from error
        return Clustering(tracks, labels, points)

    def next_id(self, first: int) -> int:
        """Return the least free id that is at least ``first``."""
        if self._empty:
            return first
        known = self._read("SELECT max(next) FROM ids")[0][0]
        return max(first, known) if type(known) is int else first

    def reserve(self, count: int, first: int) -> int:
        """Reserve ids that were never used and never will be again; return the first of them.

        Parameters
        ----------
        count : int
            Number of ids.
        first : int
            The least free id according to the other files of the folder.
        """
        with self._writing() as db:
            free = max(first, _free(db))
            # The ends alone: min() and max() of a range visit every number.
            _take_ids(db, (free, free + count - 1) if count else ())
            return free


def _check_last(db: sqlite3.Connection, after: int) -> None:
    """Raise ConflictError if there are events that the caller has not seen."""
    last = db.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
    if last != after:
        raise ConflictError("the cast was changed by somebody else; reload it and try again")


def _free(db: sqlite3.Connection) -> int:
    """Return the least id that is not taken."""
    known = db.execute("SELECT max(next) FROM ids").fetchone()[0]
    return known if type(known) is int else 1


def _take_ids(db: sqlite3.Connection, new: Sequence[int]) -> None:
    """Mark ids as taken. They are never reused, even if their event is undone."""
    if not new:
        return
    if min(new) < _free(db):
        raise ConflictError("characters were created by somebody else; try again")
    if max(new) + 1 >= MOST_IDS:
        raise InputError("no ids are left for new characters")
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
    except (OSError, KeyError, ImportError):  # no such user, as in some containers
        return ""
