"""Random actions by a page and another process, compared with a model."""

from __future__ import annotations

import json
import socket
import time
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import pytest
import uvicorn
from hypothesis.stateful import initialize

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.log import ConflictError
from castlist.review.app import cast_app
from castlist.review.guard import Guard
from datasets.synthetic_casts import write_folder
from tests.cast.model import Model, Seen
from tests.cast.stateful import PythonClient, new_home, run
from tests.cast.test_stateful import SCANS, VERBS, OneVideo


class Page:
    """An open page: a server of the cast, and the requests of the page."""

    clusters_what_is_there = True  # the server clusters the cast as it is, whatever the page saw

    def __init__(self, folder: Path, truth: Seen, model: Model) -> None:
        self.cast = Corrections(folder, "page")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        app = Guard(cast_app(self.cast), "token", self.port)
        config = uvicorn.Config(app, port=self.port, log_level="error", lifespan="off")
        self.server = uvicorn.Server(config)
        self.thread = Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.005)
        self.connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.look(truth, model)

    def ask(self, path: str, body: object = None):
        """Return the response; raise a refusal as the library's error."""
        self.connection.request(
            "GET" if body is None else "POST", path, None if body is None else json.dumps(body),
            {"X-Castlist-Token": "token", "Content-Type": "application/json"},
        )  # fmt: skip
        answer = self.connection.getresponse()
        told = json.loads(answer.read())
        if answer.status == 200:
            return told
        assert answer.status in (409, 422), told
        raise (ConflictError if told["kind"] == "ConflictError" else InputError)(told)

    def behind(self, events: int) -> bool:
        return bool(self.ask("/api/last")["last"] != self.last)

    def look(self, truth: Seen, model: Model) -> None:
        """Check that all views show what a new process reads."""
        told = self.ask("/api/cast")
        everybody = {one["number"]: one for one in told["characters"]}
        assert sorted(everybody) == truth.shown
        for number, one in everybody.items():
            assert one["name"] == truth.names.get(number, "")
            assert one["background"] == truth.background.get(number, one["background"])
            own = self.ask(f"/api/characters/{number}")["all"]
            assert sorted(track["id"] for track in own) == truth.of(number)
            assert all(track["pinned"] == bool(truth.pin[track["id"]]) for track in own)
        not_faces = self.ask("/api/not-faces")["all"]
        assert {track["id"] for track in not_faces} == truth.not_face
        holds = [one["number"] for one in self.ask("/api/history")["events"] if one["holds"]]
        assert holds[::-1] == [word.number for word in model.words]
        assert (told["undo"] is not None, told["redo"] is not None) == (
            model.can_undo, bool(model.undone),
        )  # fmt: skip
        lost = self.ask("/api/history")["lost"]
        assert {one["number"] for one in lost} == set(truth.lost)
        asked = self.ask("/api/photos")["questions"]
        assert {(one["number"], one["person"]) for one in asked} == truth.asked
        self.last, self.seen = told["last"], truth

    def called(self, name: str) -> list[int]:
        """Return the characters of a name, in the order in which they are listed."""
        everybody = self.ask("/api/cast")["characters"]
        return [one["number"] for one in everybody if one["name"] == name]

    def questions(self) -> list[tuple[list[str], list[list[str]]]]:
        asked = self.ask("/api/questions?most=3")["questions"]
        doubts = [doubt for question in asked for doubt in question["doubts"]]
        return [(doubt["ids"], [one["ids"] for one in doubt["ones"]]) for doubt in doubts]

    # What a person does on it

    def act(self, kind: str, **fields: object) -> None:
        self.ask("/api/actions", {"kind": kind, "after": self.last, **fields})

    def name(self, number, name):
        self.act("name", characters=[number], name=name)

    def not_named(self, number, name):
        self.act("not_named", characters=[number], name=name)

    def is_in_photo(self, number, name):
        if called := self.called(name):
            self.merge([called[0], number], name=name, waive=False)
        else:
            self.name(number, name)

    def found(self, number, track):
        self.act("found", anchor=number, tracks=[track])

    def background(self, numbers, yes):
        self.act("background", characters=numbers, yes=yes)

    def merge(self, numbers, *, name, waive):
        self.act("merge", characters=numbers, name=name, waive=waive)

    def move(self, tracks, to, *, waive):
        self.act("move", tracks=tracks, to=to, waive=waive)

    def not_face(self, tracks, yes):
        self.act("not_face", tracks=tracks, yes=yes)

    def answer(self, one, same=(), different=(), instead=None, *, mixed=(), waive=False):
        self.act("answer", tracks=one, same=same, different=different, instead=instead,
                 mixed=mixed, waive=waive)  # fmt: skip

    def cut(self, track, at, *, keep):
        self.act("cut", tracks=[track], at=at, keep=keep)

    def undo(self):
        self.act("undo")

    def redo(self):
        self.act("redo")

    def recluster(self):
        self.ask("/api/recluster", {})
        while (status := self.ask("/api/recluster"))["running"]:
            time.sleep(0.005)
        assert not status["error"], status
        self.ask("/api/recluster/accept", {"number": status["proposal"]["number"]})

    def close(self) -> None:
        self.connection.close()
        self.server.should_exit = True
        self.thread.join(10)
        self.cast.close()


class OverHttp(OneVideo):
    """One of the two actors is a page, the other uses the library."""

    @initialize()
    def scan(self):
        self.begin(new_home())
        self.opened(write_folder(self.home / "film.cast", SCANS[0]))
        self.settle()

    def client_pair(self, folder):
        return [Page(folder, self.now, self.model), PythonClient(folder, "Ida")]


def test_random_actions_by_a_page_and_another_process():
    assert run(OverHttp, 100).total() >= 50


@pytest.mark.slow
def test_many_random_actions_by_a_page_and_another_process():
    done = run(OverHttp, 2000)
    assert done.total() > 2000
    assert min(done[verb] for verb in (*VERBS, "scan")) > 5, done
