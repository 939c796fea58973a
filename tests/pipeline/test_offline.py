"""Nothing leaves the machine: all is done with the network cut, and nothing is kept about the user.

The user's home is compared before and after, as what is to be sent later is stored first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from castlist import write_tracks
from castlist.cli.app import COMMANDS
from castlist.export.write import FORMATS
from castlist.research import SyntheticWorld, synthetic_tracks
from castlist.research.commands import COMMANDS as RESEARCH
from castlist.video.inference import BACKEND, BACKENDS
from castlist.video.weights import REGISTRY
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

#: The folders of the user's home that castlist writes to (docs/user-guide/install.md).
DOCUMENTED = (".cache/castlist", ".local/state/castlist", ".cache/matplotlib")
#: Of the environment, what a program needs to start. Others, such as CI, switch telemetry off.
NEEDED = ("PATH", "LD_LIBRARY_PATH", "LANG", "PYTHONPATH", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV")

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


@pytest.fixture(scope="module")
def clip(pictures, tmp_path_factory):
    """The beginning of the demo video."""
    return compose_demo(pictures, tmp_path_factory.mktemp("short") / "clip.mp4", (320, 180), 5, 0.6)


class Offline:
    """Runs Python with the network cut, for a user with a home of their own.

    Whoever is talked to is written down.
    """

    def __init__(self, cut: list[str], folder: Path) -> None:
        (folder / "sitecustomize.py").write_text(WITNESS)
        self._cut, self._heard, self.home = cut, folder / "heard", folder / "home"
        self._heard.touch()
        (self.home / ".config" / "other").mkdir(parents=True)
        (self.home / ".config" / "other" / "settings").write_text("of another program\n")
        (self.home / ".profile").write_text("# mine\n")
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        self._around = {name: os.environ[name] for name in NEEDED if name in os.environ} | {
            "HOME": str(self.home), "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "CASTLIST_WITNESS": str(self._heard), "PIP_NO_INDEX": "1",
            # pip asks for the version of Rust, and rustup then writes its settings.
            "RUSTUP_HOME": str(folder / "rustup"),
            "OMP_NUM_THREADS": "1",  # threads that wait for one another make a small job long
        }  # fmt: skip
        self._before = self._files()

    def __call__(self, *words: object, code: int = 0, **around: str) -> str:
        done = subprocess.run(
            [*self._cut, sys.executable, *map(str, words)], capture_output=True, encoding="utf-8",
            env=self._around | around, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    def serve(self, *words: object) -> str:
        """Start a server and end it as Ctrl-C does; return the address that it prints."""
        with subprocess.Popen(
            [*self._cut, sys.executable, *map(str, words)],
            stdout=subprocess.PIPE, encoding="utf-8", env=self._around,
        ) as server:  # fmt: skip
            assert server.stdout is not None
            address = server.stdout.readline()
            time.sleep(2)  # until it handles signals
            server.send_signal(signal.SIGINT)
            try:
                server.wait(60)
            finally:
                server.kill()  # nothing, if it has ended
        assert server.returncode == 130
        return address

    def heard(self) -> str:
        """Return who was talked to."""
        return self._heard.read_text()

    def written(self) -> set[str]:
        """Return what was made, changed or removed in the home, but for castlist's own folders."""
        after = self._files()
        changed = {path for path, _ in self._before.items() ^ after.items()}
        own = re.compile(rf"({'|'.join(map(re.escape, DOCUMENTED))})/")
        return {path for path in changed if not own.match(path)}

    def _files(self) -> dict[str, str]:
        return {
            path.relative_to(self.home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.home.rglob("*")
            if not path.is_dir()
        }


@pytest.fixture
def offline(cut, tmp_path):
    return Offline(cut, tmp_path)


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
    assert offline.written() == set()


def test_the_comparison_sees_what_is_written_to_the_home(offline):
    write = "from pathlib import Path; Path.home().joinpath('{}').write_text('id')"
    offline("-c", write.format(".profile"))
    offline("-c", write.format(".config/deviceid"))
    assert offline.written() == {".profile", ".config/deviceid"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_backend_keeps_an_id_of_the_machine_or_what_it_did(offline, tmp_path, backend):
    video = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 5)
    run = "import castlist, sys; castlist.scan(sys.argv[1])"  # the library, without the commands
    offline("-c", run, video, **{BACKEND: backend})
    offline("-m", "castlist", "doctor", "--no-speed", **{BACKEND: backend})
    assert offline.written() == set()
    assert offline.heard() == ""


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_command_with_the_network_cut(offline, clip, pictures, portraits, tmp_path, backend):
    ran = set()

    def castlist(*words: object, code: int = 0) -> str:
        ran.add(words[0])
        return offline("-m", "castlist", *words, code=code, **{BACKEND: backend})

    def research(*words: object) -> None:
        ran.add(f"research {words[0]}")
        offline("-m", "castlist", "research", *words, **{BACKEND: backend})

    castlist("doctor", "--no-speed")
    castlist("models")
    castlist("models", "verify")
    castlist("models", "fetch", "edgeface", code=2)
    others = (portraits / "guido.mp4", portraits / "filippo.mp4")
    for name, video in zip(("one", "two", "six"), (clip, *others), strict=True):
        (tmp_path / f"{name}.mp4").write_bytes(video.read_bytes())
    one, two = tmp_path / "one.cast", tmp_path / "two.cast"
    castlist("scan", tmp_path / "one.mp4")
    castlist("scan", tmp_path / "two.mp4")
    listed = json.loads(castlist("export", one, "--to", "json", "-o", "-"))
    first, second = (person["tracks"] for person in listed["characters"][:2])
    castlist("name", one, 1, "Anna")
    castlist("merge", one, 1, 2, "--waive")
    castlist("split", one, second[0]["id"])
    castlist("cut", one, first[0]["id"], (first[0]["start"] + first[0]["end"]) / 2)
    castlist("background", one, 3)
    castlist("undo", one)
    castlist("redo", one)
    castlist("log", one)
    castlist("recluster", one, "--yes")
    castlist("report", one)
    for to, form in FORMATS.items():
        castlist("export", one, "--to", to, "-o", tmp_path / f"exported-{to}{form.suffix}")
    castlist("find", one, "Anna")
    castlist("reel", one, "Anna", "--exact", "-o", tmp_path / "anna.mp4")
    castlist("reel", one, "Anna", "--to", "otio", "-o", tmp_path / "anna.otio")
    castlist("graph", one, "-o", tmp_path / "cast.svg")
    castlist("blur", one, "-o", tmp_path / "blurred.mp4")
    castlist("export", one, "--to", "rttm", "-o", tmp_path / "talk.rttm")
    castlist("voices", one, tmp_path / "talk.rttm")
    castlist("join", one, two, "-o", tmp_path / "series.cast")
    castlist("add", tmp_path / "series.cast", tmp_path / "six.mp4")
    castlist("remove", tmp_path / "series.cast", "two")
    for name in ("open", "review"):
        ran.add(name)
        folder = tmp_path if name == "open" else one
        assert "http://127.0.0.1:" in offline.serve("-m", "castlist", name, folder, "--no-browser")
    (tmp_path / "album" / "ann").mkdir(parents=True)
    (tmp_path / "album" / "ann" / "1.jpg").write_bytes(pictures[0].read_bytes())
    research("describe", tmp_path / "album", "-o", tmp_path / "faces.parquet")
    world = SyntheticWorld(dim=32, who=10, how=14, loudness=1.2)
    data, model = tmp_path / "made.parquet", tmp_path / "run" / "model.safetensors"
    write_tracks(data, synthetic_tracks(60, 900, 4, world=world, seed=1))
    research("train", data, "-o", tmp_path / "run", "--epochs", 2, "--hidden", 16)
    research("finetune", data, "-m", model, "-o", tmp_path / "tuned.safetensors")
    castlist("cluster", data, "-m", model)
    research("evaluate", data, "-m", model, "--figure", tmp_path / "curve.png")
    research("stats", data, "--figure", tmp_path / "skew.svg")
    (tmp_path / "plan.toml").write_text(
        'title = "t"\nseeds = [0]\nmethods = ["base"]\n[train]\ntracks = "made.parquet"\n'
        '[[test]]\nname = "u"\ntracks = "made.parquet"\nvalidation = "made.parquet"\n'
    )
    research("study", tmp_path / "plan.toml", "-o", tmp_path / "study", "--quick")
    wanted = {*COMMANDS.table, *(f"research {name}" for name in RESEARCH.table)}
    assert ran == wanted - {"research"}
    assert offline.written() == set()
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
    said = offline(*words, code=2, CASTLIST_CACHE=str(cache))
    assert f"{weights.file} (the weights {name}) is damaged in the cache" in said
    assert "Traceback" not in said
    assert not (tmp_path / "grey.cast" / "report.html").exists()
