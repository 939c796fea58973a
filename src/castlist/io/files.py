"""Writing files so that a half-written one is never taken for whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from castlist.errors import CastlistError
from castlist.io.lock import hold


def printable(name: str) -> str:
    """Return a file's name as text that can be written anywhere; odd bytes become ``?``."""
    return name.encode("utf-8", "replace").decode("utf-8")


@contextmanager
def replacing(path: Path, *, wait: bool = True) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to; it takes its place if all went well.

    What a process that was killed left there is written over by the next one.

    Parameters
    ----------
    path : Path
        The file.
    wait : bool
        Bring the content to the disk before the file gets its name, so that a power cut leaves no
        empty one. Not for files of which there are thousands and on which nothing depends.
    """
    if not path.name or path.is_dir():
        raise CastlistError(f"cannot write {path}: it is a folder, and a file is wanted")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial, held = _own(path)
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
            # NumPy says how much of an array it wrote, and not why no more.
            why = error.strerror or f"perhaps the disk is full ({error})"
            raise CastlistError(f"cannot write {path}: {why}") from error
        raise
    finally:
        if held is not None:
            os.close(held)


def _own(path: Path) -> tuple[Path, int | None]:
    """Find a name beside a file that nobody who lives writes to, and hold it if that can be."""
    for number in count():
        partial = path.with_name(f".{path.name}{f'.{number}' if number else ''}.part")
        held = hold(partial)
        if held is None:
            break
        if held is not False:
            os.truncate(held, 0)
            return partial, held
    numbers = count()
    while True:  # it cannot be held: a new file then, and never one that is there
        partial = path.with_name(f".{path.name}.{os.getpid()}.{next(numbers)}.part")
        with suppress(FileExistsError):
            os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return partial, None
