from __future__ import annotations

import dataclasses
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
from castlist.cast.events import MOST_IDS, Edit, Named, Pinned, Reversed
from castlist.cast.log import Clustering, ConflictError, Log

UNDO = Reversed(event=1)
ONE = Anchor("scan", "v", "1", ((0.5, 1.0, 2.0, 3.0, 4.0),), "SFace", np.float32([0.6, 0.8]))


def test_reading_creates_no_file(tmp_path):
    log = Log(tmp_path / "c.db")
    assert (log.last, log.events(), log.anchors()) == (0, [], {})
    assert not (tmp_path / "c.db").exists()


def test_events_are_visible_to_other_connections(tmp_path):
    first, second = Log(tmp_path / "c.db"), Log(tmp_path / "c.db")
    assert first.anchor([ONE]) == [1]
    words = Edit(pins=(Pinned(id=7, tracks=(1,)),), names=(Named(id=7, name='Zoë "x"\n\''),))
    first.append("name", words, 0, "me")
    (event,) = second.events()
    assert (event.number, event.who, event.kind) == (1, "me", "name")
    assert event.body == words
    assert second.last == 1


def test_an_append_after_an_unseen_event_is_a_conflict(tmp_path):
    first, second = Log(tmp_path / "c.db"), Log(tmp_path / "c.db")
    first.append("undo", UNDO, 0)
    with pytest.raises(ConflictError, match="somebody else"):
        second.append("undo", UNDO, 0)
    assert first.last == 1


def test_events_cannot_be_changed_or_deleted(tmp_path):
    Log(tmp_path / "c.db").append("undo", UNDO, 0)
    with sqlite3.connect(tmp_path / "c.db") as db:
        for statement in ("DELETE FROM events", "UPDATE events SET who = 'x'"):
            with pytest.raises(sqlite3.IntegrityError, match="stays"):
                db.execute(statement)


def test_tracks_are_stored_once(tmp_path):
    log = Log(tmp_path / "c.db")
    other = dataclasses.replace(
        ONE, scan="another", feature=np.empty(0, np.float32), size=(640, 360)
    )
    assert log.anchor([ONE]) == log.anchor([ONE]) == [1]
    assert log.anchor([other]) == [2]
    found = log.anchors()
    assert (found[1].scan, found[1].faces, found[1].describer) == ("scan", ONE.faces, "SFace")
    np.testing.assert_allclose(found[1].feature, ONE.feature, atol=1e-3)
    assert len(found[2].feature) == 0
    assert (found[1].size, found[2].size) == (None, (640, 360))
    assert list(log.anchors(after=1)) == [2]


def test_a_clustering_comes_back_as_it_was(tmp_path):
    log = Log(tmp_path / "c.db")
    labels, points = np.array([3, 1, 3]), np.arange(6, dtype=np.float32).reshape(3, 2)
    event = log.append_clustering(Clustering(["a", "b", "c"], labels, points), 0, "ann")
    assert (event.number, event.kind, event.who) == (1, "recluster", "ann")
    assert log.events() == [event]
    kept = log.clustering(event.body.clustering)
    assert (kept.tracks, kept.labels.tolist()) == (["a", "b", "c"], labels.tolist())
    assert kept.points.tolist() == points.tolist()
    log.append_clustering(Clustering(["a"], labels[:1], points[:0]), 1)
    assert len(log.clustering(2).points) == 0
    with pytest.raises(InputError, match="damaged clustering"):
        log.clustering(99)


def test_a_clustering_that_comes_too_late_is_not_kept(tmp_path):
    log = Log(tmp_path / "c.db")
    log.append("undo", UNDO, 0)
    with pytest.raises(ConflictError):
        log.append_clustering(Clustering(["a"], np.array([1]), np.zeros((1, 2), np.float32)), 0)
    with pytest.raises(InputError, match="damaged clustering"):
        log.clustering(1)
    assert log.last == 1


def test_no_id_is_given_twice(tmp_path):
    """Whoever asks: two open logs, a scan that reserves, an event that makes characters."""
    first, second = Log(tmp_path / "c.db"), Log(tmp_path / "c.db")
    assert first.next_id(5) == 5  # nothing is made by asking
    assert not (tmp_path / "c.db").exists()
    assert first.reserve(3, 5) == 5
    assert second.reserve(2, 1) == 8
    assert first.next_id(1) == 10
    first.append("move", Edit(), 0, new=[10, 11])
    assert second.next_id(1) == 12
    with pytest.raises(ConflictError, match="characters were created"):
        second.append("move", Edit(), 1, new=[11])
    assert second.last == 1
    with pytest.raises(InputError, match="no ids are left"):
        first.reserve(2**31, 1)


