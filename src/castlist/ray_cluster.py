"""Connect to a Ray cluster. Only this module imports Ray, which ``castlist[ray]`` installs."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from castlist.errors import InputError, first_line

J = TypeVar("J")

#: Number of times a task is run again after its worker or machine was lost.
RETRIES = 5
_TIMEOUT = 10.0  # seconds for a cluster to answer


@contextmanager
def cluster(address: str | None = None, **start: Any) -> Iterator[Any]:
    """Connect to a Ray cluster; yield the ``ray`` module.

    Parameters
    ----------
    address : str, optional
        The cluster's head, such as ``10.0.0.1:6379`` or ``ray://10.0.0.1:10001``. Without one, or
        with ``auto``, Ray is started on the cores of this machine, and stopped afterwards. If this
        process is connected already, that connection is used and kept.
    **start
        Arguments of ``ray.init`` if Ray is started here.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    # Ray reports usage statistics to its makers unless this is set.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here = address in (None, "", "auto")
    options: dict[str, Any] = {"include_dashboard": False, **start} if here else {}
    if not here:
        _check_reachable(str(address))
    try:
        ray.init(
            "local" if here else address, log_to_driver=False, logging_level="ERROR", **options
        )
    except Exception as error:  # Ray's errors have no other common base
        what = "Ray cannot be started" if here else f"no Ray cluster at {address}"
        raise InputError(f"{what} ({first_line(error)})") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def n_workers(ray: Any) -> int:
    """Return how many tasks of one core each the cluster can run at once at present."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def in_order(
    jobs: Iterable[J], submit: Callable[[J], Any], ahead: Callable[[], int]
) -> Iterator[tuple[J, Any]]:
    """Submit jobs; yield each with its reference, in order.

    ``ahead`` returns how many jobs may be submitted before the first of them is yielded.
    """
    waiting: deque[tuple[J, Any]] = deque()
    for job in jobs:
        waiting.append((job, submit(job)))
        if len(waiting) > ahead():
            yield waiting.popleft()
    yield from waiting


def _check_reachable(address: str) -> None:
    """Raise InputError if nothing answers at the address: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"{address}: a Ray address is host:port or ray://host:port")
    try:
        socket.create_connection((host, int(port)), _TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address} ({first_line(error)})") from error


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "working on several machines needs Ray, which is not installed; "
            "pip install 'castlist[ray]'"
        ) from error
    return ray
