"""Hostile logs of corrections for ``fuzz.py``: SQLite with other rows, and other tables."""

from __future__ import annotations

import json
import sqlite3
from random import Random
from typing import Any

from robustness.fuzz_damage import damaged_bytes, damaged_json, deep_json


def database(seed: bytes, rng: Random) -> bytes:
    """Change the rows of a log of corrections, or the tables themselves."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        db.deserialize(seed)
        db.execute("PRAGMA writable_schema = ON")
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        for _ in range(rng.choice((1, 1, 2))):
            _change_row(db, rng)
        for _, sql in guards:
            db.execute(sql)
        if rng.random() < 0.15:
            db.executescript(rng.choice(_SCHEMAS))
        return bytes(db.serialize())
    except (sqlite3.Error, UnicodeError, OverflowError):
        return damaged_bytes(seed, rng)
    finally:
        db.close()


_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


_SCHEMAS = (
    "DROP TABLE events",
    "DROP TABLE anchors; CREATE TABLE anchors (number)",
    f"DROP TABLE events; CREATE VIEW events AS {_ENDLESS} "
    "SELECT x AS number, 0 AS at, '' AS who, 'name' AS kind, '{}' AS body FROM c",
    "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM anchors; END",
    "PRAGMA user_version = 7",
    "PRAGMA user_version = 0",
    "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'events'",
    "UPDATE sqlite_master SET sql = 'x' WHERE name = 'events'",
)


def _change_row(db: sqlite3.Connection, rng: Random) -> None:
    table, columns = rng.choice((
        ("events", ("number", "at", "who", "kind", "body")),
        ("anchors", ("number", "scan", "track", "video", "faces", "describer", "feature")),
        ("clusterings", ("tracks", "labels", "points")),
        ("ids", ("next",)),
    ))  # fmt: skip
    column = rng.choice(columns)
    row = db.execute(f"SELECT rowid, {column} FROM {table} ORDER BY random() LIMIT 1").fetchone()
    if row is None:
        return
    value: Any = rng.choice((
        b"", b"\xff" * 8, b"x" * 7, "", 0, -1, 2**62, 1e300, "name", "undo", "merge", "[]", "{}",
        deep_json(rng).decode(), "null",
    ))  # fmt: skip
    if column in ("body", "faces") and rng.random() < 0.8:
        value = json.dumps(damaged_json(json.loads(row[1]), rng))
    if rng.random() < 0.1:
        db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row[0],))
    else:
        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row[0]))
