"""Commands on which faults are tried: small inputs, and the state they leave.

A command runs in a fork of this process, which has everything loaded: a real process with a real
exit code, many times a minute. Nothing may be computed here before: threads do not survive a fork.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import castlist.cast.series
import castlist.cli
import castlist.cli.app
import castlist.pipeline.scan
import castlist.research.study.html_page
import castlist.research.study.runner
import castlist.research.training.trainer
import castlist.review.serve
from castlist import write_tracks
from castlist.research import synthetic_tracks
from datasets.synthetic_casts import made_video, write_film, write_folder
from robustness.faults.child import be

PLAN = """
title = "Little"
seeds = [0]
methods = ["ball"]
finetune_iterations = 2
[train]
tracks = "train.parquet"
validation = "val.parquet"
[[test]]
name = "test"
tracks = "test.parquet"
[method.ball]
hidden = [8]
epochs = 2
"""
TRAIN = (
    "research train train.parquet --validation val.parquet -o run --epochs 4 --hidden 16 "
    "--recipe paper"
)
#: Files that contain durations, and nothing that is not in other files.
TIMED = ("index.html", "tables.md", "seconds-an-epoch")
#: Each command, as it is given in the folder of the inputs.
CASES = {
    "scan": "scan film.mp4 --tracks film.txt",
    "name": "name a.cast 1 Anna",
    "merge": "merge a.cast 1 3 --waive",
    "split": "split a.cast 0000 0001 --waive",
    "background": "background a.cast 2 3",
    "undo": "undo b.cast",
    "recluster": "recluster b.cast --yes",
    "join": "join a.cast b.cast -o new.cast",
    "add": "add season.cast c.cast",
    "report": "report b.cast",
    "export json": "export b.cast --to json -o b.json",
    "export csv": "export b.cast --to csv -o b.csv",
    "export otio": "export b.cast --to otio -o b.otio",
    "train": TRAIN,
    "cluster": "cluster test.parquet -o groups.csv --threshold 0.5",
    "study": "research study study.toml -o out",
}


@dataclass(frozen=True)
class Done:
    """Exit code and output of a command."""

    code: int
    said: str


def draw(film: Path, people: int = 3, seed: int = 0) -> None:
    """Make a video of drawn faces and a file of their boxes: detectors do not find them."""
    made = made_video(people, 2, seed=seed)
    write_film(film, made)
    lines = [
        f"{round(time * 5) + 1},{row + 1},{x + 1},{y + 1},{w},{h},1,-1,-1,-1\n"
        for row, time, (x, y, w, h) in zip(made.track_of_face, made.time, made.box, strict=True)
    ]
    film.with_suffix(".txt").write_text("".join(lines))


def prepare(home: Path) -> None:
    """Make what the commands work on."""
    draw(home / "film.mp4")
    for seed, name in enumerate("abc"):
        tracks = made_video(dim=128, seed=seed)
        write_folder(home / f"{name}.cast", tracks, pictures=True)
        about = json.loads((home / f"{name}.cast" / "run.json").read_text())
        about["video"]["name"] = f"{name}.mp4"
        (home / f"{name}.cast" / "run.json").write_text(json.dumps(about))
    people = synthetic_tracks(26, 260, 3, seed=1)
    held = np.isin(people.identity, np.unique(people.identity)[:6])
    write_tracks(home / "train.parquet", people[~held])
    write_tracks(home / "val.parquet", people[held])
    write_tracks(home / "test.parquet", synthetic_tracks(6, 40, 3, seed=2))
    (home / "study.toml").write_text(PLAN)
    for words in (
        "name b.cast 1 Bo", "split b.cast 0004 --to 3 --waive", "name c.cast 2 Cleo",
        "join b.cast c.cast -o season.cast", "name season.cast 1 Somebody",
    ):  # fmt: skip
        done = run(words.split(), home)
        assert done.code == 0, done
    # One video is in the season already; the one that is added is another.
    about = json.loads((home / "c.cast" / "run.json").read_text())
    about["video"]["name"] = "d.mp4"
    (home / "c.cast" / "run.json").write_text(json.dumps(about))


def forked(call: Callable[[], object], meanwhile: Callable[[], object] = lambda: None) -> Done:
    """Do something in a process of its own, and something else meanwhile."""
    with tempfile.TemporaryFile() as said:  # not on the disk that is full
        child = os.fork()
        if not child:
            be(call, said.fileno())
        meanwhile()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return Done(code, said.read().decode("utf-8", "replace"))


def run(
    words: list[str],
    home: Path,
    before: Callable[[], object] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Done:
    """Run a castlist command in a folder; ``before`` is done first, in its process."""

    def command() -> None:
        os.chdir(home)
        before()
        sys.argv = ["castlist", *words]
        castlist.cli.main()

    return forked(command, meanwhile)


def wrong_end(done: Done, *words: str) -> str:
    """Return what is wrong with a failure; its message must contain one of the given phrases."""
    plain = " ".join(done.said.split())
    if done.code == 2 and "Traceback" not in done.said and any(word in plain for word in words):
        return ""
    return f"exit code {done.code}: {plain[-600:]}"


def other(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    """List the files of two states that are not the same."""
    return [name for name in sorted(one.keys() | two.keys()) if one.get(name) != two.get(name)]


def state(home: Path) -> dict[str, Any]:
    """Return the content of a folder, without times and its own path."""
    found: dict[str, Any] = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if path.is_dir() or name.endswith(("-wal", "-shm")) or path.name.startswith(TIMED):
            continue
        if path.suffix == ".db":
            if said := _said(path):
                found[name] = said
        elif path.suffix == ".json":
            found[name] = _untimed(json.loads(path.read_text()))
        elif path.name == "log.jsonl":
            found[name] = [_untimed(json.loads(line)) for line in path.read_text().splitlines()]
        elif path.suffix == ".safetensors":
            found[name] = _model(path.read_bytes())
        else:
            found[name] = path.read_bytes()
    return found


def _untimed(value: Any) -> Any:
    if isinstance(value, list):
        return [_untimed(one) for one in value]
    if isinstance(value, dict):
        timed = ("seconds", "resumed_at")
        return {k: _untimed(v) for k, v in value.items() if not k.endswith(timed)}
    return value


def _model(content: bytes) -> list[Any]:
    """Return the arrays of a safetensors file, without metadata, which contain durations."""
    end = 8 + int.from_bytes(content[:8], "little")
    head = json.loads(content[8:end])
    about = _untimed(json.loads(head.pop("__metadata__")["castlist"]))
    return [head, about, content[end:]]


def _said(path: Path) -> list[Any]:
    """Return what a log holds, read by SQLite alone."""
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not db.execute("PRAGMA user_version").fetchone()[0]:
            return []  # made, and nothing came into it
        return [
            db.execute("SELECT number, kind, body FROM events ORDER BY number").fetchall(),
            db.execute("SELECT * FROM anchors ORDER BY number").fetchall(),
            db.execute("SELECT * FROM clusterings ORDER BY number").fetchall(),
        ]
