"""The log of a cast: who said what, in SQLite, appended to and never changed."""

from __future__ import annotations

import getpass
import json
import shutil
import sqlite3
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor
from castlist.cast.said import check_faces, check_said
from castlist.errors import CastlistError, InputError
from castlist.io.untrusted import parse_json

_FORMAT = 1
_SMALLEST = 512  # bytes of a database
_LITTLE = 1 << 20  # bytes: what SQLite may want at once
#: Errors of SQLite that say nothing of what is in the file.
_OF_THE_DISK = tuple(
    f"SQLITE_{name}" for name in ("BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "PERM", "READONLY")
)
#: What reading a damaged file raises: SQLite's own message of it may not be text either.
_DAMAGED = (sqlite3.Error, UnicodeDecodeError, OverflowError)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS anchors (
    number INTEGER PRIMARY KEY,
    scan TEXT NOT NULL, track TEXT NOT NULL, video TEXT NOT NULL, faces TEXT NOT NULL,
    UNIQUE (scan, video, track));
CREATE TABLE IF NOT EXISTS clusterings (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    basis TEXT NOT NULL, labels BLOB NOT NULL, points BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'what was said stays'); END;
CREATE TRIGGER IF NOT EXISTS events_remain BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'what was said stays'); END;
"""


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


class Log:
    """The events of one cast, the tracks they speak of, and the clusterings they chose.

    Parameters
    ----------
    path : Path
        The file. It is made by the first thing that is said.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)  # which file it is, whatever it is called by now
        if not self._nothing_yet:
            self._open()

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                # SQLite takes a stub of a file for an empty one. (Only SQLite may open the file:
                # to close it anywhere in the process lets go of SQLite's locks on it.)
                if self.path.exists() and 0 < self.path.stat().st_size < _SMALLEST:
                    raise InputError(f"{self.path}: not a log of corrections")
                self._db = self._connected()
                self._file = self._file_now()
            except _DAMAGED as error:
                raise self._trouble(error, "not a log of corrections") from error
            except OSError as error:
                raise CastlistError(f"cannot write {self.path}: {error.strerror}") from error
        elif self._file_now() != self._file:  # what is said now would go nowhere
            raise CastlistError(f"{self.path} was removed or replaced meanwhile: begin again")
        return self._db

    def _connected(self) -> sqlite3.Connection:
        # One connection for all threads of a server, which takes turns (see Corrections).
        db = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
        try:
            db.isolation_level = None
            # Every event is on the disk before anybody is told that it was taken.
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            found = db.execute("PRAGMA user_version").fetchone()[0]
            if found == 0:
                db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_FORMAT}; COMMIT;")
            elif found != _FORMAT:
                raise InputError(
                    f"{self.path}: corrections of format {found}; this castlist reads {_FORMAT}"
                )
            if _schema(db) != _own_schema():
                raise InputError(f"{self.path}: a damaged log of corrections (other tables)")
        except BaseException:
            db.close()
            raise
        return db

    def _file_now(self) -> tuple[int, int]:
        try:
            stat = self.path.stat()
        except OSError:
            return 0, 0
        return stat.st_dev, stat.st_ino

    def _trouble(self, error: Exception, otherwise: str) -> CastlistError:
        """Tell what is wrong with the disk from what is wrong with the file."""
        if getattr(error, "sqlite_errorname", "").startswith(_OF_THE_DISK):
            with suppress(OSError):
                if shutil.disk_usage(self.path.parent).free < _LITTLE:
                    return CastlistError(f"cannot write {self.path}: the disk is full ({error})")
            return CastlistError(f"cannot use {self.path}: {error}")
        return InputError(f"{self.path}: {otherwise} ({error})")

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else meanwhile."""
        db = self._open()
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite goes back by itself, or is left half-way by COMMIT: then
                # this process alone would see what was said, and nobody could say more.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._trouble(error, "a damaged log of corrections") from error

    def _read(self, query: str, *values: int) -> list[Any]:
        try:
            return self._open().execute(query, values).fetchall()
        except _DAMAGED as error:
            raise self._trouble(error, "a damaged log of corrections") from error

    @property
    def _nothing_yet(self) -> bool:
        """Whether there is no file, or an empty one that was made on a full disk."""
        try:
            return self._db is None and self.path.stat().st_size == 0
        except OSError:
            return not self.path.exists()

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
        at, who = time.time() if at is None else at, _user() if who is None else who
        with self._writing() as db:
            last = db.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()[0]
            if last != after:
                raise ChangedMeanwhile(
                    f"{last - after} changes were made by somebody else; look at the cast again"
                )
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            cursor = db.execute(
                "INSERT INTO events (at, who, kind, body) VALUES (?, ?, ?, ?)",
                (at, who, kind, text),
            )
            return Event(int(cursor.lastrowid or 0), at, who, kind, body)

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
            return Event(number, float(at), str(who), kind, body)
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

    def add_clustering(
        self, basis: str, labels: NDArray[np.int64], points: NDArray[np.float32]
    ) -> int:
        """Keep a clustering of the tracks; its number."""
        with self._writing() as db:
            cursor = db.execute(
                "INSERT INTO clusterings (basis, labels, points) VALUES (?, ?, ?)",
                (basis, labels.astype("<i8").tobytes(), points.astype("<f4").tobytes()),
            )
            return int(cursor.lastrowid or 0)

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
        if not (labels > 0).all() or not np.isfinite(points).all():
            raise InputError(f"{self.path}: a damaged clustering")
        return row[0], labels, points


def _schema(db: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return what a database is made of. A view or trigger of a stranger could run for ever."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {(kind, name, " ".join(str(sql).split())) for kind, name, sql in rows}


@cache
def _own_schema() -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return _schema(db)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user here, as in some containers
        return ""
