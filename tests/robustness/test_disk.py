"""A few of the faults of ``robustness/faults/disk.py`` and ``moved.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[2] / "robustness" / "faults"


def tried(script: str, *words: str) -> list[str]:
    """Run a script; return what it tried, one line each."""
    done = subprocess.run(
        [sys.executable, str(FAULTS / script), *words], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition(",")[0] for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_a_full_disk_and_no_permission_harm_nothing(own_disk):
    assert tried("disk.py", "name", "--sizes", "2") == ["name", "name"]


@pytest.mark.slow
def test_a_full_disk_harms_nothing_whatever_the_command(own_disk):
    assert tried("disk.py", "--sizes", "5")


@pytest.mark.slow
def test_what_is_moved_removed_or_of_the_future_harms_nothing():
    assert tried("moved.py", "--times", "5")
