"""A few kills of the hundreds that ``robustness/faults/kill.py`` does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KILL = Path(__file__).parents[2] / "robustness" / "faults" / "kill.py"


def kill(*words, folder):
    """Kill some commands three times each; nothing may be lost, and nothing left."""
    words = [*words, "--times", "3", "--quick", "--drawn", "--folder", str(folder)]
    done = subprocess.run([sys.executable, str(KILL), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    table = done.stdout.rpartition("|---|")[2].splitlines()[1:]
    rows = [line.split(" | ") for line in table]
    assert all(int(row[2]) >= 3 for row in rows)
    assert all(row[4:] == ["0", "0 |"] for row in rows)
    return [row[0].removeprefix("| ") for row in rows]


def test_join_and_add_killed_end_as_if_they_had_not_been(tmp_path):
    assert kill("join", "add", folder=tmp_path) == ["join", "add"]


@pytest.mark.slow
def test_all_commands_killed_end_as_if_they_had_not_been(tmp_path):
    assert len(kill("all", folder=tmp_path)) == 7
