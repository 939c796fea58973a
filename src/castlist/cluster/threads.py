"""Jobs on all cores, results in order.

Each thread multiplies with a single-threaded BLAS: two pools of threads, BLAS's own and another,
would wait for each other's cores at every tile.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

J = TypeVar("J")
R = TypeVar("R")
P = ParamSpec("P")


def n_threads() -> int:
    """Return the number of cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def interruptible(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Do compiled work in a thread of its own, so that Ctrl-C need not wait for its end.

    Compiled code does not notice an interruption. Its thread is left to finish for nobody.
    """
    result: Future[R] = Future()

    def run() -> None:
        try:
            result.set_result(work(*args, **kwargs))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result()


def in_threads(jobs: Iterable[J], work: Callable[[J], R]) -> Iterator[tuple[J, R]]:
    """Do work on jobs in threads; yield every job with its result, in order.

    Only a few jobs are ahead of the one yielded, so results do not pile up, and an interruption
    waits for those few at most.
    """
    threads = n_threads()
    ahead: deque[tuple[J, Future[R]]] = deque()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        try:
            for job in jobs:
                ahead.append((job, pool.submit(work, job)))
                if len(ahead) > 2 * threads:
                    first, result = ahead.popleft()
                    yield first, result.result()
            while ahead:
                first, result = ahead.popleft()
                yield first, result.result()
        finally:
            for _, waiting in ahead:
                waiting.cancel()
