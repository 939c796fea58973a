"""The progress callback of long computations, which the command line draws."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A callable ``progress(stage, done, total)``, with ``done`` growing from 0 to ``total``."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report that ``done`` of the ``total`` items of ``stage`` are finished."""


def silent(stage: str, done: int, total: int) -> None:
    """Do nothing: the default of library functions."""
