"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from castlist.errors import CastlistError
from castlist.io.files import replacing, write_lines

WRITE = (
    "import os, pathlib, signal, sys; from castlist.io.files import replacing\n"
    "with replacing(pathlib.Path(sys.argv[1])) as partial:\n"
    "    partial.write_text('half of it, and very long'); os.kill(os.getpid(), signal.SIGKILL)"
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.posix
def test_what_a_killed_process_left_is_written_over(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("before")
    killed = subprocess.run([sys.executable, "-c", WRITE, str(path)])
    assert killed.returncode == -signal.SIGKILL
    assert path.read_text() == "before"
    assert names(tmp_path) == [".x.json.part", "x.json"]
    with replacing(path) as partial, partial.open("r+") as file:  # a writer that does not truncate
        file.write("after")
    assert path.read_text() == "after"
    assert names(tmp_path) == ["x.json"]


def test_two_who_write_one_file_do_not_write_into_each_others(tmp_path):
    path = tmp_path / "x.json"
    with replacing(path) as one:
        with replacing(path) as other:
            assert one != other
            one.write_text("one")
            other.write_text("other")
        assert path.read_text() == "other"
    assert path.read_text() == "one"
    assert names(tmp_path) == ["x.json"]


@pytest.mark.parametrize("locks", [True, pytest.param(False, marks=pytest.mark.posix)])
def test_what_fails_leaves_nothing(tmp_path, monkeypatch, locks):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    if not locks:
        monkeypatch.setattr("fcntl.flock", refuse)
    path = tmp_path / "x.json"
    with pytest.raises(ZeroDivisionError), replacing(path) as partial:
        partial.write_text(str(1 / 0))
    assert names(tmp_path) == []
    with replacing(path) as partial:
        partial.write_text("whole")
    assert path.read_text() == "whole"
    assert names(tmp_path) == ["x.json"]


@pytest.mark.posix
def test_others_may_do_with_a_file_what_the_system_lets_them(tmp_path):
    before = os.umask(0o002)
    try:
        with replacing(tmp_path / "x.json") as partial:
            partial.write_text("whole")
    finally:
        os.umask(before)
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize("wait", [True, False])
def test_the_content_is_on_the_disk_before_the_name(tmp_path, monkeypatch, wait):
    done = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("content"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *to: (done.append("name"), move(*to)))
    with replacing(tmp_path / "x.json", wait=wait) as partial:
        partial.write_text("whole")
    assert done == (["content", "name"] if wait else ["name"])


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("locks", [True, pytest.param(False, marks=pytest.mark.posix)])
def test_links_in_a_folder_of_anybodys_are_not_written_through(tmp_path, monkeypatch, link, locks):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    if not locks:
        monkeypatch.setattr("fcntl.flock", refuse)
    precious, path = tmp_path / "precious.txt", tmp_path / "s.cast" / "x.json"
    precious.write_text("mine")
    path.parent.mkdir()
    pid = os.getpid()
    for name in (".x.json.part", f".x.json.{pid}.part", f".x.json.{pid}.0.part"):
        link(path.with_name(name), precious)
    with replacing(path) as partial:
        partial.write_text("whole")
    assert (path.read_text(), precious.read_text()) == ("whole", "mine")
    assert not path.is_symlink()


@pytest.mark.posix
@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), os.mkdir])
def test_what_is_no_file_keeps_nobody_waiting(tmp_path, make):
    make(tmp_path / ".x.json.part")
    with replacing(tmp_path / "x.json") as partial:
        partial.write_text("whole")
    assert (tmp_path / "x.json").read_text() == "whole"


def test_an_array_that_is_written_in_part_says_why(tmp_path):
    says = pytest.raises(CastlistError, match=r"a\.npy: perhaps the disk is full \(2 of 9")
    with says, replacing(tmp_path / "a.npy"):
        raise OSError("2 of 9 bytes written")  # as NumPy does: no number, no reason
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_a_folder_in_which_no_file_can_be_made():
    with pytest.raises(CastlistError, match=r"cannot write /proc/x\.svg"):
        write_lines(Path("/proc/x.svg"), ["text"])
