"""The library server: what it shows, what it changes, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil

import cv2
import numpy as np
import pytest

from castlist.cast.corrections import Corrections
from castlist.library.library import Library
from datasets.small_videos import plain, write_video
from datasets.synthetic_casts import episode
from robustness.review_server import Server
from tests.pages import Page


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two videos with casts, one without, a file that is no video, and a damaged cast."""
    home = tmp_path_factory.mktemp("made") / "library"
    for k, name in enumerate(("one", "two")):
        episode(home, name, seed=k)
        write_video(home / f"{name}.mp4", [plain((90, 40 * k, 200))] * 50)
    write_video(home / "sub new.mp4", [plain((10, 200, 30))] * 25)
    (home / "broken.mp4").write_bytes(b"no video")
    (home / "damaged.cast").mkdir()
    return home


@pytest.fixture
def home(made, tmp_path):
    return shutil.copytree(made, tmp_path / "library")


@pytest.fixture
def server(home):
    with Server(home, command="open") as running:
        yield running


@pytest.fixture(scope="module")
def standing(made, tmp_path_factory):
    """A server for tests that change nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CASTLIST_STATE", str(tmp_path_factory.mktemp("state")))
        patch.setenv("CASTLIST_CACHE", str(tmp_path_factory.mktemp("cache")))
        running = Server(made, command="open").__enter__()
    yield running
    running.__exit__()


def items(server):
    whole = server.get("/api/library")
    return {item["name"]: item for item in whole["videos"] + whole["casts"]}


def send(server, path, **body):
    status, _, content = server.ask(path, body)
    return status, json.loads(content)


def test_states_lengths_posters_and_sizes(standing, made, eventually):
    eventually(lambda: all(item["read"] for item in items(standing).values()))
    eventually(lambda: all(one["cast"]["bytes"] for one in items(standing).values() if one["cast"]))
    found = items(standing)
    assert {name: item["state"] for name, item in found.items()} == {
        "one.mp4": "scanned", "two.mp4": "scanned", "sub new.mp4": "new",
        "broken.mp4": "unreadable", "damaged": "unreadable",
    }  # fmt: skip
    assert found["one.mp4"]["seconds"] == 2.0
    assert "cannot be read as a video" in found["broken.mp4"]["reason"]
    status, headers, content = standing.ask(f"/posters/{found['two.mp4']['key']}")
    assert (status, headers["content-type"]) == (200, "image/jpeg")
    colour = cv2.imdecode(np.frombuffer(content, np.uint8), 1).mean((0, 1))
    assert np.abs(colour - (90, 40, 200)).max() < 12
    assert standing.ask(f"/posters/{found['broken.mp4']['key']}")[0] == 404
    on_disk = sum(path.stat().st_size for path in (made / "one.cast").rglob("*") if path.is_file())
    assert found["one.mp4"]["cast"]["bytes"] == on_disk


def test_the_page_of_a_cast_and_its_corrections(server, home, eventually):
    cast = items(server)["one.mp4"]["cast"]
    base = f"/casts/{cast['key']}"
    status, headers, content = server.ask(f"{base}/")
    assert (status, "default-src 'none'" in headers["content-security-policy"]) == (200, True)
    assert Page(content.decode()).texts("h1") == ["one.mp4"]
    last = server.get(f"{base}/api/last")["last"]
    action = {"kind": "name", "characters": [1], "name": "Anna", "after": last}
    assert server.ask(f"{base}/api/actions", action)[0] == 200
    with Corrections(home / "one.cast") as elsewhere:
        assert elsewhere.character(1).name == "Anna"
        elsewhere.name(2, "Ben")  # noticed by the page, which is open
    names = [one["name"] for one in server.get(f"{base}/api/cast")["characters"]]
    assert {"Anna", "Ben"} <= set(names)
    eventually(lambda: items(server)["one.mp4"]["state"] == "corrected")
    assert items(server)["one.mp4"]["cast"]["corrections"] == 2


def test_a_cast_that_is_replaced_is_opened_anew(server, home):
    base = f"/casts/{items(server)['one.mp4']['cast']['key']}"
    before = len(server.get(f"{base}/api/cast")["characters"])
    shutil.rmtree(home / "one.cast")
    episode(home, "one", people=6)
    after = len(server.get(f"{base}/api/cast")["characters"])
    assert (before, after) == (4, 6)


def test_more_casts_than_can_be_open(home, monkeypatch):
    from castlist.library import open_casts

    monkeypatch.setattr(open_casts, "_MOST_OPEN", 1)
    library = Library(home)
    casts = open_casts.OpenCasts(library)
    keys = [key for key, info in library.snapshot.casts.items() if not info.problem]
    first = casts.app(keys[0])
    assert casts.app(keys[0]) is first
    casts.app(keys[1])
    assert list(casts._open) == keys[1:2]
    assert casts.app(keys[0]) is not first
    casts.close()
    library.close()


def test_new_and_removed_files_are_noticed(server, home, eventually):
    seen = server.get("/api/library")["version"]
    shutil.copy(home / "one.mp4", home / "later.mp4")
    eventually(lambda: server.get("/api/progress")["version"] > seen)
    eventually(lambda: items(server).get("later.mp4", {}).get("read"))
    (home / "later.mp4").unlink()
    eventually(lambda: "later.mp4" not in items(server))


def test_a_page_that_is_opened_late_looks_at_once(tmp_path, eventually, monkeypatch):
    monkeypatch.setattr("castlist.library.library._SECONDS_PER_LOOK", 600.0)
    monkeypatch.setattr("castlist.library.library._SECONDS_WATCHED", 0.0)
    library = Library(tmp_path)
    episode(tmp_path, "one")
    library.watched()
    eventually(lambda: library.snapshot.casts)
    library.close()


def test_a_scan_that_fails_is_listed_with_the_reason(server, eventually):
    broken = items(server)["broken.mp4"]["key"]
    assert send(server, "/api/scan", videos=[broken])[0] == 200
    failed = eventually(lambda: (now := items(server)["broken.mp4"])["state"] == "failed" and now)
    assert "cannot be read as a video" in failed["reason"]
    assert send(server, "/api/queue", action="cancel", videos=[broken])[0] == 200
    assert items(server)["broken.mp4"]["queued"] is None
    assert send(server, "/api/queue", action="cancel", videos=[broken])[0] == 422


def test_casts_are_joined_and_added(server, home, eventually):
    keys = [items(server)[name]["cast"]["key"] for name in ("one.mp4", "two.mp4")]
    assert send(server, "/api/join", casts=keys, name="season 1")[0] == 200
    joined = lambda: server.get("/api/library")["joining"]  # noqa: E731
    eventually(lambda: joined()["told"] or joined()["error"])
    assert joined()["error"] == ""
    series = eventually(lambda: items(server).get("season 1"))
    assert (series["kind"], series["videos"], len(series["posters"])) == (
        "series", ["one.mp4", "two.mp4"], 2,
    )  # fmt: skip
    assert (home / "season 1.cast" / "report.html").is_file()
    episode(home, "three", seed=5)
    third = eventually(lambda: items(server).get("three"))
    assert (third["kind"], third["state"]) == ("cast", "scanned")
    body = {"casts": [third["cast"]["key"]], "series": series["key"]}
    assert send(server, "/api/join", **body)[0] == 200
    eventually(lambda: len(items(server)["season 1"]["videos"]) == 3)
    status, told = send(server, "/api/join", casts=keys, name="season 1")
    assert (status, "exists already" in told["error"]) == (422, True)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "a\x00b", "C:x", "x" * 201])
def test_the_name_of_a_series_leads_nowhere_else(standing, made, name):
    keys = [items(standing)[video]["cast"]["key"] for video in ("one.mp4", "two.mp4")]
    before = sorted(made.parent.rglob("*.cast"))
    assert send(standing, "/api/join", casts=keys, name=name)[0] == 422
    assert sorted(made.parent.rglob("*.cast")) == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/scan", {"videos": []}),
        ("/api/scan", {"videos": ["0" * 16]}),
        ("/api/scan", {"videos": ["../../etc"]}),
        ("/api/queue", {"action": "explode", "videos": ["0" * 16]}),
        ("/api/join", {"casts": ["0" * 16, "1" * 16], "name": "x"}),
    ],
)
def test_bad_requests_are_refused(standing, path, body):
    assert send(standing, path, **body)[0] == 422


def test_options_out_of_range_are_refused(standing):
    new = items(standing)["sub new.mp4"]["key"]
    for options in ({"characters": 0}, {"min_face": None}, {"look_width": 3}, {"speed": 1}):
        assert send(standing, "/api/scan", videos=[new], options=options)[0] == 422
    assert items(standing)["sub new.mp4"]["queued"] is None


@pytest.mark.parametrize(
    "path",
    ["/casts/", "/casts/0000000000000000/", "/casts/..%2f..%2fetc/", "/posters/../x", "/js/app.py",
     "/casts/one.cast/", "/docs"],
)  # fmt: skip
def test_no_path_leads_outside(standing, path):
    assert standing.ask(path)[0] in (404, 422)


def test_a_damaged_cast_says_why(standing):
    key = items(standing)["damaged"]["key"]
    status, _, content = standing.ask(f"/casts/{key}/")
    assert (status, b"cannot be opened" in content) == (422, True)
    assert standing.ask(f"/casts/{key}/api/cast")[0] == 422


def test_nothing_without_the_token(standing):
    key = items(standing)["one.mp4"]["cast"]["key"]
    for path in ("/", "/api/library", "/js/library.js", f"/casts/{key}/", f"/casts/{key}/api/cast"):
        assert standing.ask(path, token=None)[0] == 403
    assert standing.ask("/api/scan", {"videos": [key]}, token="wrong")[0] == 403
    assert standing.ask("/api/library", Host="evil.example")[0] == 403


def test_a_library_is_open_only_once(server, home):
    from castlist.errors import InputError

    with pytest.raises(InputError, match="open already"):
        Library(home)


def test_an_empty_folder_and_none(tmp_path):
    from castlist.errors import InputError

    with pytest.raises(InputError, match="no such folder"):
        Library(tmp_path / "none")
    (tmp_path / "film.mp4").touch()
    with pytest.raises(InputError, match="not a folder"):
        Library(tmp_path / "film.mp4")
    (tmp_path / "film.mp4").unlink()
    with pytest.raises(InputError, match="is a cast; open the folder that holds it"):
        Library(episode(tmp_path, "one"))
    shutil.rmtree(tmp_path / "one.cast")
    library = Library(tmp_path)
    assert (library.snapshot.videos, library.snapshot.casts) == ({}, {})
    library.close()
    assert os.listdir(tmp_path) == []