@pytest.mark.parametrize("content", [b"not a database, but long enough to look at" * 40, b"x"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "c.db").write_bytes(content)
    with pytest.raises(InputError, match="not a log"):
        Log(tmp_path / "c.db")


def test_a_log_of_the_format_before_is_read_and_gets_the_new_one_with_a_new_track(tmp_path):
    log = Log(tmp_path / "c.db")
    log.anchor([ONE])
    log._open().execute("PRAGMA user_version = 2")
    log.close()
    log = Log(tmp_path / "c.db")
    assert log.anchors()[1].faces == ONE.faces
    assert log._read("PRAGMA user_version") == [(2,)]
    log.anchor([dataclasses.replace(ONE, scan="another", size=(640, 360))])
    assert log._read("PRAGMA user_version") == [(3,)]


def test_a_newer_format_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "c.db") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="format 99, .* written by a newer version of castlist"):
        Log(tmp_path / "c.db")


WRITER = """
import sys
from pathlib import Path
from castlist.cast.events import Reversed
from castlist.cast.log import Log
log = Log(Path(sys.argv[1]))
while True:
    print(log.append("undo", Reversed(event=1), log.last).number, flush=True)
"""


@pytest.mark.posix
def test_a_crash_loses_no_committed_event(tmp_path):
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


def test_an_event_that_does_not_fit_on_the_disk_is_not_stored(tmp_path):
    """Nobody sees it, and more can be said when there is room again."""
    log = Log(tmp_path / "c.db")
    log.append("undo", UNDO, 0)
    (pages,) = log._db.execute("PRAGMA page_count").fetchone()
    log._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(CastlistError, match="c.db: .*disk is full"):
        log.append("name", Edit(names=(Named(id=1, name="x" * 1000),) * 100), 1)
    assert log.last == Log(tmp_path / "c.db").last == 1
    log._db.execute("PRAGMA max_page_count = 100000")
    log.append("redo", UNDO, 1)
    assert [event.kind for event in Log(tmp_path / "c.db").events()] == ["undo", "redo"]


def test_an_empty_file_is_an_empty_log(tmp_path):
    """As SQLite leaves one on a full disk; there may be no room to make it one yet."""
    (tmp_path / "c.db").touch()
    log = Log(tmp_path / "c.db")
    assert (log.last, log.events(), log.anchors()) == (0, [], {})
    assert (tmp_path / "c.db").stat().st_size == 0
    log.append("undo", UNDO, 0)
    assert log.last == 1


def test_a_removed_log_refuses_events(tmp_path):
    log = Log(tmp_path / "c.db")
    log.append("undo", UNDO, 0)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(CastlistError, match="removed or replaced"):
        log.append("undo", UNDO, 1)
    Log(tmp_path / "c.db").append("redo", UNDO, 0)  # another's
    with pytest.raises(CastlistError, match="removed or replaced"):
        log.append("undo", UNDO, 1)
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
def test_foreign_tables_are_refused(tmp_path, change):
    Log(tmp_path / "c.db").append("undo", UNDO, 0)
    with closing(sqlite3.connect(tmp_path / "c.db")) as db:
        db.executescript(change)
    with pytest.raises(InputError, match="unexpected tables"):
        Log(tmp_path / "c.db")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("name", '{"pins": [{"id": 1}]}'),
        ("name", '{"pins": [{"id": 1, "tracks": [2]}]}'),  # a track that is not stored
        ("name", '{"pins": [{"id": 0, "tracks": [1]}]}'),
        ("name", '{"pins": [{"id": true, "tracks": [1]}]}'),
        ("name", '{"names": [{"id": 1, "name": null}]}'),
        ("name", '{"names": [{"id": 1, "name": "\\ud800"}]}'),
        ("merge", '{"pins": 1}'),
        ("move", '{"more": []}'),
        ("answer", '{"different": [[[1]]]}'),
        ("cut", '{"cuts": [{"track": 1, "at": -1}]}'),
        ("cut", '{"cuts": [{"track": 1, "at": 1e999}]}'),
        ("found", '{"anchor": 1, "track": 9}'),
        ("recluster", '{"clustering": "x"}'),
        ("add", '{"video": ""}'),
        ("forget", "{}"),
        ("undo", "[]"),
        ("undo", "{}"),
        ("redo", '{"event": "1"}'),
        ("redo", "[" * 100_000),
        ("undo", b"\x00\xff"),
    ],
)
def test_invalid_events_are_refused(tmp_path, kind, body):
    log = Log(tmp_path / "c.db")
    log.anchor([ONE])
    log._open().execute("INSERT INTO events VALUES (1, 0, 'me', ?, ?)", (kind, body))
    with pytest.raises(InputError, match="a damaged log of corrections .event 1"):
        log.events()


