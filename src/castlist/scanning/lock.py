"""One scan a folder at a time.

A machine that was given up for lost may still be writing when its video is scanned elsewhere, and
two scans would take up each other's parts. Whoever holds the lock writes; the system lets go of it
when its process ends, however it ends.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from castlist.errors import InputError

if sys.platform != "win32":
    import fcntl

LOCK = ".scanning"
_PAUSE = 0.2  # seconds between two tries
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


@contextmanager
def locked(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold a cast's folder for one scan.

    Where nothing can be written, or files cannot be locked, there is no lock.

    Parameters
    ----------
    folder : Path
        The folder; made if there is none, and removed again if nothing came into it.
    patience : float
        Seconds to wait for another scan to end.
    """
    path, until = folder / LOCK, time.monotonic() + patience
    while (held := _try(path)) is False:
        if time.monotonic() >= until:
            raise InputError(f"{folder}: another scan is at work on it; wait for its end")
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        if held is not None:
            with suppress(OSError):
                path.unlink()
            os.close(held)
            with suppress(OSError):  # not empty, as a rule
                folder.rmdir()


def _try(path: Path) -> int | bool | None:
    """Lock the file: its descriptor, False if another holds it, None if it cannot be locked."""
    if sys.platform == "win32":
        return None
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_ino == path.stat().st_ino:
                return file
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(file)
            return False if error.errno in _TAKEN else None
        os.close(file)  # its last holder removed it just now: another file is the lock
