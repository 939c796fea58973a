"""Nothing leaves the machine: with the weights in the cache, all is done with the network cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from castlist.video.weights import REGISTRY, cache_folder
from datasets.demo_video import SHOTS, compose_demo
from datasets.small_videos import plain, write_video

#: Put into every Python process of the test: writes down who is talked to, if anybody is. Without
#: it a request that fails, and is passed over in silence, would not be seen.
WITNESS = """
import os, sys

def hear(event, given):
    asks = event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request")
    talks = event in ("socket.connect", "socket.sendto", "socket.sendmsg")
    if asks or (talks and isinstance(given[1], tuple)):  # a name in the file system is no host
        with open(os.environ["CASTLIST_WITNESS"], "a") as file:
            print(event, given[1:] if talks else given, file=file)

sys.addaudithook(hear)
"""

CONNECT = """
import socket
assert {name for _, name in socket.if_nameindex()} == {"lo"}, socket.if_nameindex()
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError:
    print("cut")
"""


@pytest.fixture(scope="module")
def cut() -> list[str]:
    """The words before a command that take the network away from it."""
    words = ["unshare", "--map-root-user", "--net"]
    try:
        tried = subprocess.run([*words, "true"], capture_output=True, encoding="utf-8")
        wrong = tried.stderr.strip() if tried.returncode else ""
    except OSError as error:
        wrong = str(error)
    if wrong:
        message = f"an empty network namespace cannot be made here: {wrong}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return words


@pytest.fixture(scope="module")
def film(pictures, tmp_path_factory):
    """The demo video, small: twelve shots of four people."""
    film = tmp_path_factory.mktemp("demo") / "film.mp4"
    return compose_demo(pictures, film, (320, 180), 5, 2.0)


@pytest.fixture
def offline(cut, tmp_path):
    """Run Python with the network cut; whoever is talked to is written down."""
    (tmp_path / "sitecustomize.py").write_text(WITNESS)
    heard = tmp_path / "heard"
    heard.touch()

    def run(*words: str, cache: Path | None = None, code: int = 0) -> str:
        paths = [str(tmp_path), os.environ.get("PYTHONPATH", "")]
        here = {
            **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "CASTLIST_WITNESS": str(heard), "CASTLIST_CACHE": str(cache or cache_folder()),
            "PIP_NO_INDEX": "1",
            "OMP_NUM_THREADS": "1",  # threads that wait for one another make a small job long
        }  # fmt: skip
        done = subprocess.run(
            [*cut, sys.executable, *words], capture_output=True, encoding="utf-8", env=here
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    run.heard = heard.read_text
    return run


def test_the_network_is_cut_and_the_witness_hears(offline):
    assert offline("-c", CONNECT) == "cut\n"
    assert "192.0.2.1" in offline.heard()


def test_a_whole_scan_and_all_that_follows_with_the_network_cut(offline, film):
    def castlist(*words: str) -> str:
        return offline("-m", "castlist", *words)

    (found,) = json.loads(castlist("scan", str(film), "--json"))
    assert found["counts"]["shots"] == len(SHOTS)
    assert len(found["characters"]) == 4
    cast = str(film.with_suffix(".cast"))
    castlist("name", cast, "1", "Anna")
    castlist("recluster", cast, "--yes")
    assert "Anna" in castlist("export", cast, "--to", "csv", "-o", "-")
    assert offline.heard() == ""


def test_weights_that_changed_in_the_cache_are_not_used(offline, tmp_path):
    name = "sface"
    video = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 30)
    cache = tmp_path / "cache"
    weights = REGISTRY[name]
    path = cache / "weights" / weights.sha256 / weights.file
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half of it")
    words = ("-m", "castlist", "scan", str(video), "--describer", name)
    said = offline(*words, cache=cache, code=2)
    assert f"{weights.file} (the weights {name}) is damaged in the cache" in said
    assert "Traceback" not in said
    assert not (tmp_path / "grey.cast" / "report.html").exists()
