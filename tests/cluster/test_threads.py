from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

import pytest

from castlist.cluster.threads import in_threads, interruptible


def test_results_come_in_the_order_of_jobs():
    done = list(in_threads(range(50), lambda job: (time.sleep(0.002 * (job % 3)), job * job)[1]))
    assert done == [(job, job * job) for job in range(50)]


def test_errors_of_jobs_are_raised():
    with pytest.raises(ZeroDivisionError):
        list(in_threads([1, 0], lambda job: 1 / job))
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    assert interruptible(max, 3, 4) == 4


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


@pytest.mark.parametrize("threshold", [1.0, 1000.0])
def test_ctrl_c_ends_it(threshold):
    code = CODE.format(n=200_000, threshold=threshold)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(1.5)
        # Pressed while something is compiled, as on a first run, it may be lost: then again.
        for _ in range(20):
            os.kill(run.pid, signal.SIGINT)
            if select.select([run.stdout], [], [], 5)[0]:
                break
        assert run.stdout.readline() == "interrupted\n"
