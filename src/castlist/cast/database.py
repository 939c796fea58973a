"""The file of a log: an SQLite database that castlist can have written, or none at all."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from castlist.errors import CastlistError, InputError

#: Of the tables and of what events say; raised when a castlist of before could not read them.
_FORMAT = 2
_MIN_SIZE = 512  # bytes of a database
_MIN_FREE = 1 << 20  # bytes: what SQLite may want at once
#: Errors of SQLite that say nothing of what is in the file.
_DISK_ERRORS = tuple(
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
    describer TEXT NOT NULL, feature BLOB NOT NULL,
    UNIQUE (scan, video, track));
CREATE TABLE IF NOT EXISTS clusterings (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tracks TEXT NOT NULL, labels BLOB NOT NULL, points BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS ids (next INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'what was said stays'); END;
CREATE TRIGGER IF NOT EXISTS events_remain BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'what was said stays'); END;
"""


class Database:
    """A database that is opened by whoever reads or writes first, and stays the same file.

    Parameters
    ----------
    path : Path
        The file. It is made by the first thing that is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)  # which file it is, whatever it is called by now
        if not self._empty:
            self._open()

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                # SQLite takes a stub of a file for an empty one. (Only SQLite may open the file:
                # to close it anywhere in the process lets go of SQLite's locks on it.)
                if self.path.exists() and 0 < self.path.stat().st_size < _MIN_SIZE:
                    raise InputError(f"{self.path}: not a log of corrections")
                self._db = self._connect()
                self._file = self._file_now()
            except _DAMAGED as error:
                raise self._error(error, "not a log of corrections") from error
            except OSError as error:
                raise CastlistError(f"cannot write {self.path}: {error.strerror}") from error
        elif self._file_now() != self._file:  # what is said now would go nowhere
            raise CastlistError(f"{self.path} was removed or replaced meanwhile: begin again")
        return self._db

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._prepare(self.path)
        except sqlite3.OperationalError:
            # Where nothing can be written a log can be read all the same, if all of it is in its
            # file: SQLite would put others beside it.
            if os.access(self.path.parent, os.W_OK) or self._unfinished or not self.path.is_file():
                raise
            as_it_is = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            return self._prepare(as_it_is, uri=True)

    @property
    def _unfinished(self) -> bool:
        """Whether the last who wrote was killed: what it said is in a file beside the log."""
        beside = self.path.with_name(f"{self.path.name}-wal")
        return beside.exists() and beside.stat().st_size > 0

    def _prepare(self, place: str | Path, uri: bool = False) -> sqlite3.Connection:
        # One connection for all threads of a server, which takes turns (see Corrections).
        db = sqlite3.connect(place, timeout=10, check_same_thread=False, uri=uri)
        try:
            db.isolation_level = None
            # Every event is on the disk before anybody is told that it was taken.
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            found = db.execute("PRAGMA user_version").fetchone()[0]
            if found == 0:
                db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_FORMAT}; COMMIT;")
            elif found != _FORMAT:
                newer = "; it was written by a newer castlist: use that one, or a later one"
                raise InputError(
                    f"{self.path}: corrections of format {found}, and this castlist reads format "
                    f"{_FORMAT}{newer if found > _FORMAT else ''}"
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

    def _error(self, error: Exception, otherwise: str) -> CastlistError:
        """Tell what is wrong with the disk from what is wrong with the file."""
        if getattr(error, "sqlite_errorname", "").startswith(_DISK_ERRORS):
            with suppress(OSError):
                if shutil.disk_usage(self.path.parent).free < _MIN_FREE:
                    return CastlistError(f"cannot write {self.path}: the disk is full ({error})")
            if not os.access(self.path.parent, os.W_OK):
                return CastlistError(
                    f"cannot write {self.path}: its folder is read-only; copy it elsewhere "
                    f"({error})"
                )
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
            raise self._error(error, "a damaged log of corrections") from error

    def _read(self, query: str, *values: int) -> list[Any]:
        try:
            return self._open().execute(query, values).fetchall()
        except _DAMAGED as error:
            raise self._error(error, "a damaged log of corrections") from error

    @property
    def _empty(self) -> bool:
        """Whether there is no file, or an empty one that was made on a full disk."""
        try:
            return self._db is None and self.path.stat().st_size == 0
        except OSError:
            return not self.path.exists()


def set_aside(path: Path) -> Path | None:
    """Move a log to a dated name beside it, and return that; None if there is no log.

    Who has it open goes on writing into the moved file: nothing that is said is lost.
    """
    if not path.exists():
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=10)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # all of it into the one file
    name, k = f"{path.stem}-{time.strftime('%Y-%m-%d')}", 2
    aside = path.with_name(f"{name}{path.suffix}")
    while aside.exists():
        aside, k = path.with_name(f"{name}-{k}{path.suffix}"), k + 1
    for beside in ("-wal", "-shm", "-journal", ""):  # where there are some, they belong to it
        with suppress(FileNotFoundError):
            os.replace(f"{path}{beside}", f"{aside}{beside}")
    return aside


def _schema(db: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return what a database is made of. A view or trigger of a stranger could run for ever."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {(kind, name, " ".join(str(sql).split())) for kind, name, sql in rows}


@cache
def _own_schema() -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return _schema(db)
