"""The one way long work speaks: a callback the command line draws and a library user may ignore."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as ``progress(stage, done, total)``, with ``done`` growing from 0 to ``total``."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` parts of ``stage`` are finished."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing: the library's default."""
