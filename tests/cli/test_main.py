"""What may end a command other than itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from castlist import CastlistError
from castlist.cli import main


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (CastlistError("no"), 2, "castlist: no\n"),
        (OSError(28, "No space left on device", "x"), 2, "castlist: x: No space left on device\n"),
        (MemoryError("Unable to allocate 1 TiB"), 2, "castlist: not enough memory (Unable to allo"),
        (MemoryError(), 2, "castlist: not enough memory\n"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 4"), 2, "not enough memory\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_a_command_may_end_with(monkeypatch, capsys, error, code, says):
    def fail():
        raise error

    monkeypatch.setattr("castlist.cli.app.app", fail)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("describe", "person/track/*.jpg or person/*.jpg"),
        ("add", "The folder that castlist join made"),
        ("train", "Times through the tracks"),
        ("train", "Draws the split"),
        ("finetune", "--model -m"),
    ],
)
def test_help_says_what_is_so(monkeypatch, capsys, command, says):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["castlist", command, "--help"])
    with pytest.raises(SystemExit):
        main()
    assert says in " ".join(capsys.readouterr().out.split())


def test_a_defect_of_ours_is_not_hidden(monkeypatch):
    def fail():
        raise RuntimeError("a defect")

    monkeypatch.setattr("castlist.cli.app.app", fail)
    with pytest.raises(RuntimeError, match="a defect"):
        main()


@pytest.mark.parametrize("module", ["castlist.cli.app", "castlist.cli.scan"])
def test_interrupted_while_it_loads(module):
    code = (
        "import os, signal, sys\n"
        "from castlist.cli import main\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "main()\n"
    )
    words = [sys.executable, "-c", code, "scan", "film.mp4"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr.strip() in ("", "Aborted.")


def test_no_encoding_is_too_small():
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "castlist", "train", "--help"]  # has a τ in it
    done = subprocess.run(words, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
    assert "?" in done.stdout
