from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

import cv2
import pytest
from threadpoolctl import threadpool_info

from castlist import InputError, parallel
from castlist.parallel import in_threads, interruptible, n_cores, n_threads, one_pool, set_threads


def test_results_come_in_the_order_of_jobs():
    done = list(in_threads(range(50), lambda job: (time.sleep(0.002 * (job % 3)), job * job)[1]))
    assert done == [(job, job * job) for job in range(50)]


def test_errors_of_jobs_are_raised():
    with pytest.raises(ZeroDivisionError):
        list(in_threads([1, 0], lambda job: 1 / job))
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    assert interruptible(max, 3, 4) == 4


@pytest.mark.posix
@pytest.mark.parametrize(
    ("limit", "cores"),
    [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("nonsense", 8), (None, 8)],
)
def test_a_container_that_may_use_fewer_cores_has_fewer(tmp_path, monkeypatch, limit, cores):
    quota = tmp_path / "cpu.max"
    if limit is not None:
        quota.write_text(limit)
    monkeypatch.setattr(parallel, "_QUOTA", quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert n_cores() == n_threads() == cores


def test_the_number_of_threads_can_be_set():
    try:
        set_threads(3)
        assert n_threads() == 3
        with pytest.raises(InputError, match="number of threads must be 1 to 1,024, not 0"):
            set_threads(0)
    finally:
        set_threads(None)
    assert n_threads() == n_cores()


def test_libraries_have_one_thread_each_meanwhile_and_their_own_number_after():
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    try:
        with one_pool():
            assert cv2.getNumThreads() == 1
            pools = [one for one in threadpool_info() if one["user_api"] == "blas"]
            assert pools
            assert {one["num_threads"] for one in pools} == {1}
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)


def test_uses_may_overlap_and_the_last_one_restores():
    before = cv2.getNumThreads()
    cv2.setNumThreads(2)
    first, second = one_pool(), one_pool()
    try:
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # the second one still works
        assert cv2.getNumThreads() == 1
        second.__exit__(None, None, None)
        assert cv2.getNumThreads() == 2
        with one_pool():
            pass
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)


def test_leaving_early_leaves_the_rest_undone():
    done = []
    for job, _ in in_threads(range(1000), done.append):
        if job == 3:
            break
    assert len(done) < 100


CODE = """
import signal
import numpy as np
from castlist import complete_linkage
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs behind
points = np.random.default_rng(0).normal(size=({n}, 64)).astype(np.float32)
complete_linkage(points[:200], 100.0)
print("ready", flush=True)
try:
    complete_linkage(points, {threshold})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.posix
@pytest.mark.parametrize("threshold", [1.0, 1000.0])
def test_ctrl_c_ends_it(threshold):
    code = CODE.format(n=200_000, threshold=threshold)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8"
    ) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(1.5)
        # Pressed while something is compiled, as on a first run, it may be lost: then again.
        for _ in range(20):
            os.kill(run.pid, signal.SIGINT)
            if select.select([run.stdout], [], [], 5)[0]:
                break
        assert run.stdout.readline() == "interrupted\n"
