"""What castlist raises: every message says what is wrong, where, and what to do."""

from __future__ import annotations


class CastlistError(Exception):
    """Anything castlist itself complains about. The command line exits with 2 on it."""


class InputError(CastlistError, ValueError):
    """What was given is not usable: a file, an array or a setting."""


class CollapseWarning(UserWarning):
    """Training is heading for the paper's degenerate solution: one point, radius 0 (sec. 4)."""
