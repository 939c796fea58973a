"""The log of a cast: who said what, in SQLite, appended to and never changed."""

from __future__ import annotations

import getpass
import json
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import Anchor
from castlist.errors import CastlistError, InputError

_FORMAT = 1
_SMALLEST = 512  # bytes of a database
_LITTLE = 1 << 20  # bytes: what SQLite may want at once
#: Errors of SQLite that say nothing of what is in the file.
_OF_THE_DISK = tuple(
    f"SQLITE_{name}" for name in ("BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "PERM", "READONLY")
)
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
            except sqlite3.Error as error:
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

    def _trouble(self, error: sqlite3.Error, otherwise: str) -> CastlistError:
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
        except sqlite3.Error as error:
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
        return [
            Event(number, at, who, kind, json.loads(body)) for number, at, who, kind, body in rows
        ]

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
        return [
            (number, scan, Anchor(video, track, tuple(map(tuple, json.loads(faces)))))
            for number, scan, video, track, faces in rows
        ]

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
        labels = np.frombuffer(row[1], "<i8").astype(np.int64)
        points = np.frombuffer(row[2], "<f4").astype(np.float32)
        return row[0], labels, points.reshape(len(labels), len(points) // max(len(labels), 1))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user here, as in some containers
        return ""
