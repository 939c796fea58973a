"""Run work in threads, with one number of threads for the whole process.

castlist divides its work among its own threads. Libraries called in them (BLAS, OpenCV, a neural
network) use one thread per call: two thread pools would compete for the same cores. Every sum is
then computed in one order, so results are the same for any number of threads.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

from castlist.errors import InputError

J = TypeVar("J")
R = TypeVar("R")
P = ParamSpec("P")

#: More threads than any machine has cores: a mistake, and too many to start.
MOST_THREADS = 1024
_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds per period, or "max"
_n_threads: int | None = None
_limits = threading.Lock()
_users = 0  # active uses of one_pool
_restore = ExitStack()  # closed by the last of them


def set_threads(number: int | None) -> None:
    """Set the number of threads of this process; None for one per core."""
    if number is not None and not 1 <= number <= MOST_THREADS:
        raise InputError(f"the number of threads must be 1 to {MOST_THREADS:,}, not {number}")
    global _n_threads
    _n_threads = number


def n_threads() -> int:
    """Return the number of threads to use: the one set, or one per core."""
    return _n_threads or n_cores()


def n_cores() -> int:
    """Return the number of cores that this process may use, by affinity and container limits."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text("ascii").split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # not in a container, or no limit
        pass
    return max(1, cores)


def interruptible(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run compiled work in its own thread, so that Ctrl-C takes effect at once.

    Compiled code cannot be interrupted. Its thread goes on in the background, and its result is
    discarded.
    """
    result: Future[R] = Future()

    def run() -> None:
        try:
            result.set_result(work(*args, **kwargs))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result()


@contextmanager
def one_pool() -> Iterator[None]:
    """Limit BLAS and OpenCV to one thread per call while castlist's own threads call them.

    Uses may be nested, and may overlap in several threads. The first sets the limits, and the last
    restores the previous ones.
    """
    global _users
    with _limits:
        if not _users:
            _set_one_thread()
        _users += 1
    try:
        yield
    finally:
        with _limits:
            _users -= 1
            if not _users:
                _restore.close()


def _set_one_thread() -> None:
    cv2 = sys.modules.get("cv2")
    if cv2 is not None:
        _restore.callback(cv2.setNumThreads, cv2.getNumThreads())
        cv2.setNumThreads(1)
    _restore.enter_context(threadpool_limits(1, user_api="blas"))


def in_threads(jobs: Iterable[J], work: Callable[[J], R]) -> Generator[tuple[J, R]]:
    """Call ``work(job)`` in threads; yield each job with its result, in order.

    Only a few jobs run ahead of the one that is yielded, so results do not accumulate, and an
    interruption waits for these few at most.
    """
    threads = n_threads()
    ahead: deque[tuple[J, Future[R]]] = deque()
    with one_pool(), ThreadPoolExecutor(threads) as pool:
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
