"""The table of commands: what each imports, and its help."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys

import pytest

from castlist.cast.corrections import Corrections
from castlist.cli.app import COMMANDS, PANELS
from castlist.research.commands import COMMANDS as RESEARCH
from datasets.synthetic_casts import made_video, write_folder
from tests.programs import castlist

#: Modules that are slow to import, or that a correction must not need.
SLOW = {
    "cv2", "av", "PIL", "torch", "sklearn", "numba", "safetensors", "fastapi", "uvicorn", "jinja2",
    "numpy", "scipy", "pyarrow", "pandas", "matplotlib", "pydantic", "ray",
    "castlist.cast.evidence",
}  # fmt: skip
PROGRAM = """
import json, sys
from castlist.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["castlist", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (words, end.code)
"""


def imported(program, *words):
    """Run a program in a new process; return which of the slow modules it imported."""
    at_exit = f"""
import atexit, sys
atexit.register(lambda: print("imported", *({SLOW!r} & set(sys.modules)), file=sys.stderr))
{program}
"""
    done = subprocess.run(
        [sys.executable, "-c", at_exit, *words],
        capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    first, *found = done.stderr.splitlines()[-1].split()
    assert first == "imported"
    return set(found)


def imported_by(*commands):
    """Run commands one after another in one new process; return what they imported."""
    return imported(PROGRAM, json.dumps(commands))


def test_the_package_imports_nothing_slow():
    assert imported("import castlist") == set()


def test_help_imports_nothing_slow():
    commands = [["--help"], ["--version"], ["name", "--help"], ["merge", "-h"], ["log", "--help"]]
    assert imported_by(*commands) == set()
    assert imported_by(["scan", "--help"]) <= {"numpy"}


def test_a_correction_imports_neither_decoder_nor_network_nor_questions(tmp_path):
    folder = str(write_folder(tmp_path / "film.cast", made_video(), pictures=True))
    commands = [
        ["name", folder, "1", "Anna"], ["merge", folder, "1", "3"], ["split", folder, "0000"],
        ["background", folder, "4"], ["cut", folder, "0004", "7"], ["undo", folder],
        ["redo", folder], ["log", folder], ["export", folder, "--to", "csv", "-o", "-"],
    ]  # fmt: skip
    # Tracks are Parquet, and events are checked by Pydantic. pyarrow imports pandas if it is there.
    assert imported_by(*commands) <= {"numpy", "pyarrow", "pandas", "pydantic"}
    assert Corrections(folder).last == 7


def test_every_command_is_in_one_panel_of_the_help():
    assert sorted(name for names in PANELS.values() for name in names) == sorted(COMMANDS.table)
    text = castlist("--help").stdout
    places = [text.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)


@pytest.mark.posix  # the program is a script with an interpreter line
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("rec", "recluster"),
        ("scan --min-f", "--min-face"),
        ("models f", "fetch"),
        ("export x.cast --to otio --no-dr", "--no-drop-frame"),
        ("scan fi", ""),  # files: bash completes them itself
    ],
)
def test_completion_in_bash(tmp_path, typed, completed):
    """Install the completion as a user does, and ask bash for it."""
    program = tmp_path / "castlist"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = 'castlist'\n"
        "from castlist.cli import main\nmain()\n"
    )
    program.chmod(0o755)
    script = f"""
castlist --install-completion >&2
. ~/.bashrc
COMP_WORDS=(castlist {typed}) COMP_CWORD={len(typed.split())}
_castlist_completion castlist
echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == completed, done.stderr


WORDS = [
    *COMMANDS.table, *(f"research {name}" for name in RESEARCH.table),
    "models fetch", "models verify", "models licence",
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
def test_help_shows_an_example(words):
    text = " ".join(castlist(*words.split(), "--help").stdout.split())
    assert f"Example: castlist {words} " in f"{text} "


@pytest.mark.parametrize(
    ("commands", "name"), [(group, name) for group in (COMMANDS, RESEARCH) for name in group.table]
)
def test_the_table_repeats_the_first_line_of_each_docstring(commands, name):
    command = commands.load(name)
    assert command.name in (name, "")  # a group is named by its parent
    first, _, _ = inspect.cleandoc(command.help).partition("\n\n")
    assert commands.table[name][1] == " ".join(first.split())
