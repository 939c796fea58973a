"""Programs that tests start."""

from __future__ import annotations

import subprocess
import sys


def run_program(*words, code=0):
    """Run Python with these words; check how it ended, and that it shows no traceback."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done
