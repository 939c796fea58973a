"""The exceptions that castlist raises. A message says what is wrong, where, and what to do."""

from __future__ import annotations


class CastlistError(Exception):
    """The base of all errors that castlist raises. The command line exits with status 2."""


class InputError(CastlistError, ValueError):
    """A file, an array or a setting that cannot be used."""


class NumberError(InputError):
    """A number of clusters that the links do not allow.

    Attributes
    ----------
    asked : int
        The number of clusters asked for.
    possible : int
        The nearest number that the links allow.
    """

    def __init__(self, asked: int, possible: int) -> None:
        self.asked, self.possible = asked, possible
        links = "cannot-links require at least" if asked < possible else "must-links allow at most"
        super().__init__(f"cannot make {counted(asked, 'cluster')}: {links} {possible}")


class CollapseWarning(UserWarning):
    """Training approaches the degenerate solution: all points equal, radius 0 (paper, sec. 4)."""


_MAX_LENGTH = 300  # characters of another library's message: some quote the whole value


def counted(n: int, what: str) -> str:
    """Return a number with its noun: "1 track", "2 tracks"."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, after the type if it is another library's."""
    lines = str(error).strip().splitlines() or [""]
    if isinstance(error, CastlistError):
        return lines[0]
    line = lines[0] if len(lines[0]) <= _MAX_LENGTH else f"{lines[0][:_MAX_LENGTH]} …"
    return f"{type(error).__name__}: {line}".removesuffix(": ")
