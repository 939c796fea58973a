"""``castlist`` without arguments: a page on a terminal, help in a script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.programs import castlist


def test_a_script_gets_help_and_no_server():
    done = castlist(code=2)
    assert "Usage" in done.stdout
    assert "http://" not in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_on_a_terminal_the_page_of_the_current_folder_is_opened(tmp_path):
    around = os.environ | {"BROWSER": "true %s", "CASTLIST_STATE": str(tmp_path)}
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "castlist"], stdin=theirs, stdout=theirs,
        stderr=subprocess.DEVNULL, cwd=tmp_path, env=around,
    ) as started:  # fmt: skip
        os.close(theirs)
        said = b""
        while b"\n" not in said:
            said += os.read(ours, 1000)
        address = said.split()[0].decode()
        with suppress(HTTPError):  # whatever it answers: it runs, and handles signals
            urlopen(address, timeout=30).close()
        started.send_signal(signal.SIGINT)
        try:
            started.wait(60)
        finally:
            started.kill()  # nothing, if it has ended
    os.close(ours)
    assert said.startswith(b"http://127.0.0.1:")
    assert started.returncode == 130


def test_a_folder_that_does_not_exist(tmp_path):
    done = castlist("open", tmp_path / "none", "--no-browser", code=2)
    assert "no such folder" in done.stderr
