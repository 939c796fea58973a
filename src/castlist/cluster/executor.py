"""Who does the jobs of a clustering: threads of this machine, or workers on others.

A job is small, and what all jobs of a kind need is kept where whoever does them finds it. The work
is a plain function of both, so the partition cannot depend on who did it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from castlist.parallel import in_threads

J = TypeVar("J")
R = TypeVar("R")


class Crew(Protocol):
    """Somebody to do jobs.

    Attributes
    ----------
    parts : int
        Into how many parts a graph is worth splitting before it is merged; 1 if not at all.
    """

    @property
    def parts(self) -> int:
        """Into how many parts a graph is worth splitting."""

    def keep(self, value: Any) -> Any:
        """Put a large value where all find it; return what stands for it among ``kept``."""

    def do(self, work: Callable[..., R], jobs: Iterable[J], *kept: Any) -> Iterator[tuple[J, R]]:
        """Do ``work(job, *kept)``; yield every job with its result, in order.

        Jobs are taken from the iterable only a little ahead of the one yielded.
        """


class Threads:
    """The threads of this machine, which find everything where it is."""

    parts = 1

    def keep(self, value: Any) -> Any:
        """Return the value."""
        return value

    def do(self, work: Callable[..., R], jobs: Iterable[J], *kept: Any) -> Iterator[tuple[J, R]]:
        """Do jobs on all cores."""
        return in_threads(jobs, lambda job: work(job, *kept))
