"""More than one machine: the one place that knows Ray, which comes with ``castlist[ray]``."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from castlist.errors import InputError, first_line

J = TypeVar("J")

#: Lost workers and machines that a task survives: it is done again that often.
RETRIES = 5
_PATIENCE = 10.0  # seconds for a cluster to answer


@contextmanager
def cluster(address: str | None = None, **start: Any) -> Iterator[Any]:
    """Connect to a Ray cluster; give the ``ray`` module.

    Parameters
    ----------
    address : str, optional
        Of the cluster's head, such as ``10.0.0.1:6379`` or ``ray://10.0.0.1:10001``. Without one
        (or with ``auto``) Ray is started here, on the cores of this machine, and ended
        afterwards; if this process has a connection, that one is used and left.
    **start
        How Ray is started here, as ``ray.init`` takes it.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    # castlist tells nobody anything; Ray would report its use unless told.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    here = address in (None, "", "auto")
    words: dict[str, Any] = {"include_dashboard": False, **start} if here else {}
    if not here:
        _reach(str(address))
    try:
        ray.init("local" if here else address, log_to_driver=False, logging_level="ERROR", **words)
    except Exception as error:  # Ray's own kinds have no base in common but this
        what = "Ray cannot be started" if here else f"no Ray cluster at {address}"
        raise InputError(f"{what} ({first_line(error)})") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def n_workers(ray: Any) -> int:
    """Return how many tasks of one core each the cluster does at once, as it is now."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def in_order(
    jobs: Iterable[J], submit: Callable[[J], Any], ahead: Callable[[], int]
) -> Iterator[tuple[J, Any]]:
    """Submit jobs, only so many ahead of the one yielded; yield each with its reference."""
    waiting: deque[tuple[J, Any]] = deque()
    for job in jobs:
        waiting.append((job, submit(job)))
        if len(waiting) > ahead():
            yield waiting.popleft()
    yield from waiting


def _reach(address: str) -> None:
    """Say at once that nobody is there: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"{address}: a Ray cluster's address is host:port or ray://host:port")
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
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
