"""Names in files of strangers are text to the terminal, and no commands."""

from __future__ import annotations

import ast
import json
import sqlite3
import unicodedata
from contextlib import closing
from pathlib import Path

import pytest

import castlist as package
from castlist.cast.folder import CORRECTIONS
from tests.export.casts import made_cast
from tests.programs import castlist

#: Clears the screen, renames the window, in eight bits too, and turns the direction of writing.
HOSTILE = "A\x1b[2J\x1b]0;x\x07\x9b31m\x7f\r\u202ennA\u2069"
CLI = Path(package.__file__).parent / "cli"


@pytest.fixture
def received(tmp_path):
    """A cast as a stranger may have made it: castlist takes no such name."""
    folder = tmp_path / "v.cast"
    spans = [(0.0, 3.8, 0), (2.0, 4.8, 1), (6.0, 6.8, 0)]
    with made_cast(folder, video=f"v{HOSTILE}.mp4", spans=spans, duration=8.0) as cast:
        for character, name in zip(cast.cast.characters, ("NAME", "OTHER"), strict=True):
            cast.name(character.number, name)
    with closing(sqlite3.connect(folder / CORRECTIONS)) as log, log:
        (guard,) = log.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'events_stay'"
        ).fetchone()
        log.execute("DROP TRIGGER events_stay")
        inside = json.dumps(HOSTILE)[1:-1]
        log.execute("UPDATE events SET body = replace(body, 'NAME', ?), who = ?", (inside, HOSTILE))
        log.execute(guard)
    return folder


def commands_in(text):
    """Return the characters of a text that are commands to a terminal."""
    return {c for c in text if unicodedata.category(c) == "Cc" and c != "\n"} | (
        set(text) & set("\u202e\u2069")
    )


@pytest.mark.parametrize(
    "words",
    [
        "log {}", "log {} --json", "find {} 1", "find {} 1 --json", "find {} OTHER --video no",
        "merge {} 1 2", "name {} 2 New", "background {} 1", "split {} 00003", "cut {} 00001 1",
        "cut {} 00001 999", "undo {}", "recluster {} --yes", "recluster {}", "report {}",
        "voices {} {talk}", "voices {} {talk} --json", "voices {} {two}",
        "export {} --to mot -o {}",
        "blur {} -o {}.mp4", "reel {} 1 -o {}.mp4", "name {} 1 --describer x --from {talk}",
        "find {} {hostile}", "scan {hostile}", "scan {}/{hostile}", "cluster {hostile}",
        "stats {}/tracks.parquet", "join {} {hostile} -o {}2", "add {} {hostile}",
        "remove {} {hostile}", "study {hostile} -o {}3", "models fetch {hostile}",
    ],
)  # fmt: skip
def test_no_name_reaches_the_terminal_as_a_command(received, tmp_path, words):
    talk, two = tmp_path / "talk.rttm", tmp_path / "two.rttm"
    line = f"SPEAKER v 1 6.0 1.0 <NA> <NA> spk{HOSTILE.replace(chr(13), '')} <NA> <NA>\n"
    talk.write_text(line, "utf-8")
    two.write_text(line + line.replace(" v ", " w\x1b[2J "), "utf-8")
    given = {"talk": talk, "two": two, "hostile": HOSTILE}
    parts = [part.replace("{}", str(received)).format(**given) for part in words.split()]
    done = castlist(*parts, code=None)
    assert done.stdout or done.stderr
    assert commands_in(done.stdout) == set()
    assert commands_in(done.stderr) == set()
    if words == "log {} --json":  # it is whole all the same
        assert {event["who"] for event in json.loads(done.stdout)} == {HOSTILE}


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda path: path.name)
def test_commands_print_by_the_functions_that_remove_control_characters(path):
    printed = [
        f"{path.name}:{node.lineno}"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("print", "typer.echo", "typer.secho", "typer.prompt")
    ]
    allowed = {"common.py": 3, "__init__.py": 1, "app.py": 2, "export.py": 1}
    assert len(printed) <= allowed.get(path.name, 0), printed
