"""A real Ray cluster of several nodes on this machine, and ways to hurt it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def needs_ray():
    """Give Ray; skip without it, but not in CI."""
    if os.environ.get("CI"):
        import ray

        return ray
    return pytest.importorskip("ray", reason="Ray is not installed: pip install 'castlist[ray]'")


@contextmanager
def nodes(*cpus: int) -> Iterator:
    """Start nodes with so many cores each, connect to them, and give the cluster."""
    ray = needs_ray()
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    room = {"object_store_memory": 200 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus[0], **room})
    try:
        for count in cpus[1:]:
            made.add_node(num_cpus=count, **room)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def busy_workers(made, task: str) -> list[int]:
    """Find the processes, of this cluster only, that are doing a task."""
    raylets = {
        process.process.pid
        for node in made.list_all_nodes()
        for process in node.all_processes.get("raylet", ())
    }
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            doing = (path / "cmdline").read_bytes().split(b"\0")[0].decode()
        except (OSError, ValueError):
            continue  # gone meanwhile
        if parent in raylets and doing.startswith(f"ray::{task}"):
            found.append(int(path.name))
    return found


def kill_a_worker(made, task: str, patience: float = 30.0) -> int:
    """Kill a process that is doing a task; it has no time to say anything."""
    until = time.monotonic() + patience
    while not (busy := busy_workers(made, task)):
        assert time.monotonic() < until, "nobody is at work"
        time.sleep(0.01)
    os.kill(busy[0], signal.SIGKILL)
    return busy[0]
