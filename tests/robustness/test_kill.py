"""A few of the kills of ``robustness/faults/kill.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KILL = Path(__file__).parents[2] / "robustness" / "faults" / "kill.py"


def kill(*words, folder, times=3):
    """Kill commands; nothing may be lost, and nothing left over."""
    words = [*words, "--times", str(times), "--quick", "--drawn", "--folder", str(folder)]
    done = subprocess.run(
        [sys.executable, str(KILL), *words], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    table = done.stdout.rpartition("|---|")[2].splitlines()[1:]
    rows = [line.split(" | ") for line in table]
    assert all(int(row[2]) >= times for row in rows)
    assert all(row[4:] == ["0", "0 |"] for row in rows)
    return [row[0].removeprefix("| ") for row in rows]


def test_a_killed_join_ends_as_if_undisturbed(tmp_path):
    assert kill("join", folder=tmp_path, times=1) == ["join"]


@pytest.mark.slow
def test_killed_commands_end_as_if_undisturbed(tmp_path):
    assert len(kill("all", folder=tmp_path)) == 7
