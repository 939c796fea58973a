"""One process per folder at a time; the second learns who holds the lock."""

from __future__ import annotations

import errno
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
    """Let another process hold the lock of a folder."""
    words = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8") as other:
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()


def test_the_message_describes_the_process_that_holds_the_lock(tmp_path):
    folder = tmp_path / "x.cast"
    with another(folder) as other, pytest.raises(InputError) as refused, locked(folder):
        pass
    message = str(refused.value)
    assert message.startswith(f"{folder}: `-c {folder}` (process {other.pid} on ")
    assert socket.gethostname() in message
    assert time.strftime(", since %Y-%m-%d ") in message
    assert message.endswith("is using this folder; wait until it ends")


def test_a_lock_ends_with_its_process(tmp_path):
    folder = tmp_path / "x.cast"
    with another(folder) as other:
        with pytest.raises(InputError), locked(folder, patience=0.3):
            pass
        other.kill()
        other.wait()
        assert str(other.pid) in (folder / LOCK).read_text()  # stale
        with locked(folder):
            assert str(os.getpid()) in (folder / LOCK).read_text()
            assert str(other.pid) not in (folder / LOCK).read_text()
    assert not folder.exists()  # it was empty


def test_waiting_for_a_lock(tmp_path):
    with another(tmp_path / "x.cast") as other:
        os.kill(other.pid, 15)
        with locked(tmp_path / "x.cast", patience=20):
            pass


@pytest.mark.posix
def test_no_lock_on_a_disk_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path / "x.cast"), locked(tmp_path / "x.cast"):
        assert not (tmp_path / "x.cast" / LOCK).exists()
    with locked(Path("/proc/none/x.cast")):
        pass


#: Lock and release a folder repeatedly; a marker file shows whether two hold it at a time.
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


def test_no_two_processes_hold_a_lock_at_a_time(tmp_path):
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


def test_a_folder_removed_while_it_is_locked_is_made_again(tmp_path, monkeypatch):
    folder, real, left = tmp_path / "x.cast", os.open, [3]

    def later(path, *rest):
        if left[0] and Path(path).name == LOCK:
            left[0] -= 1
            folder.rmdir()  # by its last holder, before the lock file is opened
        return real(path, *rest)

    monkeypatch.setattr(os, "open", later)
    with locked(folder):
        assert (folder / LOCK).exists()
        with pytest.raises(InputError), locked(folder):
            pass


def test_the_lock_file_of_another_process_is_not_removed(tmp_path):
    folder = tmp_path / "x.cast"
    with ExitStack() as others:
        with locked(folder):
            (folder / LOCK).unlink()
            folder.rmdir()
            other = others.enter_context(another(folder))
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


@pytest.mark.posix
def test_a_pipe_or_folder_in_place_of_the_lock_does_not_block(tmp_path):
    folder = tmp_path / "x.cast"
    folder.mkdir()
    os.mkfifo(folder / LOCK)
    with locked(folder), pytest.raises(InputError), locked(folder):
        pass
    (folder / LOCK).mkdir(parents=True)
    with locked(folder):
        pass
