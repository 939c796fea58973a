from __future__ import annotations

import json
import shutil
import time
from http.client import HTTPConnection

import pytest

from castlist.cast.corrections import Corrections
from castlist.cast.folder import CORRECTIONS, FACES
from datasets.synthetic_casts import made_video, write_folder
from robustness.review_server import Server


@pytest.fixture(scope="module")
def server(home):
    with Server(home) as running:
        yield running


@pytest.fixture(autouse=True)
def as_clustered(home):
    """Every test begins without corrections."""
    cast = Corrections(home)
    while cast.live:
        cast.undo()
    yield
    cast.close()


def characters(server):
    return {one["number"]: one for one in server.get("/api/cast")["characters"]}


# Access


@pytest.mark.parametrize("token", [None, "wrong", "x" * 5000])
def test_nothing_without_the_token(server, token):
    for path in ("/", "/api/cast", "/video/0", "/faces/0000/0", "/frames/0000", "/js/main.js"):
        assert server.ask(path, token=token)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_nothing_from_another_host_or_site(server, headers):
    """Even with the right token: DNS rebinding, or another site that found the token."""
    assert server.ask("/api/cast", **headers)[0] == 403
    action = {"kind": "name", "after": 0, "characters": [1], "name": "x"}
    assert server.ask("/api/actions", action, **headers)[0] == 403
    assert characters(server)[1]["name"] == ""


def test_the_address_gives_a_cookie_that_opens_everything(server):
    connection = HTTPConnection("127.0.0.1", int(server.base.rsplit(":", 1)[1]))
    connection.request("GET", f"/?token={server.token}")
    answer = connection.getresponse()
    leads_on = answer.read()
    cookie = answer.getheader("set-cookie")
    assert answer.status == 200
    assert b"url=/" in leads_on
    assert server.token.encode() not in leads_on
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    connection.request("GET", "/", headers={"Cookie": cookie.split(";")[0]})
    page = connection.getresponse()
    assert page.status == 200
    assert "default-src 'none'" in page.getheader("content-security-policy")
    assert b"film.mp4" in page.read()
    for others in ('foo={"a":1}', "a=b c", "bare", 'x="unclosed'):  # of other ports of this host
        connection.request("GET", "/", headers={"Cookie": f"{others}; {cookie.split(';')[0]}"})
        page = connection.getresponse()
        page.read()
        assert page.status == 200
    connection.request("GET", "/api/cast", headers={"Cookie": "castlist-1=\x01; a=b"})
    assert connection.getresponse().status == 403
    connection.close()


def test_the_address_may_be_opened_from_a_file_but_not_fetched_by_another_site(server):
    entry = f"/?token={server.token}"
    opened = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    status, headers, _ = server.ask(entry, token=None, **opened)
    assert (status, "castlist-" in headers["set-cookie"]) == (200, True)
    for other in (
        opened | {"Sec_Fetch_Mode": "cors"}, opened | {"Host": "evil.example"},
        opened | {"Origin": "null"},
    ):  # fmt: skip
        status, headers, _ = server.ask(entry, token=None, **other)
        assert (status, headers["set-cookie"]) == (403, None)
    assert server.ask("/?token=wrong", token=None, **opened)[0] == 403
    assert server.ask(f"/api/cast?token={server.token}", token=None, **opened)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/faces/..%2f..%2frun.json/0", "/faces/%2e%2e/0", "/faces/0000/99", "/faces/0000/-1",
        "/frames/..%2f..%2frun.json", "/js/..%2fapp.py", "/js/app.py", "/run.json",
        "/api/tracks/..%2f..%2fetc", "/docs",
    ],
)  # fmt: skip
def test_no_path_leads_outside(server, path):
    assert server.ask(path)[0] in (404, 422)


def test_only_this_machine_is_listened_to(server):
    assert server.base.startswith("http://127.0.0.1:")


# What it shows


def test_the_cast_and_a_character(server):
    cast = server.get("/api/cast")
    assert [one["number"] for one in cast["characters"]] == [1, 2, 3, 4]
    first = cast["characters"][0]
    assert (first["n_tracks"], first["state"], len(first["faces"])) == (5, "unreviewed", 5)
    whole = server.get("/api/characters/1")
    fits = [track["sure"] for track in whole["all"]]
    assert fits == sorted(fits)
    assert server.ask("/api/characters/77")[0] == 422


