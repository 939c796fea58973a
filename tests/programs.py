"""Run castlist's command line in this process, or any program in another."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass
from unittest import mock

from castlist.cli import main
from castlist.parallel import set_threads


@dataclass(frozen=True)
class Done:
    """What a command printed."""

    stdout: str
    stderr: str


def castlist(*words, code=0, typed=""):
    """Run a command in this process, which takes a fraction of starting one; check its exit code.

    With ``code=None``, any will do.

    ``typed`` is what it reads from its standard input.

    An error that is not castlist's own is raised.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2)]
    with (
        mock.patch.object(sys, "argv", ["castlist", *map(str, words)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()))),
        mock.patch.object(sys, "stdout", streams[0]),
        mock.patch.object(sys, "stderr", streams[1]),
    ):
        try:
            main()
            ended = 0
        except SystemExit as end:
            ended = end.code or 0
        finally:
            set_threads(None)  # what --threads set is for the whole process
    for stream in streams:
        stream.flush()
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in streams)
    assert code in (None, ended), stderr
    return Done(stdout.replace("\r\n", "\n"), stderr.replace("\r\n", "\n"))


def run_castlist(*words, code=0):
    """Run a command as users do, in a process of its own."""
    return run_program("-m", "castlist", *words, code=code)


def run_program(*words, code=0):
    """Run Python with these words; check its exit code and that it prints no traceback."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done
