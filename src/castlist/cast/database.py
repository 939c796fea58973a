"""The SQLite file of a log: opening, locking, and validation of its schema."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from castlist.errors import CastlistError, InputError
from castlist.io.cast_files import refuse_link

#: Version of the tables and event bodies; raised if older versions of castlist cannot read them.
FORMAT = 3
#: Versions that are read. In version 2, anchors do not state the size of the frame.
_READ = (2, 3)
#: Suffixes of the files that SQLite makes beside a database. They belong to it.
_SIDE_FILES = ("-wal", "-shm", "-journal")
#: How a journal ends that names the journal of several databases: SQLite deletes that file.
_END_OF_NAME = bytes.fromhex("d9d505f920a163d7")
_MIN_SIZE = 512  # bytes of the smallest database
_MIN_FREE = 1 << 20  # bytes that SQLite may need for one write
#: SQLite errors caused by the disk or by locks, not by the content of the file.
_DISK_ERRORS = tuple(
    f"SQLITE_{name}" for name in ("BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "PERM", "READONLY")
)
#: Errors from reading a damaged file; SQLite's message may contain invalid UTF-8.
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
    """A database that is opened on first use.

    Parameters
    ----------
    path : Path
        The file. The first write creates it.
    read_only : bool
        Whether to read only, and to write nothing beside the file either.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._db: sqlite3.Connection | None = None
        self._file = (0, 0)  # device and inode, to notice that it was replaced
        check_files(path)
        if not self._empty:
            self._open()

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            try:
                # SQLite treats a truncated file as an empty database. (Do not open the file here:
                # closing any handle in this process releases SQLite's locks on it.)
                if self.path.exists() and 0 < self.path.stat().st_size < _MIN_SIZE:
                    raise InputError(f"{self.path}: not a log of corrections")
                check_files(self.path)
                if not self._empty:
                    self._look()
                self._db = self._connect_to_read() if self._read_only else self._connect()
                self._file = self._file_now()
            except _DAMAGED as error:
                raise self._error(error, "not a log of corrections") from error
            except OSError as error:
                raise CastlistError(f"cannot write {self.path}: {error.strerror}") from error
        elif self._file_now() != self._file:  # further events would be lost
            raise CastlistError(f"{self.path} was removed or replaced; open the cast again")
        return self._db

    def _look(self) -> None:
        """Raise an InputError if the file is not a log. Nothing is written."""
        with closing(self._to_read("immutable=1")) as db:
            if db.execute("PRAGMA application_id").fetchone()[0]:
                raise InputError(f"{self.path}: not a log of corrections, but another database")
            self._has_tables(db)

    def _connect(self) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
            return self._prepare(db, "PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # In a read-only folder SQLite cannot create its side files, but the log can be read as
            # immutable if all of it is in the main file.
            if os.access(self.path.parent, os.W_OK) or self._unfinished or not self.path.is_file():
                raise
            return self._prepare(self._to_read("immutable=1"))

    def _connect_to_read(self) -> sqlite3.Connection:
        """Connect without writing, also if a process has not finished or was killed."""
        try:
            how = "readonly_shm=1" if self._unfinished else "immutable=1"
            return self._prepare(self._to_read(how))
        except sqlite3.OperationalError:
            if not self._unfinished:
                raise
        # The file with -shm is missing, so no process has the log open. (If this one had, to open
        # and close the file would release SQLite's locks on it.)
        with TemporaryDirectory() as place:
            copy = Path(shutil.copyfile(self.path, Path(place, self.path.name)))
            shutil.copyfile(f"{self.path}-wal", f"{copy}-wal")
            with closing(sqlite3.connect(copy)) as db:
                db.execute("PRAGMA journal_mode = DELETE")  # there is no other in memory
                memory = sqlite3.connect(":memory:", check_same_thread=False)
                db.backup(memory)
        return self._prepare(memory)

    def _to_read(self, how: str) -> sqlite3.Connection:
        place = f"{self.path.absolute().as_uri()}?mode=ro&{how}"
        return sqlite3.connect(place, timeout=10, check_same_thread=False, uri=True)

    @property
    def _unfinished(self) -> bool:
        """Whether a killed process left events in the write-ahead log."""
        beside = self.path.with_name(f"{self.path.name}-wal")
        return beside.exists() and beside.stat().st_size > 0

    def _prepare(self, db: sqlite3.Connection, *first: str) -> sqlite3.Connection:
        """Check a connection after some pragmas, and make the tables if there are none."""
        # One connection for all threads of a server; Corrections has a lock for them.
        try:
            db.isolation_level = None
            # Every event is on the disk before the call that appends it returns.
            for pragma in (*first, "PRAGMA synchronous = FULL"):
                db.execute(pragma)
            if not self._has_tables(db):
                if self._read_only:
                    db.close()
                    db = sqlite3.connect(":memory:", check_same_thread=False)
                db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        except BaseException:
            db.close()
            raise
        return db

    def _has_tables(self, db: sqlite3.Connection) -> bool:
        """Return whether a database is a log; False if it is empty.

        A process that was killed while it made the log leaves it empty.

        Raises
        ------
        InputError
            It is of another format, or has other tables.
        """
        version, tables = db.execute("PRAGMA user_version").fetchone()[0], _schema(db)
        if not version and not tables:
            return False
        if version and version not in _READ:
            newer = "; it was written by a newer version of castlist: update castlist"
            raise InputError(
                f"{self.path}: corrections of format {version}, but this castlist reads format "
                f"{FORMAT}{newer if version > FORMAT else ''}"
            )
        if tables != _own_schema():
            raise InputError(f"{self.path}: a damaged log of corrections (unexpected tables)")
        return bool(version)

    def _file_now(self) -> tuple[int, int]:
        try:
            status = self.path.stat()
        except OSError:
            return 0, 0
        return status.st_dev, status.st_ino

    def _error(self, error: Exception, otherwise: str) -> CastlistError:
        """Return the error to raise, which tells disk problems from a damaged file."""
        name = getattr(error, "sqlite_errorname", "")
        # A file that was begun on a full disk is malformed.
        if name.startswith((*_DISK_ERRORS, "SQLITE_CORRUPT")):
            with suppress(OSError):
                if shutil.disk_usage(self.path.parent).free < _MIN_FREE:
                    return CastlistError(f"cannot write {self.path}: the disk is full ({error})")
        if name.startswith(_DISK_ERRORS):
            if not os.access(self.path.parent, os.W_OK):
                return CastlistError(
                    f"cannot write {self.path}: its folder is read-only; copy it elsewhere "
                    f"({error})"
                )
            return CastlistError(f"cannot use {self.path}: {error}")
        return InputError(f"{self.path}: {otherwise} ({error})")

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Run a block in an exclusive transaction; an exception rolls it back."""
        db = self._open()
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite may roll back by itself, or COMMIT may fail and leave the
                # transaction open: then only this process would see the event, and keep the lock.
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
        """Whether there is no file, or an empty one from a full disk."""
        try:
            return self._db is None and self.path.stat().st_size == 0
        except OSError:
            return not self.path.exists()


def check_files(path: Path) -> None:
    """Raise an InputError if SQLite would write to a file other than a log and its side files.

    It follows links; with a second name of a file, a write to one is a write to the other; and a
    journal may name a file that it deletes when it reads the journal.
    """
    for suffix in ("", *_SIDE_FILES):
        file = Path(f"{path}{suffix}")
        refuse_link(file)
        try:
            status = file.lstat()
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise InputError(
                f"{file}: a file with another name elsewhere, or no file at all; put a copy of its "
                "own in its place"
            )
        if suffix == "-journal" and _names_a_file(file):
            raise InputError(f"{file} names a file, which SQLite would delete; remove this journal")


def _names_a_file(journal: Path) -> bool:
    """Return whether the journal of a transaction over several databases names a file."""
    try:
        with journal.open("rb") as file:
            file.seek(max(0, journal.stat().st_size - len(_END_OF_NAME)))
            return file.read(len(_END_OF_NAME)) == _END_OF_NAME
    except FileNotFoundError:  # another process has just finished with it
        return False


def set_aside(path: Path) -> Path | None:
    """Rename a log to a dated name in its folder; return that, or None if there is no log.

    Processes that have it open continue to write into the renamed file, so no event is lost.
    """
    check_files(path)
    if not path.exists():
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=10)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # all of it into the main file
    name, k = f"{path.stem}-{time.strftime('%Y-%m-%d')}", 2
    aside = path.with_name(f"{name}{path.suffix}")
    while aside.exists():
        aside, k = path.with_name(f"{name}-{k}{path.suffix}"), k + 1
    for beside in (*_SIDE_FILES, ""):
        with suppress(FileNotFoundError):
            os.replace(f"{path}{beside}", f"{aside}{beside}")
    return aside


def _schema(db: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return the schema of a database. A foreign view or trigger could run forever."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {(kind, name, " ".join(str(sql).split())) for kind, name, sql in rows}


@cache
def _own_schema() -> set[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA)
        return _schema(db)