def test_faces_and_where_they_are(server):
    status, headers, content = server.ask("/faces/0000/1")
    assert (status, headers["content-type"], content[:3]) == (200, "image/jpeg", b"\xff\xd8\xff")
    track = server.get("/api/tracks/0000")
    assert track["size"] == [640, 360]
    assert track["boxes"][0] == [0.0, 50.0, 60.0, 90.0, 90.0]


def test_the_frame_of_a_face_and_where_it_is_in_it(server, home):
    status, headers, content = server.ask("/frames/0000")
    assert (status, headers["content-type"], content[:3]) == (200, "image/jpeg", b"\xff\xd8\xff")
    box = [100 * 50 / 640, 100 * 60 / 360, 100 * 90 / 640, 100 * 90 / 360]
    assert server.get("/api/tracks/0000")["frame"] == {
        "at": 0.0,
        "box": pytest.approx(box, abs=0.1),
    }
    assert all(one["frame"] for one in server.get("/api/cast")["characters"][0]["faces"])
    frame = home / FACES / "0000_frame.jpg"
    kept = frame.read_bytes()
    frame.unlink()
    assert server.ask("/frames/0000")[0] == 404
    frame.write_bytes(kept)
    assert server.ask("/frames/none")[0] == 422


def test_the_video_is_served_in_ranges(server, home):
    film = home.with_name("film.mp4").read_bytes()
    status, headers, content = server.ask("/video/0", Range="bytes=100-199")
    assert (status, content) == (206, film[100:200])
    assert headers["content-range"] == f"bytes 100-199/{len(film)}"
    assert server.ask("/video/0", Range=f"bytes={len(film) + 5}-")[0] == 416
    assert server.ask("/video/0")[2] == film
    assert server.ask("/video/1")[0] == 404


# What it changes


def test_a_paused_video_does_not_keep_the_server_from_stopping(home, tmp_path):
    film = tmp_path / "film.mp4"
    shutil.copy(home.with_name("film.mp4"), film)
    with film.open("r+b") as file:
        file.truncate(1 << 30)  # more than any buffer takes
    told = tmp_path / "told"
    with told.open("wb") as stderr, Server(home, "--video", film, stderr=stderr) as server:
        port = int(server.base.rpartition(":")[2])
        paused = HTTPConnection("127.0.0.1", port, timeout=30)
        paused.request("GET", "/video/0", headers={"X-Castlist-Token": server.token})
        assert len(paused.getresponse().read(10)) == 10
    paused.close()
    assert server.process.returncode == 130
    assert told.read_text() == ""


def test_actions_are_applied_and_stored(server, home):
    assert server.act(kind="name", characters=[1], name="<b>Anna & Co</b>")[0] == 200
    assert server.act(kind="merge", characters=[1, 3])[0] == 200
    assert server.act(kind="background", characters=[2])[0] == 200
    assert server.act(kind="move", tracks=["0000"])[0] == 200
    assert server.act(kind="not_face", tracks=["0003"])[0] == 200
    again = Corrections(home)
    assert again.character("<b>Anna & Co</b>").number == 1
    assert len(again.character(1).tracks) == 9
    assert again.character(2).state == "background"
    assert [track["id"] for track in server.get("/api/not-faces")["all"]] == ["0003"]
    again.close()
    for kind in ("undo", "undo", "redo"):
        assert server.act(kind=kind)[0] == 200
    assert server.get("/api/not-faces")["all"] == []
    texts = [event["text"] for event in server.get("/api/history")["events"]]
    assert texts[0] == "did again: moved 1 track to character 5"
    assert texts[-1].startswith(("named", "marked"))


def test_a_shared_frame_is_asked_about(server):
    status, told = server.act(kind="merge", characters=[1, 2])
    assert (status, told["kind"], told["seconds"]) == (409, "OverlappingTracksError", 0.0)
    assert told["pairs"][0] == ["0000", "0001"]
    assert server.act(kind="merge", characters=[1, 2], waive=True)[0] == 200


def test_two_pages_see_each_other_and_cannot_overwrite(server, home):
    seen = server.get("/api/last")["last"]
    elsewhere = Corrections(home)  # another page, or the command line
    elsewhere.name(1, "Anna")
    assert server.get("/api/last")["last"] == seen + 1
    status, told = server.act(kind="name", characters=[1], name="Bo", after=seen)
    assert (status, told["kind"]) == (409, "ConflictError")
    assert characters(server)[1]["name"] == "Anna"
    elsewhere.close()


