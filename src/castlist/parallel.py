"""How many threads castlist uses: one number for the whole process.

Work is divided among threads of castlist's own. What runs inside them (BLAS, OpenCV, a network)
uses one thread each: two pools of threads would wait for each other's cores. So every sum is
computed in one order, and results are the same for any number of threads.
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

_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds per period, or "max"
_asked: int | None = None
_limits = threading.Lock()
_users = 0  # of one_pool, at this moment
_restore = ExitStack()  # what the last of them undoes


def set_threads(number: int | None) -> None:
    """Set how many threads this process uses; None for as many as it has cores."""
    if number is not None and number < 1:
        raise InputError(f"{number} threads: at least 1 is needed")
    global _asked
    _asked = number


def n_threads() -> int:
    """Return how many threads to use: what was set, or the cores that this process may use."""
    return _asked or n_cores()


def n_cores() -> int:
    """Return the number of cores that this process may use, by affinity and container limits."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text("ascii").split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no container, or no limit
        pass
    return max(1, cores)


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


@contextmanager
def one_pool() -> Iterator[None]:
    """Keep BLAS and OpenCV to one thread each: castlist's own threads call them.

    Uses may be nested, and overlap in several threads. The first one sets the numbers of threads,
    and the last one restores them.
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
    """Do work on jobs in threads; yield every job with its result, in order.

    Only a few jobs are ahead of the one yielded, so results do not pile up, and an interruption
    waits for those few at most.
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
