"""Kill the review server while corrections are sent to it.

What was answered with 200 must be in the log, and nothing else but at most the one thing that was
on its way. A second cast, in another folder, is told the same with no server and no kill: log and
cast must be the same in both.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import time
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from castlist.cast.corrections import Corrections
from castlist.errors import CastlistError
from castlist.review.app import _act
from castlist.review.schemas import Action
from castlist.review.views import cast_view
from robustness.faults.kill_compare import contents, leftovers
from robustness.faults.kill_launch import PATIENCE, Running, start
from robustness.faults.kill_tally import Tally
from robustness.faults.kill_victims import OUT

_WORDS = ("review", OUT, "--no-browser")
_SAID = 60  # in an undisturbed review
_NAMES = ("Anna", "Bo", "Çe", "Dee", "")
_ROUNDS = 4  # kills in a row at most


class Killed(Exception):
    """The server is gone."""


class Reviewer:
    """A person at a page, and a copy of the cast that they would have without the page."""

    def __init__(self, home: Path, mirror: Path, rng: np.random.Generator) -> None:
        self.home, self.mirror, self.rng = home, mirror, rng
        self.sent: dict[str, Any] | None = None  # and not answered

    def open(self, fresh: bool) -> None:
        """Start the server."""
        self.sent = None
        told = self.home.with_name(f"{self.home.name}.txt")
        told.unlink(missing_ok=True)
        self.run: Running = start(_WORDS, self.home, fresh=fresh)
        self.address = ""

    def enter(self) -> None:
        """Wait for the page's address."""
        until = time.monotonic() + PATIENCE
        while not self.address.endswith("\n"):
            if self.run.poll() is not None or time.monotonic() > until:
                raise Killed
            time.sleep(0.002)
            self.address = self.run.told.read_text("utf-8")
        parts = urlsplit(self.address.strip())
        self.token = parse_qs(parts.query)["token"][0]
        self.line = http.client.HTTPConnection(parts.netloc, timeout=60)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Return the server's status and answer."""
        try:
            self.line.request(
                "GET" if body is None else "POST", path,
                None if body is None else json.dumps(body),
                {"X-Castlist-Token": self.token, "Content-Type": "application/json"},
            )  # fmt: skip
            answer = self.line.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Killed from error

    def say(self, cast: Corrections) -> None:
        """Send a random correction, and apply it to the copy if it was accepted."""
        action = self._something(cast)
        action["after"] = self.ask("/api/last")[1]["last"]
        self.sent = action
        status, answer = self.ask("/api/actions", action)
        self.sent = None
        taken = _tell(cast, action)
        if (status == 200) != taken:
            raise SystemExit(f"{action}: the page says {status} {answer}, the copy {taken}")
        if taken and answer["last"] != cast.last:
            raise SystemExit(f"{action}: event {cast.last}, and the page says {answer['last']}")

    def _something(self, cast: Corrections) -> dict[str, Any]:
        rng, ids = self.rng, cast.tracks.ids
        numbers = [one.number for one in cast.cast.characters]
        some = [str(one) for one in rng.choice(ids, rng.integers(1, 4), replace=False)]
        two = [int(one) for one in rng.choice(numbers, min(2, len(numbers)), replace=False)]
        kind = str(rng.choice(["name", "background", "merge", "move", "not_face", "answer", "undo",
                               "redo"]))  # fmt: skip
        action: dict[str, Any] = {"kind": kind, "yes": bool(rng.random() < 0.6), "waive": True}
        if kind == "name":
            action |= {"characters": two[:1], "name": str(rng.choice(_NAMES))}
        elif kind in ("background", "merge"):
            action |= {"characters": two}
        elif kind == "move":
            action |= {"tracks": some, "to": two[0] if rng.random() < 0.5 else None}
        elif kind == "not_face":
            action |= {"tracks": some}
        elif kind == "answer":
            action |= {"tracks": some[:1], "same": [some[1:]] if some[1:] else []}
            action["different"] = [[str(rng.choice(ids))]]
        return action

    def alarm(self, seconds: float) -> None:
        """Kill the server after so long."""
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(self.run.pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-4))

    def check(self, found: Path) -> str:
        """Hold the log of a killed server against the copy; what was on its way may be in both."""
        where = "starting" if not self.address.endswith("\n") else "between two"
        with Corrections(found) as page, Corrections(self.mirror) as copy:
            if self.sent is not None:
                where = "not in the log yet"
                if page.last > copy.last:
                    _tell(copy, self.sent)
                    where = "in the log, not answered yet"
            if _log(page) != _log(copy):
                raise Lost(f"{found}: its log is not what was said ({page.last}, {copy.last})")
            if _shown(page) != _shown(copy):
                raise Lost(f"{found}: another cast than what was said")
        return where


