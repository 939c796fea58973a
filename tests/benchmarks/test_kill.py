"""A few kills of the hundreds that ``benchmarks/faults/kill.py`` does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KILL = Path(__file__).parents[2] / "benchmarks" / "faults" / "kill.py"


def test_scan_and_join_killed_end_as_if_they_had_not_been(weights, tmp_path):
    words = ["scan", "join", "--times", "3", "--quick", "--drawn"]
    words += ["--folder", str(tmp_path)]
    done = subprocess.run([sys.executable, str(KILL), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == ["| scan", "| join"]
    assert all(int(row[2]) >= 3 for row in rows)
    assert all(row[4:] == ["0", "0 |"] for row in rows)
