"""Where names say otherwise than faces: for a person to decide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Conflict:
    """Something that a person should decide.

    Attributes
    ----------
    names : tuple of str
        What the two are called.
    numbers : tuple of int
        Their characters in the joined cast.
    """

    names: tuple[str, str]
    numbers: tuple[int, int]

    def __str__(self) -> str:
        one, other = self.numbers
        if self.names[0] == self.names[1]:
            return f"{one} and {other} are both called {self.names[0]}, and do not look alike"
        return f"{one} and {other} look alike, and are called {' and '.join(self.names)}"
