"""What became of a command that was killed: a line of the table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Runs, kills by where they struck, and how often something was wrong afterwards."""

    command: str
    runs: int = 0
    kills: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    differing: int = 0
    left: int = 0

    @property
    def wrong(self) -> bool:
        """Whether anything was."""
        return bool(self.differing or self.left)

    def row(self) -> str:
        """Return a line of the table."""
        where = ", ".join(f"{name} {count}" for name, count in self.phases.items())
        return (f"| {self.command} | {self.runs} | {self.kills} | {where} | {self.differing} | "
                f"{self.left} |")  # fmt: skip
