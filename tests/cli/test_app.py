"""Commands start fast: each imports what it needs, when it is given."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from castlist.cli.app import COMMANDS, load
from datasets.synthetic_casts import made_video, write_folder

#: Slow to load.
VISION = {"cv2", "av", "PIL"}
LEARNING = {"torch", "sklearn", "numba", "safetensors"}
PAGES = {"fastapi", "uvicorn", "jinja2"}
ARRAYS = {"numpy", "scipy", "pyarrow", "pandas"}
SLOW = VISION | LEARNING | PAGES | ARRAYS | {"matplotlib", "pydantic", "ray"}


def loaded(program, *words):
    """Run a program; return which of the slow packages it loaded."""
    told = f"""
import atexit, sys
atexit.register(lambda: print("loaded", *({SLOW!r} & set(sys.modules)), file=sys.stderr))
{program}
"""
    done = subprocess.run(
        [sys.executable, "-c", told, *map(str, words)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    first, *found = done.stderr.splitlines()[-1].split()
    assert first == "loaded"
    return set(found)


def by(*words):
    return loaded("from castlist.cli import main\nmain()", *words)


def test_the_package_loads_nothing():
    assert loaded("import castlist") == set()


@pytest.mark.parametrize("words", ["--help", "--version", "name --help", "merge -h", "scan --help"])
def test_help_loads_nothing(words):
    assert by(*words.split()) <= ({"numpy"} if "scan" in words else set())


@pytest.mark.parametrize(
    "words", ["name 1 Anna", "merge 1 3", "split 0000", "background 4", "log", "undo", "export"]
)
def test_a_correction_loads_no_more_than_it_reads(words, tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video(), pictures=True)
    if words == "undo":
        by("name", folder, "1", "Anna")
    command, *rest = words.split()
    more = ("--to", "csv", "-o", "-") if command == "export" else ()
    # Tracks are Parquet, and events are checked by Pydantic; pyarrow loads pandas where it is.
    assert by(command, folder, *rest, *more) <= {"numpy", "pyarrow", "pandas", "pydantic"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_they_say(name):
    command = load(name)
    assert command.name in (name, "")  # a group gets its name where it is called
    first, _, _ = inspect.cleandoc(command.help).partition("\n\n")
    assert COMMANDS[name][1] == " ".join(first.split())