class Lost(Exception):
    """A correction is missing, or an unexpected one is there."""


def disturb_review(folder: Path, times: int, seed: int, quick: bool) -> Tally:
    """Kill a review server ``times`` times."""
    rng, tally = np.random.default_rng(seed), Tally("review")
    made = import_module("datasets.synthetic_casts")
    folder.mkdir(parents=True, exist_ok=True)
    first = made.write_folder(folder / "inputs" / OUT, made.made_video(people=8, each=5))
    want = {**contents(first.parent), f"{OUT}/corrections.db": ""}
    seconds = {fresh: _undisturbed(folder, rng, fresh) for fresh in (True, False)[quick:]}
    print(f"review: {_SAID} things said undisturbed in {seconds[False]:.2f} s", flush=True)
    while tally.kills < times:
        fresh = not quick and tally.runs % 10 == 9
        person = _begin(folder, f"run-{tally.runs:03d}", rng)
        try:
            for _ in range(int(rng.integers(1, _ROUNDS + 1))):
                person.open(fresh)
                _review(person, rng.uniform(0, seconds[fresh]), rng.random() < 0.6)
                tally.kills += 1
                copy = person.home.with_name(f"{person.home.name}-seen")  # looking mends a log
                shutil.copytree(person.home, copy)
                tally.phases[person.check(copy / OUT)] += 1
                shutil.rmtree(copy)
            _goes_on(person, fresh)
        except Lost as lost:
            print(lost, flush=True)
            tally.differing += 1
        left = leftovers(want, contents(person.home))
        if left:
            print(f"{person.home}: left {left}", flush=True)
            tally.left += 1
        elif not tally.differing:
            shutil.rmtree(person.home)
            shutil.rmtree(person.mirror.parent)
            person.run.told.unlink()
        tally.runs += 1
    return tally


def _begin(folder: Path, name: str, rng: np.random.Generator) -> Reviewer:
    homes = [folder / name, folder / f"{name}-copy"]
    for home in homes:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(folder / "inputs", home)
    return Reviewer(homes[0], homes[1] / OUT, rng)


def _undisturbed(folder: Path, rng: np.random.Generator, fresh: bool) -> float:
    person, began = _begin(folder, "reference", rng), time.monotonic()
    person.open(fresh)
    person.enter()
    with Corrections(person.mirror) as cast:
        for _ in range(_SAID):
            person.say(cast)
    seconds = time.monotonic() - began
    _goes_on(person, fresh, running=True)
    return seconds


def _review(person: Reviewer, after: float, at_work: bool) -> None:
    """Send corrections until the server is killed; time starts with it or its first answer."""
    try:
        if not at_work:
            person.alarm(after)
        person.enter()
        with Corrections(person.mirror) as cast:
            if at_work:
                person.alarm(after / 3)
            while True:
                person.say(cast)
    except Killed:
        person.run.kill()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _goes_on(person: Reviewer, fresh: bool, running: bool = False) -> None:
    """Check that the server starts, shows all corrections, accepts more, and ends cleanly."""
    if not running:
        person.open(fresh)
        person.enter()
    try:
        with Corrections(person.mirror) as cast:
            person.say(cast)
            shown = person.ask("/api/cast")[1]
            if shown != json.loads(json.dumps(cast_view(cast))):
                raise Lost(f"{person.home}: the page shows another cast")
    except Killed as error:
        raise Lost(f"{person.home}: the page does not answer") from error
    os.kill(person.run.pid, signal.SIGINT)
    person.run.wait()
    person.check(person.home / OUT)


def _tell(cast: Corrections, action: dict[str, Any]) -> bool:
    """Apply a correction to the copy; return whether it was accepted."""
    try:
        _act(cast, Action(**{"after": 0, **action}))
    except CastlistError:
        return False
    return True


def _log(cast: Corrections) -> list[Any]:
    """Return a correction with tracks in place of the numbers they are stored by.

    What was on its way when the server was killed may have been given numbers, and no more.
    """
    track = {number: anchor.track for number, anchor in cast.log.anchors().items()}

    def named(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: named(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [named(one, key) for one in value]
        plain = type(value) is not int or key in ("id", "event", "clustering")
        return value if plain else track[value]

    return [
        (event.number, event.who, event.kind, named(event.body.model_dump(mode="json")))
        for event, _ in cast.history
    ]


def _shown(cast: Corrections) -> Any:
    state = cast.state
    return (state.owner.tolist(), state.not_face.tolist(), sorted(state.names.items()),
            [event.number for event in cast.live], json.dumps(cast_view(cast)))  # fmt: skip
