"""Writing files so that a half-written one is never taken for whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from castlist.errors import CastlistError


def printable(name: str) -> str:
    """Return a file's name as text that can be written anywhere; odd bytes become ``?``."""
    return name.encode("utf-8", "replace").decode("utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to; it takes its place if all went well."""
    if not path.name or path.is_dir():
        raise CastlistError(f"cannot write {path}: it is a folder, and a file is wanted")
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise CastlistError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
