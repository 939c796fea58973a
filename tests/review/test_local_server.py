"""The token stays off command lines: the browser is given a private file that leads to it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from castlist.errors import InputError
from castlist.review.local_server import entry_file, listen
from tests.pages import Page

ADDRESS = "http://127.0.0.1:8000/?token=a-b_c&x=1"
#: A browser that notes its command line, as `ps` shows it.
BROWSER = """#!/bin/sh
printf '%s' "$*" > {noted}
"""


def test_the_file_is_private_leads_to_the_address_and_is_removed():
    with entry_file(ADDRESS) as path:
        assert ADDRESS in Page(path.read_text("utf-8")).find("a")[0][0]["href"]
        assert f"url={ADDRESS}" in Page(path.read_text("utf-8")).find("meta")[-1][0]["content"]
        if os.name == "posix":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()


@pytest.mark.skipif(os.name != "posix", reason="the browser is a shell script")
def test_the_command_line_of_the_browser_has_no_token(home, tmp_path):
    noted, browser = tmp_path / "noted", tmp_path / "browser"
    browser.write_text(BROWSER.format(noted=noted))
    browser.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-m", "castlist", "review", str(home)], stdout=subprocess.PIPE,
        encoding="utf-8", env=os.environ | {"BROWSER": f"{browser} %s"},
    ) as server:  # fmt: skip
        address = server.stdout.readline().strip()
        until = time.monotonic() + 30
        while not (noted.exists() and noted.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        given = noted.read_text()
        assert given.startswith("file:///")
        page = Path(given.removeprefix("file://"))
        assert address in page.read_text("utf-8")
        server.send_signal(signal.SIGINT)
        server.wait(60)
    token = address.partition("token=")[2]
    assert len(token) > 20
    assert token not in given
    assert not page.exists()


def test_a_file_opens_the_page_in_a_browser(browser, home):
    """The browser comes from a file, so it is another site until the page leads on."""
    from robustness.review_server import Server

    with Server(home) as server, entry_file(server.address) as path:
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector('body[data-view="cast"]')
        assert page.url == f"{server.base}/"
        page.close()


def test_a_port_that_is_taken_is_named():
    with listen(0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=f"cannot listen on port {port}"):
            listen(port)
