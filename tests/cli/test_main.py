"""How commands end: exit codes and messages. The only tests that start the program itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from castlist import CastlistError, __version__
from castlist.cast.corrections import Corrections
from castlist.cli import main
from datasets.synthetic_casts import made_video, write_folder
from tests.programs import run_castlist


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
def test_expected_errors_are_one_message(monkeypatch, capsys, error, code, says):
    def fail():
        raise error

    monkeypatch.setattr("castlist.cli.app.app", fail)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert says in capsys.readouterr().err


def test_an_unexpected_error_is_raised(monkeypatch):
    def fail():
        raise RuntimeError("a defect")

    monkeypatch.setattr("castlist.cli.app.app", fail)
    with pytest.raises(RuntimeError, match="a defect"):
        main()


@pytest.mark.posix
@pytest.mark.parametrize("module", ["castlist.cli.app", "castlist.cli.scan"])
def test_ctrl_c_while_commands_are_imported(module):
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
    done = subprocess.run(words, capture_output=True, encoding="utf-8")
    assert done.returncode == 130
    assert done.stderr.strip() in ("", "Aborted.")


def test_the_program_prints_its_version():
    assert run_castlist("--version").stdout == f"castlist {__version__}\n"


def test_the_program_prints_one_message_and_no_traceback_for_a_mistake():
    done = run_castlist("research", "stats", "missing.parquet", code=2)
    assert "missing.parquet: no such file or folder" in done.stderr


def test_a_name_that_the_terminal_cannot_encode(tmp_path, monkeypatch):
    folder = write_folder(tmp_path / "film.cast", made_video())
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    assert "?ukasz (1)" in run_castlist("name", folder, "1", "Łukasz").stdout
    assert Corrections(folder).character(1).name == "Łukasz"


def test_a_closed_pipe_ends_the_command_without_a_traceback(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video())
    words = [sys.executable, "-m", "castlist", "export", folder, "--to", "csv", "-o", "-"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        told = process.stderr.read().decode()
    assert process.returncode == 1
    assert told == ""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_consoles_without_utf_8(tmp_path, monkeypatch, encoding):
    folder = write_folder(tmp_path / "film.cast", made_video())
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("PYTHONUTF8", "0")
    words = [sys.executable, "-m", "castlist"]
    subprocess.run([*words, "name", folder, "1", "Łukasz"], capture_output=True, check=True)
    subprocess.run([*words, "--help"], capture_output=True, check=True)
    log = subprocess.run([*words, "log", folder, "--json"], capture_output=True, check=True).stdout
    assert "Łukasz" in str(json.loads(log.decode(encoding)))  # nothing is lost in JSON
    export = [*words, "export", folder, "--to", "csv", "-o", "-"]
    text = subprocess.run(export, capture_output=True, check=True).stdout
    assert "Łukasz" in text.decode("utf-8")  # a file in UTF-8, whatever the console
