"""The page of a cast works under any path, behind one guard."""

from __future__ import annotations

import re
import threading
import time
from importlib import resources
from urllib.parse import urljoin
from urllib.request import ProxyHandler, Request, build_opener

import pytest
import uvicorn

from castlist.cast.corrections import Corrections
from castlist.review.app import cast_app
from castlist.review.guard import Guard
from castlist.review.local_server import listen
from castlist.review.service import new_service


@pytest.fixture
def base(home):
    """A server with the cast under /casts/a/; its address."""
    corrections = Corrections(home)
    whole = new_service("library")
    whole.mount("/casts/a", cast_app(corrections, [home.with_name("film.mp4")], "../../"))
    listening = listen(0)
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(Guard(whole, "token", port), log_level="error"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()
    corrections.close()


def ask(address, token="token"):
    request = Request(address, headers={"X-Castlist-Token": token})
    with build_opener(ProxyHandler({})).open(request, timeout=30) as answer:
        return answer.status, answer.headers, answer.read()


def test_a_mounted_page_finds_its_files_and_is_guarded(base):
    here = f"{base}/casts/a/"
    _, headers, page = ask(here)
    assert "default-src 'none'" in headers["content-security-policy"]
    assert b'href="../../"' in page  # the library
    for wanted in re.findall(rb'(?:href|src)="([^"#.][^"]*)"', page):
        assert ask(urljoin(here, wanted.decode()))[0] == 200
    status, headers, _ = ask(f"{here}api/cast")
    assert (status, headers["cache-control"]) == (200, "no-store")
    assert headers["x-content-type-options"] == "nosniff"
    for path in ("", "api/cast", "video/0", "js/main.js"):
        with pytest.raises(OSError, match="403"):
            ask(here + path, token="wrong")


def test_no_script_asks_for_a_path_from_the_root():
    files = resources.files("castlist.review").iterdir()
    scripts = [path for path in files if path.name.endswith(".js")]
    assert len(scripts) > 10
    for script in scripts:
        found = re.findall(r'["`]/(?:api|faces|frames|video|js)\b', script.read_text("utf-8"))
        assert not found, script.name