@pytest.mark.parametrize("at", [1e300, float("inf"), -1e12, "now"])
def test_events_without_a_valid_time_are_refused(tmp_path, at):
    log = Log(tmp_path / "c.db")
    body = '{"event": 1}'
    log._open().execute("INSERT INTO events VALUES (1, ?, 'me', 'undo', ?)", (at, body))
    with pytest.raises(InputError, match="an event without a valid time"):
        log.events()


@pytest.mark.parametrize(
    "faces",
    ["[" * 100_000, "{}", "[[1, 2]]", f"[{'[1, 1, 1, 1, 1], ' * 100_000}[1]]",
     '[["a", 1, 1, 1, 1]]', "[1]",
     '{"faces": []}', '{"size": [0, 1], "faces": []}', '{"size": [1], "faces": []}',
     '{"size": [9, 9], "faces": [[1, 2]]}', '{"size": [9, 9e9], "faces": []}'],
)  # fmt: skip
def test_anchors_with_invalid_faces_are_refused(tmp_path, faces):
    log = Log(tmp_path / "c.db")
    log._open().execute("INSERT INTO anchors VALUES (1, 's', 't', 'v', ?, '', x'')", (faces,))
    with pytest.raises(InputError, match="a damaged log"):
        log.anchors()


@pytest.mark.parametrize("feature", [b"x", b"\xff\xff", "text"])
def test_anchors_with_an_invalid_feature_are_refused(tmp_path, feature):
    log = Log(tmp_path / "c.db")
    log._open().execute("INSERT INTO anchors VALUES (1, 's', 't', 'v', '[]', '', ?)", (feature,))
    with pytest.raises(InputError, match="a damaged log"):
        log.anchors()


def ids(*numbers):
    return np.array(numbers, "<i8").tobytes()


@pytest.mark.parametrize(
    ("labels", "points"),
    [
        (b"x", b""), ("x", b""), (bytes(8), bytes(4)), (b"\1" * 8, b"\xff" * 4),
        # Otherwise valid: two ids for one track, no id, no number, more than any id, half a number.
        (ids(1, 2), b""), (ids(), b""), (ids(1), np.array([np.nan], "<f4").tobytes()),
        (ids(0), b""), (ids(-1), b""), (ids(MOST_IDS), b""), (ids(1), b"xy"),
    ],
)  # fmt: skip
def test_invalid_clusterings_are_refused(tmp_path, labels, points):
    log = Log(tmp_path / "c.db")
    row = (1, '["a"]', labels, points)
    log._open().execute("INSERT INTO clusterings VALUES (?, ?, ?, ?)", row)
    with pytest.raises(InputError, match="a damaged clustering"):
        log.clustering(1)
    with pytest.raises(InputError, match="a damaged log"):
        log.clustering(2**70)


def test_a_clustering_with_the_highest_id_is_read(tmp_path):
    log = Log(tmp_path / "c.db")
    row = (1, '["a"]', ids(MOST_IDS - 1), np.array([1, 0], "<f4").tobytes())
    log._open().execute("INSERT INTO clusterings VALUES (?, ?, ?, ?)", row)
    found = log.clustering(1)
    assert (found.tracks, found.labels.tolist()) == (["a"], [MOST_IDS - 1])
    assert found.points.tolist() == [[1, 0]]


def test_a_user_name_with_lone_surrogates_is_made_printable(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "\udcff")
    log = Log(tmp_path / "log.db")
    log.append("undo", UNDO, 0)
    assert [event.who for event in log.events()] == ["?"]