def compared(question):
    return {(one["title"], *doubt["ids"]) for doubt in question["doubts"]
            for one in doubt["ones"][: 1 if doubt["inside"] else None]}  # fmt: skip


def test_all_doubts_of_a_question_are_one_event(server):
    server.act(kind="move", tracks=["0004", "0012"], to=3)
    last = server.get("/api/last")["last"]
    before = {n: one["n_tracks"] for n, one in characters(server).items()}
    question = server.get("/api/questions")["questions"][0]
    assert question["doubts"]
    answers = []
    for doubt in question["doubts"]:  # all of them leave, or stay apart
        ones = [one["ids"] for one in doubt["ones"]]
        inside = {"tracks": ones[0], "different": [doubt["ids"]]}
        answers.append(inside if doubt["inside"] else {"tracks": doubt["ids"], "different": ones})
    assert server.act(kind="answer", answers=answers)[0] == 200
    assert server.get("/api/last")["last"] == last + 1
    n_new = sum(doubt["inside"] for doubt in question["doubts"])
    assert len(characters(server)) == len(before) + n_new
    left = server.get("/api/questions")["questions"]
    assert not any(compared(question) & compared(other) for other in left)
    server.act(kind="undo")
    assert {n: one["n_tracks"] for n, one in characters(server).items()} == before
    server.act(kind="undo")


def test_questions_are_skipped(server):
    server.act(kind="move", tracks=["0004", "0012"], to=3)
    first = server.get("/api/questions")["questions"][0]
    answers = [{"tracks": one["ids"], "different": [doubt["ids"]]} for doubt in first["doubts"]
               for one in doubt["ones"][: 1 if doubt["inside"] else None]]  # fmt: skip
    assert server.act(kind="skip", answers=answers)[0] == 200
    wrong = [{"tracks": ["nobody"], "different": [["0000"]]}]
    assert server.act(kind="skip", answers=wrong)[0] == 422
    left = server.get("/api/questions")["questions"]
    assert not any(compared(first) & compared(question) for question in left)


def test_an_answer_can_name_the_right_character(server):
    server.act(kind="move", tracks=["0004", "0012"], to=3)
    status, _ = server.act(
        kind="answer", tracks=["0002"], same=[["0006"]], different=[["0004", "0012"]],
        instead=[["0000"]],
    )  # fmt: skip
    assert status == 200
    ids = {track["id"] for track in server.get("/api/characters/1")["all"]}
    assert {"0000", "0004", "0012"} <= ids
    said = server.get("/api/history")["events"][0]["text"]
    assert said == "answered: 1 the same person, 1 different"
    wrong = {"tracks": ["0002"], "different": [["0006"]]}
    assert server.act(kind="answer", **wrong, instead=[["0010"]])[0] == 422  # whom it is not
    assert server.act(kind="answer", **wrong, instead=[])[0] == 422


def test_recluster_changes_nothing_until_accepted(server):
    server.act(kind="move", tracks=["0004"], to=3)
    before = characters(server)
    assert server.ask("/api/recluster", {})[0] == 200
    for _ in range(200):
        state = server.get("/api/recluster")
        if not state["running"]:
            break
        time.sleep(0.05)
    assert state["error"] == ""
    assert characters(server) == before
    number = state["proposal"]["number"]
    assert server.ask("/api/recluster/accept", {"number": number + 1})[0] == 409
    assert server.ask("/api/recluster/accept", {"number": number})[0] == 200
    assert server.ask("/api/recluster/accept", {"number": number})[0] == 422
    assert "0004" in {track["id"] for track in server.get("/api/characters/3")["all"]}


def test_recluster_lists_tracks_that_the_number_of_the_scan_put_together(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video())
    run = json.loads((folder / "run.json").read_text())
    run["settings"]["n_characters"] = 1
    (folder / "run.json").write_text(json.dumps(run))
    with Server(folder) as server:
        server.ask("/api/recluster", {})
        for _ in range(200):
            state = server.get("/api/recluster")
            if not state["running"]:
                break
            time.sleep(0.05)
    assert state["proposal"]["given_up"].startswith("1 character required 10 pairs of tracks")


