"""The log of a cast: who said what, in SQLite, appended to and never changed."""

from __future__ import annotations

import getpass
import json
import sqlite3
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor
from castlist.cast.database import Database
from castlist.cast.noted import are_points
from castlist.cast.said import check_faces, check_said, check_when
from castlist.errors import CastlistError, InputError
from castlist.io.files import printable
from castlist.io.untrusted import parse_json


class ChangedMeanwhile(CastlistError):
    """Somebody else changed the cast after it was looked at."""


@dataclass(frozen=True)
class Event:
    """One thing that was said: its number in the log, when, by whom, what."""

    number: int
    at: float
    who: str
    kind: str
    body: dict[str, Any]


class Log(Database):
    """The events of one cast, the tracks they speak of, and the clusterings they chose.

    Parameters
    ----------
    path : Path
        The file. It is made by the first thing that is said.
    """

    @property
    def last(self) -> int:
        """Number of the last event; 0 if nothing was said yet."""
        if self._nothing_yet:
            return 0
        return int(self._read("SELECT max(number) FROM events")[0][0] or 0)

    def append(
        self,
        kind: str,
        body: dict[str, Any],
        after: int,
        who: str | None = None,
        at: float | None = None,
    ) -> Event:
        """Say something, having seen all events up to ``after``."""
        with self._writing() as db:
            _check_seen(db, after)
            return _insert(db, kind, body, who, at)

    def append_clustering(
        self,
        basis: str,
        labels: NDArray[np.int64],
        points: NDArray[np.float32],
        after: int,
        who: str | None = None,
    ) -> Event:
        """Keep another clustering of the tracks and say that it holds: both, or neither."""
        with self._writing() as db:
            _check_seen(db, after)
            cursor = db.execute(
                "INSERT INTO clusterings (basis, labels, points) VALUES (?, ?, ?)",
                (basis, labels.astype("<i8").tobytes(), points.astype("<f4").tobytes()),
            )
            return _insert(db, "recluster", {"clustering": int(cursor.lastrowid or 0)}, who)

    def events(self, after: int = 0) -> list[Event]:
        """Return what was said after an event."""
        if self._nothing_yet:
            return []
        rows = self._read(
            "SELECT number, at, who, kind, body FROM events WHERE number > ? ORDER BY number", after
        )
        known = {number for (number,) in self._read("SELECT number FROM anchors")} if rows else ()
        return [self._event(known, *row) for row in rows]

    def _event(
        self, known: Collection[int], number: int, at: Any, who: Any, kind: Any, text: Any
    ) -> Event:
        try:
            body = parse_json(text)
            check_said(kind, body, known)
            return Event(number, check_when(at), str(who), kind, body)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{self.path}: a damaged log of corrections (event {number}: {error})"
            ) from error

    def anchor(self, scan: str, anchors: Sequence[Anchor]) -> list[int]:
        """Remember tracks of a scan; the numbers they are remembered by."""
        with self._writing() as db:
            db.executemany(
                "INSERT OR IGNORE INTO anchors (scan, track, video, faces) VALUES (?, ?, ?, ?)",
                [(scan, one.track, one.video, json.dumps(one.faces)) for one in anchors],
            )
            find = "SELECT number FROM anchors WHERE scan = ? AND video = ? AND track = ?"
            return [
                int(db.execute(find, (scan, one.video, one.track)).fetchone()[0]) for one in anchors
            ]

    def anchors(self, after: int = 0) -> list[tuple[int, str, Anchor]]:
        """Return the tracks remembered after a number, with their numbers and scans."""
        if self._nothing_yet:
            return []
        rows = self._read(
            "SELECT number, scan, video, track, faces FROM anchors WHERE number > ? "
            "ORDER BY number", after,
        )  # fmt: skip
        try:
            return [
                (number, scan, Anchor(video, track, check_faces(parse_json(faces))))
                for number, scan, video, track, faces in rows
            ]
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{self.path}: a damaged log of corrections ({error})") from error

    def clustering(self, number: int) -> tuple[str, NDArray[np.int64], NDArray[np.float32]] | None:
        """Return what a clustering was made of, its labels and its points."""
        found = self._read("SELECT basis, labels, points FROM clusterings WHERE number = ?", number)
        if not found:
            return None
        row = found[0]
        try:
            labels = np.frombuffer(row[1], "<i8").astype(np.int64)
            points = np.frombuffer(row[2], "<f4").astype(np.float32)
            points = points.reshape(len(labels), len(points) // max(len(labels), 1))
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.path}: a damaged clustering ({error})") from error
        if not (labels > 0).all() or not are_points(points):
            raise InputError(f"{self.path}: a damaged clustering")
        return row[0], labels, points


def _check_seen(db: sqlite3.Connection, after: int) -> None:
    """Refuse to go on if more was said than who speaks has seen."""
    last = db.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
    if last != after:
        raise ChangedMeanwhile(
            f"{last - after} changes were made by somebody else; look at the cast again"
        )


def _insert(
    db: sqlite3.Connection,
    kind: str,
    body: dict[str, Any],
    who: str | None,
    at: float | None = None,
) -> Event:
    at, who = time.time() if at is None else at, _user() if who is None else who
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    cursor = db.execute(
        "INSERT INTO events (at, who, kind, body) VALUES (?, ?, ?, ?)", (at, who, kind, text)
    )
    return Event(int(cursor.lastrowid or 0), at, who, kind, body)


def _user() -> str:
    try:
        return printable(getpass.getuser())
    except (OSError, KeyError, ImportError):  # no such user here, as in some containers
        return ""
