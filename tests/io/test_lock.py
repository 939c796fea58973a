"""One process a folder at a time; who holds it is told, and the dead hold nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
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


#: Take and leave a folder again and again; a mark says whether somebody else is in at that time.
LOOP = """
import os, pathlib, sys, time
from castlist.errors import InputError
from castlist.io.lock import locked
folder, mark = map(pathlib.Path, sys.argv[1:])
print("ready", flush=True)
sys.stdin.readline()
end, taken, met = time.monotonic() + 1, 0, 0
while time.monotonic() < end and taken < 5000:
    try:
        with locked(folder):
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                met += 1
                continue
            taken += 1
            mark.unlink()
    except InputError:
        pass
print(taken, met)
"""


def test_no_two_are_in_at_a_time(tmp_path):
    words = [sys.executable, "-c", LOOP, str(tmp_path / "x.cast"), str(tmp_path / "mark")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    others = [subprocess.Popen(words, **pipes) for _ in range(4)]
    for other in others:
        assert other.stdout.readline() == "ready\n"
    for other in others:
        other.stdin.write("go\n")
        other.stdin.flush()
    found = [list(map(int, other.communicate()[0].split())) for other in others]
    assert sum(taken for taken, _ in found) > 10
    assert sum(met for _, met in found) == 0


def test_a_folder_that_is_removed_meanwhile_is_made_again(tmp_path, monkeypatch):
    folder, real, left = tmp_path / "x.cast", os.open, [3]

    def later(path, *rest):
        if left[0] and Path(path).name == LOCK:
            left[0] -= 1
            folder.rmdir()  # by its last holder, between our two steps
        return real(path, *rest)

    monkeypatch.setattr(os, "open", later)
    with locked(folder):
        assert (folder / LOCK).exists()
        with pytest.raises(InputError), locked(folder):
            pass


def test_only_the_own_lock_is_removed(tmp_path):
    folder = tmp_path / "x.cast"
    with ExitStack() as others:
        with locked(folder):
            (folder / LOCK).unlink()
            folder.rmdir()
            other = others.enter_context(another(folder))  # it cannot know of the first
        assert str(other.pid) in (folder / LOCK).read_text()
        with pytest.raises(InputError), locked(folder):
            pass


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_lock_that_is_a_link_is_not_followed(tmp_path, link):
    folder, precious = tmp_path / "x.cast", tmp_path / "precious.txt"
    precious.write_text("mine")
    folder.mkdir()
    link(folder / LOCK, precious)
    with locked(folder):
        assert precious.read_text() == "mine"
        with pytest.raises(InputError), locked(folder):
            pass
    assert precious.read_text() == "mine"
    folder.mkdir()
    (folder / LOCK).symlink_to(tmp_path / "nowhere")
    with locked(folder):
        assert not (tmp_path / "nowhere").exists()


def test_a_lock_that_is_a_pipe_or_a_folder_keeps_nobody_waiting(tmp_path):
    folder = tmp_path / "x.cast"
    folder.mkdir()
    os.mkfifo(folder / LOCK)
    with locked(folder), pytest.raises(InputError), locked(folder):
        pass
    (folder / LOCK).mkdir(parents=True)
    with locked(folder):
        pass
