"""One process a folder at a time, and a way to hold a file.

Two scans of one folder would take up each other's parts, and a machine that was given up for lost
may still be writing. Whoever holds the lock writes. The system lets go of it when its process
ends, however it ends: a lock file with nobody behind it is stale, and is simply taken over.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from castlist.errors import InputError

if sys.platform != "win32":
    import fcntl

LOCK = ".lock"
_PAUSE = 0.2  # seconds between two tries
_TRIES = 100  # to open a file in a folder that others make and remove
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)
_LONGEST = 120  # characters of a command that are told


@contextmanager
def locked(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold a folder while its files are changed.

    Where nothing can be written, or files cannot be locked, there is no lock.

    Parameters
    ----------
    folder : Path
        The folder; made if there is none, and removed again if nothing came into it.
    patience : float
        Seconds to wait for another process to end.

    Raises
    ------
    InputError
        Another process holds it: which, where and since when.
    """
    path, until = folder / LOCK, time.monotonic() + patience
    while (held := hold(path)) is False:
        if time.monotonic() >= until:
            raise InputError(f"{folder}: {_holder(path)} is at work on it; wait for its end")
        time.sleep(_PAUSE)
    try:
        if held is not None:
            with suppress(OSError):  # a full disk: held all the same, by nobody knows whom
                os.truncate(held, 0)
                os.write(held, json.dumps(_ourselves(), ensure_ascii=True).encode())
        yield
    finally:
        if held is not None:
            with suppress(OSError):
                if _is_at(path, held):  # else it is another's, whose folder took this one's place
                    path.unlink()
            os.close(held)
            with suppress(OSError):  # not empty, as a rule
                folder.rmdir()


def hold(path: Path) -> int | bool | None:
    """Lock a file: its descriptor, False if another holds it, None if it cannot be locked.

    What holds a lock is written to. A folder may come from anybody, and have a link to a file of
    the user's in that place: whatever is not a plain file of one name is removed.
    """
    if sys.platform == "win32":
        return None
    misses = 0
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK  # wait for no pipe
            file = os.open(path, flags, 0o666)
        except (FileNotFoundError, FileExistsError):  # as a rule, another removed the folder
            misses += 1
            if misses == _TRIES:
                return None
            continue
        except OSError:
            if os.path.islink(path) and _removed(path):
                continue
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = _is_at(path, file)
        except FileNotFoundError:
            same = False
        except OSError as error:
            os.close(file)
            if error.errno in _TAKEN:
                return False
            with suppress(OSError):
                path.unlink()
            return None
        if same and _is_plain(file):
            return file
        os.close(file)  # if not the same, its last holder removed it just now: another is the lock
        if same and not _removed(path):
            return None


def _is_at(path: Path, file: int) -> bool:
    """Say whether an open file is still the one of this name."""
    return os.path.samestat(os.fstat(file), path.lstat())


def _is_plain(file: int) -> bool:
    """Say whether an open file is no pipe or the like, and has no other name."""
    about = os.fstat(file)
    return stat.S_ISREG(about.st_mode) and about.st_nlink == 1


def _removed(path: Path) -> bool:
    """Remove what is in the place of a lock, if that can be: not a folder."""
    with suppress(OSError):
        path.unlink()
    return not os.path.lexists(path)


def _ourselves() -> dict[str, str | int]:
    """Say who holds a lock."""
    first = Path(sys.argv[0] if sys.argv else "")
    name = first.parent.name if first.name == "__main__.py" else first.name
    return {
        "command": " ".join([name or "python", *sys.argv[1:]])[:_LONGEST],
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _holder(path: Path) -> str:
    """Say who holds a lock, as they wrote it."""
    try:
        who = json.loads(path.read_text("utf-8"))
        return f"`{who['command']}` (process {who['pid']} on {who['host']}, since {who['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # not written yet, or gone just now
        return "another process"
