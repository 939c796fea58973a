"""One process a folder at a time; who holds it is told, and the dead hold nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from castlist import InputError
from castlist.io.lock import LOCK, locked

HOLD = (
    "import sys, time, pathlib; from castlist.io.lock import locked\n"
    "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
)


@contextmanager
def another(folder):
    """Let another process hold a folder."""
    words = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()


def test_who_holds_it_is_told(tmp_path):
    folder = tmp_path / "x.cast"
    with another(folder) as other, pytest.raises(InputError) as refused, locked(folder):
        pass
    told = str(refused.value)
    assert told.startswith(f"{folder}: `-c {folder}` (process {other.pid} on ")
    assert socket.gethostname() in told
    assert time.strftime(", since %Y-%m-%d ") in told
    assert told.endswith("is at work on it; wait for its end")


def test_a_lock_ends_with_its_process(tmp_path):
    folder = tmp_path / "x.cast"
    with another(folder) as other:
        with pytest.raises(InputError), locked(folder, patience=0.3):
            pass
        other.kill()
        other.wait()
        assert str(other.pid) in (folder / LOCK).read_text()  # stale: nobody is behind it
        with locked(folder):
            assert str(os.getpid()) in (folder / LOCK).read_text()
            assert str(other.pid) not in (folder / LOCK).read_text()
    assert not folder.exists()  # nothing came into it


def test_who_waits_gets_it(tmp_path):
    with another(tmp_path / "x.cast") as other:
        os.kill(other.pid, 15)
        with locked(tmp_path / "x.cast", patience=20):
            pass


def test_where_nothing_can_be_locked_there_is_no_lock(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path / "x.cast"), locked(tmp_path / "x.cast"):
        assert not (tmp_path / "x.cast" / LOCK).exists()
    with locked(Path("/proc/none/x.cast")):
        pass
