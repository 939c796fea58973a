from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from castlist import CastlistError, InputError
from castlist.cast.anchors import Anchor
from castlist.cast.log import ChangedMeanwhile, Log


def test_nothing_said_makes_no_file(tmp_path):
    log = Log(tmp_path / "c.db")
    assert (log.last, log.events(), log.anchors()) == (0, [], [])
    assert not (tmp_path / "c.db").exists()


def test_what_is_said_is_there_for_others(tmp_path):
    first, second = Log(tmp_path / "c.db"), Log(tmp_path / "c.db")
    assert first.anchor("scan", [Anchor("v", "1", ())]) == [1]
    first.append("name", {"who": [1], "name": 'Zoë "x"\n\''}, 0, "me")
    (event,) = second.events()
    assert (event.number, event.who, event.kind) == (1, "me", "name")
    assert event.body == {"who": [1], "name": 'Zoë "x"\n\''}
    assert second.last == 1


def test_who_has_not_seen_the_last_event_is_told(tmp_path):
    first, second = Log(tmp_path / "c.db"), Log(tmp_path / "c.db")
    first.append("undo", {"event": 1}, 0)
    with pytest.raises(ChangedMeanwhile, match="somebody else"):
        second.append("undo", {"event": 1}, 0)
    assert first.last == 1


def test_nothing_said_can_be_changed_or_removed(tmp_path):
    Log(tmp_path / "c.db").append("undo", {"event": 1}, 0)
    with sqlite3.connect(tmp_path / "c.db") as db:
        for statement in ("DELETE FROM events", "UPDATE events SET who = 'x'"):
            with pytest.raises(sqlite3.IntegrityError, match="stays"):
                db.execute(statement)


def test_tracks_are_remembered_once(tmp_path):
    log = Log(tmp_path / "c.db")
    one = Anchor("v", "1", ((0.5, 1.0, 2.0, 3.0, 4.0),))
    assert log.anchor("scan", [one]) == log.anchor("scan", [one]) == [1]
    assert log.anchor("another", [one]) == [2]
    assert log.anchors() == [(1, "scan", one), (2, "another", one)]
    assert log.anchors(after=1) == [(2, "another", one)]


def test_a_clustering_comes_back_as_it_was(tmp_path):
    log = Log(tmp_path / "c.db")
    labels, points = np.array([3, 1, 3]), np.arange(6, dtype=np.float32).reshape(3, 2)
    event = log.append_clustering("basis", labels, points, 0, "ann")
    assert (event.number, event.kind, event.who) == (1, "recluster", "ann")
    assert log.events() == [event]
    basis, again, where = log.clustering(event.body["clustering"])
    assert basis == "basis"
    assert again.tolist() == labels.tolist()
    assert where.tolist() == points.tolist()
    assert log.clustering(99) is None


def test_a_clustering_that_comes_too_late_is_not_kept(tmp_path):
    log = Log(tmp_path / "c.db")
    log.append("name", {"who": [], "name": "Ann"}, 0)
    with pytest.raises(ChangedMeanwhile):
        log.append_clustering("basis", np.array([1]), np.zeros((1, 2), np.float32), 0)
    assert log.clustering(1) is None
    assert log.last == 1


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 40, b"x"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "c.db").write_bytes(content)
    with pytest.raises(InputError, match="not a log"):
        Log(tmp_path / "c.db")


def test_a_newer_format_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "c.db") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="format 99"):
        Log(tmp_path / "c.db")


WRITER = """
import sys
from pathlib import Path
from castlist.cast.log import Log
log = Log(Path(sys.argv[1]))
while True:
    print(log.append("undo", {"event": 1}, log.last).number, flush=True)
"""


def test_a_crash_loses_nothing_that_was_taken(tmp_path):
    """Killed in the middle of writing, again and again: what it was told is there, is there."""
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "c.db")], stdout=subprocess.PIPE
        ) as writer:
            seen = [int(writer.stdout.readline()) for _ in range(30)]
            os.kill(writer.pid, signal.SIGKILL)
            seen += [int(line) for line in writer.stdout.read().splitlines() if line]
        numbers = [event.number for event in Log(tmp_path / "c.db").events()]
        assert numbers == list(range(1, len(numbers) + 1))
        assert seen[-1] in (len(numbers), len(numbers) - 1)


def test_what_there_was_no_room_for_was_not_said(tmp_path):
    """Nobody sees it, and more can be said when there is room again."""
    log = Log(tmp_path / "c.db")
    log.append("undo", {"event": 1}, 0)
    (pages,) = log._db.execute("PRAGMA page_count").fetchone()
    log._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(CastlistError, match="c.db: .*disk is full"):
        log.append("name", {"name": "x" * 100_000}, 1)
    assert log.last == Log(tmp_path / "c.db").last == 1
    log._db.execute("PRAGMA max_page_count = 100000")
    log.append("redo", {"event": 1}, 1)
    assert [event.kind for event in Log(tmp_path / "c.db").events()] == ["undo", "redo"]


