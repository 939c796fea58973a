"""File locks: one process per folder at a time, and one writer per temporary file.

The operating system releases a lock when its process ends, however it ends. A lock file that a
killed process left is stale, and the next process takes it over.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from castlist.errors import InputError

LOCK = ".lock"
_POLL_SECONDS = 0.2
_MAX_TRIES = 100  # to open a file in a folder that other processes make and remove
_MAX_COMMAND = 120  # characters of a command line in a message
_OFFSET = 1  # Windows locks the first byte: no other process can read it


@dataclass(frozen=True)
class HeldLock:
    """A lock that this process holds on a file."""

    lock: FileLock
    path: Path
    status: os.stat_result

    def is_at_path(self) -> bool:
        """Return whether the locked file still has its name."""
        return _is_same(self.status, self.path)

    def release(self) -> None:
        """Release the lock. The file stays."""
        self.lock.release()


@contextmanager
def locked(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock a folder while its files are changed.

    There is no lock where the folder cannot be written to, or on a disk without locks.

    Parameters
    ----------
    folder : Path
        The folder. It is created if missing, and removed again if it is empty at the end.
    patience : float
        Seconds to wait for another process to end.

    Raises
    ------
    InputError
        Another process holds the lock. The message has its command, id, machine and start time.
    """
    path = folder / LOCK
    try:
        held = hold(path, patience)
    except Timeout:
        raise InputError(
            f"{folder}: {_read_holder(path)} is using this folder; wait until it ends"
        ) from None
    if held is None:
        yield
        return
    try:
        with suppress(OSError):  # if the disk is full, the lock holds without a description
            _write_holder(path)
        yield
    finally:
        with suppress(OSError):
            # The folder may have been removed and made anew: then the lock is another process's.
            if held.is_at_path():
                path.unlink()
        held.release()
        with suppress(OSError):  # usually not empty
            folder.rmdir()


def hold(path: Path, patience: float = 0.0) -> HeldLock | None:
    """Lock a file and return the lock; None if the file cannot be locked.

    The file is created if missing. A folder from a stranger may have a link to a file of the user
    in this place: a link, a pipe or anything else that is not a plain file with one name is
    removed.

    Raises
    ------
    filelock.Timeout
        Another process holds the lock, and still did after ``patience`` seconds.
    """
    status: list[os.stat_result] = []

    def check(descriptor: int) -> None:
        status[:] = [os.fstat(descriptor)]
        if not _is_same(status[0], path):  # removed or renamed before it was locked: open it anew
            raise FileNotFoundError(path)

    for _ in range(_MAX_TRIES):
        lock = FileLock(
            path, timeout=patience, poll_interval=_POLL_SECONDS, thread_local=False,
            fallback_to_soft=False, on_acquired=check,
        )  # fmt: skip
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_unless_plain(path)
            lock.acquire()
        except Timeout:
            if path.exists():
                raise
            continue  # filelock takes a file that cannot be made, as in /proc, for a locked one
        except (FileNotFoundError, FileExistsError):  # another process removed the folder
            continue
        except PermissionError:
            return None
        except OSError:  # the disk has no locks
            with suppress(OSError):
                path.unlink()
            return None
        return HeldLock(lock, path, status[0])
    return None


def _is_same(status: os.stat_result, path: Path) -> bool:
    return os.path.samestat(status, path.lstat())


def _remove_unless_plain(path: Path) -> None:
    with suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            path.unlink()


def _write_holder(path: Path) -> None:
    """Describe this process in its lock file."""
    program = Path(sys.argv[0] if sys.argv else "")
    name = program.parent.name if program.name == "__main__.py" else program.name
    about = {
        "command": " ".join([name or "python", *sys.argv[1:]])[:_MAX_COMMAND],
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    with path.open("r+b", buffering=0) as file:
        file.seek(_OFFSET)
        file.write(json.dumps(about).encode())
        file.truncate()


def _read_holder(path: Path) -> str:
    """Return the description of the process that holds a lock, for a message."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(_OFFSET)
            who = json.loads(file.read())
        return f"`{who['command']}` (process {who['pid']} on {who['host']}, since {who['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # not written yet, or just removed
        return "another process"
