"""What castlist raises: every message says what is wrong, where, and what to do."""

from __future__ import annotations


class CastlistError(Exception):
    """Anything castlist itself complains about. The command line exits with 2 on it."""


class InputError(CastlistError, ValueError):
    """What was given is not usable: a file, an array or a setting."""


class NumberError(InputError):
    """A number of clusters that links do not allow.

    Attributes
    ----------
    asked : int
        The number.
    possible : int
        The nearest number that the links allow.
    """

    def __init__(self, asked: int, possible: int) -> None:
        self.asked, self.possible = asked, possible
        fewer = asked < possible
        super().__init__(
            f"cannot make {counted(asked, 'cluster')}: "
            + (f"cannot-links keep {possible} apart" if fewer else f"must-links leave {possible}")
            + f"; ask for {possible} or {'more' if fewer else 'fewer'}, or take links back"
        )


class CollapseWarning(UserWarning):
    """Training is heading for the paper's degenerate solution: one point, radius 0 (sec. 4)."""


_LONGEST = 300  # characters of a library's message: some quote the whole value


def counted(n: int, what: str) -> str:
    """Say how many: one track, two tracks."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def first_line(error: BaseException) -> str:
    """Say in one line what went wrong: how the message begins, and a library's kind of error."""
    lines = str(error).strip().splitlines() or [""]
    if isinstance(error, CastlistError):
        return lines[0]
    line = lines[0] if len(lines[0]) <= _LONGEST else f"{lines[0][:_LONGEST]} …"
    return f"{type(error).__name__}: {line}".removesuffix(": ")
