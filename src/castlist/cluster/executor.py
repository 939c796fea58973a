"""Run the jobs of complete linkage: in threads of this process, or as tasks of a Ray cluster.

A job is a few numbers. The arrays that all jobs of one step need are shared: threads find them in
this process, and Ray's workers in its object store, which sends every machine one copy. A job is a
plain function of these values, so the result does not depend on where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol, TypeVar

from castlist.parallel import in_threads
from castlist.ray_cluster import RETRIES, in_order, n_workers

J = TypeVar("J")
R = TypeVar("R")

_BATCHES_AHEAD = 3  # per worker: running, or finished and not fetched yet
_PARTS_PER_WORKER = 4  # of a graph, so that one large part does not delay the others
_BATCH = 4  # jobs per task: a job takes a fraction of a second, starting a task some milliseconds


class Executor(Protocol):
    """An interface for running jobs.

    Attributes
    ----------
    n_parts : int
        The number of parts that a graph is split into before it is merged; 1 for no split.
    """

    @property
    def n_parts(self) -> int:
        """The number of parts that a graph is split into."""

    def put(self, value: Any) -> Any:
        """Share a large value with all jobs; return what to pass to :meth:`run` for it."""

    def run(self, work: Callable[..., R], jobs: Iterable[J], *shared: Any) -> Iterator[tuple[J, R]]:
        """Call ``work(job, *shared)`` for every job; yield each job with its result, in order.

        Jobs are taken from the iterable only a few ahead of the one that is yielded.
        """


class ThreadExecutor:
    """Runs jobs in threads of this process, on all cores."""

    n_parts = 1

    def put(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def run(self, work: Callable[..., R], jobs: Iterable[J], *shared: Any) -> Iterator[tuple[J, R]]:
        """Call ``work(job, *shared)`` for every job; yield each job with its result, in order."""
        return in_threads(jobs, lambda job: work(job, *shared))


class RayExecutor:
    """Runs jobs as tasks of a Ray cluster.

    Parameters
    ----------
    ray : module
        As :func:`castlist.ray_cluster.cluster` returns it.
    batch : int
        The number of jobs per task.
    """

    def __init__(self, ray: Any, batch: int = _BATCH) -> None:
        self._ray, self._batch = ray, batch
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_run_batch)

    @property
    def n_parts(self) -> int:
        """The number of parts that a graph is split into: a few per worker."""
        return min(_PARTS_PER_WORKER * n_workers(self._ray), 1024)

    def put(self, value: Any) -> Any:
        """Put a value into the object store, where it stays while its reference is held."""
        return self._ray.put(value)

    def run(self, work: Callable[..., R], jobs: Iterable[J], *shared: Any) -> Iterator[tuple[J, R]]:
        """Call ``work(job, *shared)`` for every job; yield each job with its result, in order.

        If a worker dies, its tasks are run again.
        """
        ahead = _BATCHES_AHEAD * n_workers(self._ray)
        submitted = in_order(
            _batches(jobs, self._batch), lambda batch: self._task.remote(work, batch, *shared),
            lambda: ahead,
        )  # fmt: skip
        for batch, reference in submitted:
            yield from zip(batch, self._ray.get(reference), strict=True)


def _batches(jobs: Iterable[J], size: int) -> Iterator[list[J]]:
    rest = iter(jobs)
    while batch := list(islice(rest, size)):
        yield batch


def _run_batch(work: Callable[..., R], jobs: list[J], *shared: Any) -> list[R]:
    return [work(job, *shared) for job in jobs]
