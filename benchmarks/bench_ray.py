"""Joining a catalogue on one and two Ray workers, side by side: scale.md comes from here.

The same points as in bench_linkage.py. Each measurement starts Ray with so many cores, a task takes
one of them, and warms the workers up; rounds take turns, and the best of each counts. The labels
must be those of ``castlist.complete_linkage`` in this process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ball_data import ball_points
from castlist import Linkage, complete_linkage
from castlist.cluster.executor import RayExecutor
from castlist.ray_cluster import cluster

_WARM = 20_000  # points: enough for pivots, blocks and graphs


def timed(work: Callable[[], Linkage]) -> tuple[float, NDArray[np.int64]]:
    began = time.perf_counter()
    labels = work().labels
    return time.perf_counter() - began, labels


def on_ray(points: NDArray[np.float32], tau: float, workers: int) -> tuple[float, Any]:
    with cluster(num_cpus=workers) as ray:
        executor = RayExecutor(ray)
        for _ in range(2):
            complete_linkage(points[:_WARM], tau, executor=executor)
        return timed(lambda: complete_linkage(points, tau, executor=executor))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=200_000)
    parser.add_argument("--b", type=float, default=0.1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    points, _ = ball_points(arguments.tracks, arguments.b)
    tau = 4 * arguments.b
    complete_linkage(points[:_WARM], tau)
    alone, labels = timed(lambda: complete_linkage(points, tau))
    best = dict.fromkeys(arguments.workers, np.inf)
    for _ in range(arguments.rounds):
        alone = min(alone, timed(lambda: complete_linkage(points, tau))[0])
        for workers in arguments.workers:
            seconds, found = on_ray(points, tau, workers)
            assert np.array_equal(found, labels), "the partition is another"
            best[workers] = min(best[workers], seconds)
    print(f"{arguments.tracks:,} tracks, τ = {tau:g}, {labels.max() + 1:,} characters, ", end="")
    print(f"best of {arguments.rounds}; every partition identical\n")
    print("| who | seconds | speed-up |\n|---|---|---|")
    print(f"| threads of one process | {alone:.1f} | |")
    for workers, seconds in best.items():
        print(f"| Ray, {workers} workers | {seconds:.1f} | {best[min(best)] / seconds:.2f} |")


if __name__ == "__main__":
    main()
