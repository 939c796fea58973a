"""Atomic replacement of files: a half-written file is never taken for a whole one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from filelock import Timeout

from castlist.errors import CastlistError
from castlist.io.lock import HeldLock, hold


def printable(name: str) -> str:
    """Return a file name as text that can be written anywhere; undecodable bytes become ``?``."""
    return name.encode("utf-8", "replace").decode("utf-8")


@contextmanager
def replacing(path: Path, *, wait: bool = True) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to, and rename it to ``path`` at the end.

    If the block raises an exception, the temporary file is removed and ``path`` stays as it was.
    The next call overwrites what a killed process left.

    Parameters
    ----------
    path : Path
        The file.
    wait : bool
        Flush the content to the disk before the file is renamed, so that a power cut leaves no
        empty file. Pass False for thousands of files on which nothing depends.
    """
    if not path.name or path.is_dir():
        raise CastlistError(f"cannot write {path}: it is a folder; give the path of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial, held = _open_partial(path)
    except OSError as error:
        raise CastlistError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        yield partial
        if wait:
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            # NumPy reports how much of an array it wrote, but not why it stopped.
            why = error.strerror or f"perhaps the disk is full ({error})"
            raise CastlistError(f"cannot write {path}: {why}") from error
        raise
    finally:
        if held is not None:
            held.release()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write text to a file, in UTF-8 and with the line ends that it has, on every system."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


def _open_partial(path: Path) -> tuple[Path, HeldLock | None]:
    """Return an empty temporary file that no other process writes to, and the lock on it."""
    if sys.platform != "win32":  # Windows does not rename a file that is open
        for number in count():
            partial = path.with_name(f".{path.name}{f'.{number}' if number else ''}.part")
            try:
                held = hold(partial)
            except Timeout:
                continue
            if held is None:
                break
            os.truncate(partial, 0)
            return partial, held
    for number in count():  # no locks here: always a new file
        partial = path.with_name(f".{path.name}.{os.getpid()}.{number}.part")
        with suppress(FileExistsError):
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return partial, None
    raise AssertionError
