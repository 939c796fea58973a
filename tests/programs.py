"""Run Python programs in tests."""

from __future__ import annotations

import subprocess
import sys


def run_program(*words, code=0):
    """Run Python with arguments; check the exit code, and that there is no traceback."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done
