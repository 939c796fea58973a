from __future__ import annotations

import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.database import set_aside
from castlist.cast.events import Reversed
from castlist.cast.folder import CORRECTIONS
from castlist.cast.log import Log
from castlist.library.cast_info import read_cast_info
from datasets.synthetic_casts import made_video, write_folder

UNDO = Reversed(event=1)
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def on_a_read_only_disk(folder, *words):
    """Run a command on a folder that nobody can write to, whoever they are."""
    command = [sys.executable, "-m", "castlist", words[0], str(folder), *words[1:]]
    mounted = ["unshare", "-rm", "sh", "-c", READ_ONLY, str(folder), *command]
    return subprocess.run(mounted, capture_output=True, encoding="utf-8")


def test_a_log_on_a_read_only_disk_is_read_and_not_written(own_disk, tmp_path):
    folder = write_folder(tmp_path / "odd ? % # x.cast", made_video())
    cast = Corrections(folder)
    cast.name(1, "Anna")
    cast.close()
    told = on_a_read_only_disk(folder, "log")
    assert told.returncode == 0, told.stderr
    assert "named character 1 “Anna”" in told.stdout
    told = on_a_read_only_disk(folder, "name", "1", "Bo")
    assert told.returncode == 2
    assert "its folder is read-only; copy it elsewhere" in " ".join(told.stderr.split())


def test_events_of_a_killed_process_are_read(own_disk, tmp_path):
    folder = write_folder(tmp_path / "x.cast", made_video())
    cast = Corrections(folder)
    cast.name(1, "Anna")  # and is not closed: it is in the file beside the log
    assert (folder / "corrections.db-wal").stat().st_size
    told = on_a_read_only_disk(folder, "log")
    cast.close()
    assert told.returncode == 0 or "copy it elsewhere" in " ".join(told.stderr.split())
    assert told.returncode or "named character 1 “Anna”" in told.stdout


def content(home):
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.fixture
def own(tmp_path):
    """A database of the user, in the folder of another program."""
    (tmp_path / "mail").mkdir()
    with closing(sqlite3.connect(tmp_path / "mail" / "mail.db")) as db:
        db.executescript("CREATE TABLE letters (text); INSERT INTO letters VALUES ('dear');")
    return tmp_path / "mail" / "mail.db"


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to, shutil.copyfile])
@pytest.mark.parametrize("version", [0, 2])
def test_another_database_is_refused_before_it_is_written_to(tmp_path, own, link, version):
    with closing(sqlite3.connect(own)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    folder = write_folder(tmp_path / "x.cast", made_video())
    link(*(own, folder / CORRECTIONS)[:: 1 if link is shutil.copyfile else -1])
    before = content(tmp_path)
    with pytest.raises(InputError, match=CORRECTIONS):
        Corrections(folder)
    if link is not shutil.copyfile:
        with pytest.raises(InputError, match=CORRECTIONS):
            set_aside(folder / CORRECTIONS)
    assert CORRECTIONS in read_cast_info(folder).problem
    assert content(tmp_path) == before


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_no_file_is_written_through_the_files_beside_a_log(tmp_path, own, suffix, link):
    folder = write_folder(tmp_path / "x.cast", made_video())
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
    link(folder / f"{CORRECTIONS}{suffix}", own)
    before = content(tmp_path)
    with pytest.raises(InputError, match=f"{CORRECTIONS}{suffix}"):
        Corrections(folder)
    assert content(tmp_path) == before


def test_a_journal_that_names_a_file_does_not_delete_it(tmp_path):
    folder = write_folder(tmp_path / "x.cast", made_video())
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
    (tmp_path / "thesis.txt").write_text("years of work")
    # https://www.sqlite.org/fileformat.html#the_rollback_journal, and at its end the name of the
    # journal of several databases, which is deleted when this one was rolled back.
    log, name = (folder / CORRECTIONS).read_bytes(), os.fsencode(tmp_path / "thesis.txt")
    (size,), magic = struct.unpack(">H", log[16:18]), bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">5I", 1, 0, len(log) // size, 512, size)
    page = struct.pack(">I", 1) + log[:size]
    checked = struct.pack(">I", sum(log[size - 200 : 0 : -200]))
    end = struct.pack(">2I", len(name), sum(name)) + magic
    journal = head.ljust(512, b"\0") + page + checked + bytes(4) + name + end
    (folder / f"{CORRECTIONS}-journal").write_bytes(journal)
    before = content(tmp_path)
    assert "names a file" in read_cast_info(folder).problem
    with pytest.raises(InputError, match="names a file, which SQLite would delete"):
        Corrections(folder)
    assert content(tmp_path) == before
    with closing(sqlite3.connect(folder / CORRECTIONS)) as db:  # it would have
        db.execute("SELECT count(*) FROM events").fetchall()
    assert not (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("journal", [b"", bytes(512), b"\0" * 2000])
def test_a_journal_that_names_no_file_is_no_reason_to_refuse_a_log(tmp_path, journal):
    folder = write_folder(tmp_path / "x.cast", made_video())
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
    (folder / f"{CORRECTIONS}-journal").write_bytes(journal)
    with Corrections(folder) as cast:
        assert cast.character("Anna").number == 1


KILLED = """
import os, sys
from castlist.cast.corrections import Corrections
Corrections(sys.argv[1]).name(1, "Anna")
os._exit(1)
"""


@pytest.mark.posix
@pytest.mark.parametrize("left", ["-shm", ""])
def test_listing_a_cast_writes_nothing(tmp_path, left):
    folder = write_folder(tmp_path / "x.cast", made_video())
    with Corrections(folder) as cast:
        assert read_cast_info(folder).corrections == 0
        cast.name(1, "Ben")
        before = content(tmp_path)
        assert read_cast_info(folder).corrections == 1  # while the log is open
        assert content(tmp_path) == before
    before = content(tmp_path)
    assert read_cast_info(folder).corrections == 1
    assert content(tmp_path) == before
    subprocess.run([sys.executable, "-c", KILLED, folder], check=False)
    if not left:  # copied without it
        (folder / f"{CORRECTIONS}-shm").unlink()
    before = content(tmp_path)
    assert folder / f"{CORRECTIONS}-wal" in before
    assert read_cast_info(folder).corrections == 2
    assert content(tmp_path) == before


def test_a_log_that_is_set_aside_has_a_dated_name_and_all_its_events(tmp_path):
    path, kept = tmp_path / "corrections.db", []
    assert set_aside(path) is None
    for who in ("ann", "bob"):
        log = Log(path)
        log.append("undo", UNDO, 0, who)  # and it stays open, with its event beside the file
        kept.append(set_aside(path))
        assert not path.exists()
        assert [event.who for event in Log(kept[-1]).events()] == [who]
    assert kept[0].parent == kept[1].parent == tmp_path
    assert re.fullmatch(r"corrections-\d{4}-\d\d-\d\d\.db", kept[0].name)
    assert re.fullmatch(r"corrections-\d{4}-\d\d-\d\d-2\.db", kept[1].name)
