"""Complete linkage on a Ray cluster: pairs are looked for, measured and merged as its tasks.

This process decides, exactly as it would alone, which step comes next, and holds the graph; the
workers do the jobs of a step. Points, and whatever else all jobs of a step need, are put into Ray's
object store once, from where every machine takes one copy for all of its workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.progress import Progress, silent
from castlist.ray_cluster import RETRIES, cluster, in_order, n_workers

J = TypeVar("J")
R = TypeVar("R")

_AHEAD = 3  # batches a worker that are under way or waiting to be fetched
_PARTS_A_WORKER = 4  # of a graph, so that a large part does not keep the others waiting
_BATCH = 4  # jobs a task: one takes a fraction of a second, a task costs some milliseconds


class RayCrew:
    """The workers of a Ray cluster.

    Parameters
    ----------
    ray : module
        As :func:`castlist.ray_cluster.cluster` gives it.
    batch : int
        Jobs a task.
    """

    def __init__(self, ray: Any, batch: int = _BATCH) -> None:
        self._ray, self._batch = ray, batch
        self._task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work_off)

    @property
    def parts(self) -> int:
        """Into how many parts a graph is worth splitting."""
        return min(_PARTS_A_WORKER * n_workers(self._ray), 1024)

    def keep(self, value: Any) -> Any:
        """Put a value into the object store; it stays there while its reference is held."""
        return self._ray.put(value)

    def do(self, work: Callable[..., R], jobs: Iterable[J], *kept: Any) -> Iterator[tuple[J, R]]:
        """Do jobs as tasks, some jobs each; one that is lost with its worker is done again."""
        ahead = _AHEAD * n_workers(self._ray)
        waiting = in_order(
            _batches(jobs, self._batch), lambda some: self._task.remote(work, some, *kept),
            lambda: ahead,
        )  # fmt: skip
        for some, reference in waiting:
            yield from zip(some, self._ray.get(reference), strict=True)


def ray_linkage(
    X: ArrayLike,
    threshold: float,
    *,
    address: str | None = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    progress: Progress = silent,
) -> Linkage:
    """Cluster rows by complete linkage on a Ray cluster.

    The labels are those of :func:`castlist.complete_linkage`, whose parameters these are.

    Parameters
    ----------
    X : array-like of shape (n, dim)
        Points, usually embeddings.
    threshold : float
        τ: the largest squared distance inside a cluster.
    address : str, optional
        The cluster, as :func:`castlist.ray_cluster.cluster` takes it.
    must_link, cannot_link : array-like of shape (m, 2), optional
        Pairs of row numbers.
    progress : callable
        Told how far it is.
    """
    with cluster(address) as ray:
        return complete_linkage(
            X, threshold, must_link=must_link, cannot_link=cannot_link, progress=progress,
            crew=RayCrew(ray),
        )  # fmt: skip


def _batches(jobs: Iterable[J], size: int) -> Iterator[list[J]]:
    rest = iter(jobs)
    while some := list(islice(rest, size)):
        yield some


def _work_off(work: Callable[..., R], jobs: list[J], *kept: Any) -> list[R]:
    return [work(job, *kept) for job in jobs]