def test_an_empty_file_is_no_log_yet(tmp_path):
    """As SQLite leaves one on a full disk; there may be no room to make it one yet."""
    (tmp_path / "c.db").touch()
    log = Log(tmp_path / "c.db")
    assert (log.last, log.events(), log.anchors()) == (0, [], [])
    assert (tmp_path / "c.db").stat().st_size == 0
    log.append("undo", {"event": 1}, 0)
    assert log.last == 1


def test_a_log_that_was_removed_takes_nothing(tmp_path):
    log = Log(tmp_path / "c.db")
    log.append("undo", {"event": 1}, 0)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(CastlistError, match="removed or replaced"):
        log.append("undo", {"event": 1}, 1)
    Log(tmp_path / "c.db").append("redo", {"event": 1}, 0)  # another's
    with pytest.raises(CastlistError, match="removed or replaced"):
        log.append("undo", {"event": 1}, 1)
    assert Log(tmp_path / "c.db").last == 1


ENDLESS = """
DROP TABLE events;
CREATE VIEW events AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
    SELECT x AS number, 0 AS at, '' AS who, 'name' AS kind, '{}' AS body FROM c;
"""


@pytest.mark.parametrize(
    "change", [ENDLESS, "DROP TABLE anchors", "CREATE TABLE more (x)",
               "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM anchors; END"],
)  # fmt: skip
def test_tables_of_strangers_are_not_read(tmp_path, change):
    Log(tmp_path / "c.db").append("undo", {"event": 1}, 0)
    with closing(sqlite3.connect(tmp_path / "c.db")) as db:
        db.executescript(change)
    with pytest.raises(InputError, match="other tables"):
        Log(tmp_path / "c.db")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("name", {"who": [1]}),
        ("name", {"who": [2], "name": "x"}),  # a track that is not remembered
        ("name", {"who": 1, "name": "x"}),
        ("name", {"who": [True], "name": "x"}),
        ("name", {"who": [1], "name": None}),
        ("merge", {"who": [1]}),
        ("move", {"tracks": [1], "to": [1], "away": "x"}),
        ("answer", {"one": [1], "same": [], "different": [[1]], "instead": []}),
        ("recluster", {"clustering": "x"}),
        ("forget", {}),
        ("undo", []),
        ("undo", {}),
        ("redo", {"event": "1"}),
    ],
)
def test_events_that_nobody_can_have_said(tmp_path, kind, body):
    log = Log(tmp_path / "c.db")
    log.anchor("scan", [Anchor("v", "1", ())])
    log.append(kind, body, 0)
    with pytest.raises(InputError, match="a damaged log of corrections .event 1"):
        log.events()


@pytest.mark.parametrize("at", [1e300, float("inf"), -1e12, "now"])
def test_events_of_no_time(tmp_path, at):
    log = Log(tmp_path / "c.db")
    body = '{"event": 1}'
    log._open().execute("INSERT INTO events VALUES (1, ?, 'me', 'undo', ?)", (at, body))
    with pytest.raises(InputError, match="an event of no time"):
        log.events()


def test_events_that_are_no_text(tmp_path):
    log = Log(tmp_path / "c.db")
    log._open().execute("INSERT INTO events VALUES (1, 0, 'me', 'undo', x'00ff')")
    with pytest.raises(InputError, match="a damaged log"):
        log.events()
    with pytest.raises(InputError, match="a damaged log"):  # a number, which a table may hold
        log._event((), 1, 0.0, "me", "undo", 7)


def test_names_of_half_a_letter(tmp_path):
    log = Log(tmp_path / "c.db")
    body = '{"who": [], "name": "\\ud800"}'
    log._open().execute("INSERT INTO events VALUES (1, 0, 'me', 'name', ?)", (body,))
    with pytest.raises(InputError, match="a damaged log"):
        log.events()


@pytest.mark.parametrize(
    "faces",
    ["[" * 100_000, "{}", "[[1, 2]]", str([[1, 1, 1, 1, 1]] * 101), '[["a", 1, 1, 1, 1]]', "[1]"],
)
def test_remembered_tracks_that_are_nowhere(tmp_path, faces):
    log = Log(tmp_path / "c.db")
    log._open().execute("INSERT INTO anchors VALUES (1, 's', 't', 'v', ?)", (faces,))
    with pytest.raises(InputError, match="a damaged log"):
        log.anchors()


@pytest.mark.parametrize(
    ("labels", "points"), [(b"x", b""), (bytes(8), bytes(4)), (b"\1" * 8, b"\xff" * 4), ("x", b"")]
)
def test_clusterings_that_are_none(tmp_path, labels, points):
    log = Log(tmp_path / "c.db")
    log._open().execute("INSERT INTO clusterings VALUES (1, 'b', ?, ?)", (labels, points))
    with pytest.raises(InputError, match="a damaged clustering"):
        log.clustering(1)
    with pytest.raises(InputError, match="a damaged log"):
        log.clustering(2**70)


def test_a_user_whose_name_is_no_text(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "\udcff")
    log = Log(tmp_path / "log.db")
    log.append("name", {"who": [], "name": "Anna"}, 0)
    assert [event.who for event in log.events()] == ["?"]