def test_a_page_that_shows_an_older_scan_changes_nothing(tmp_path):
    """Its numbers belong to other characters now."""
    folder = write_folder(tmp_path / "film.cast", made_video())
    with Server(folder) as server:
        seen = server.get("/api/cast")["last"]
        tracks = made_video(prefix="x")
        write_folder(folder, tracks, [int(who[1:]) % 2 for who in tracks.identity.tolist()])
        status, told = server.act(kind="name", characters=[1], name="Anna", after=seen)
        assert (status, told["kind"]) == (409, "ConflictError")
        assert server.get("/api/last")["last"] // 10**6 == 1
        assert server.act(kind="name", characters=[1], name="Anna")[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff\xfe", b"[" * 100_000, b"9" * 5000, b'{"kind": "explode", "after": 0}',
        json.dumps({"kind": "name", "after": 0, "characters": ["1"], "extra": 1}).encode(),
        json.dumps({"kind": "name", "after": 10**30, "characters": [1], "name": "x"}).encode(),
        json.dumps({"kind": "answer", "after": 0, "tracks": [], "same": [[]]}).encode(),
        json.dumps({"kind": "move", "after": 0, "tracks": ["\x00"]}).encode(),
        b'{"kind": "name", "after": 0, "characters": [1], "name": "\\ud800"}',
    ],
)  # fmt: skip
def test_a_malformed_action_is_refused_with_a_message(server, body):
    status, _, content = server.ask("/api/actions", body)
    assert status in (400, 409, 422)
    assert json.loads(content)["error"]
    assert all(one["state"] == "unreviewed" for one in characters(server).values())


def test_another_content_type_is_refused(server):
    """Another site could send a plain form without a preflight request."""
    action = json.dumps({"kind": "name", "after": 0, "characters": [1], "name": "x"}).encode()
    assert server.ask("/api/actions", action, Content_Type="text/plain")[0] == 422


def test_a_crash_of_the_server_loses_nothing(tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video())
    with Server(folder) as server:
        assert server.act(kind="name", characters=[1], name="Anna")[0] == 200
        server.process.kill()
    assert (folder / CORRECTIONS).is_file()
    assert Corrections(folder).character("Anna").number == 1


# Cut tracks, mixed tracks and lost tracks


def test_a_track_is_cut_on_the_page(server):
    one = server.get("/api/tracks/0004")
    at = (one["start"] + one["end"]) / 2
    status, told = server.act(kind="cut", tracks=["0004"], at=at, keep="after")
    assert (status, "last" in told) == (200, True)
    cast = server.get("/api/cast")
    tracks = {t["id"]: c["number"] for c in cast["characters"]
              for t in server.get(f"/api/characters/{c['number']}")["all"]}  # fmt: skip
    assert tracks["0004b"] == tracks["0000"]
    assert tracks["0004a"] > 4
    assert cast["undo"].startswith("cut a track at")
    moves = server.get("/api/history")["events"][0]["moves"]
    assert [(one["from"], one["to"], one["n_tracks"]) for one in moves] == [
        ("Character 1", f"Character {tracks['0004a']}", 1)
    ]
    assert server.act(kind="cut", tracks=["0004b"], at=at)[0] == 422
    assert server.act(kind="cut", tracks=["0008", "0000"], at=1.0)[0] == 422
    assert server.act(kind="undo")[0] == 200
    assert server.get("/api/tracks/0004")["id"] == "0004"


def test_tracks_are_marked_as_mixed(server):
    one = ["0000", "0004"]
    assert server.act(kind="answer", tracks=one, mixed=[one])[0] == 200
    events = server.get("/api/history")["events"]
    assert events[0]["text"] == "answered: 1 mixed"
    assert events[0]["moves"] == []
    # A track by itself is marked to be cut.
    assert server.act(kind="answer", tracks=["0000"], mixed=[["0000"]])[0] == 200
    tracks = server.get("/api/characters/1")["all"]
    assert [track["id"] for track in tracks if track["mixed"]] == ["0000"]
    status, told = server.act(kind="answer", tracks=["0000"], same=[["0002"]], mixed=[["0002"]])
    assert (status, told["error"]) == (422, "a track is in two groups of one answer")
    for _ in range(2):
        server.act(kind="undo")


def test_an_unknown_lost_track_is_refused(server):
    status, told = server.act(kind="found", anchor=7, tracks=["0000"])
    assert (status, "no lost track" in told["error"]) == (422, True)
    assert server.act(kind="found", tracks=["0000"])[0] == 422
