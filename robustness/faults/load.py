"""The review server under load: ``python robustness/faults/load.py``.

Twenty clients ask and correct at once, 1,000 requests in all, while the command line corrects the
same cast beside them. Then every correction that was taken must be in the log, once and as it was
said; nothing else may be there; and the log, read anew, must give the cast that the server shows.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from castlist.cast.corrections import Corrections
from castlist.cast.events import Edit, Event
from castlist.cast.log import ConflictError
from datasets.synthetic_casts import made_video, write_folder
from robustness.review_server import Server


@dataclass
class Load:
    """What clients were answered, how fast, and which corrections were taken."""

    answers: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    taken: Counter[tuple[str, str]] = field(default_factory=Counter)  # kind, and name if any

    def ask(self, server: Any, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send one request; what it was answered."""
        start = time.perf_counter()
        status, _, content = server.ask(path, body)
        self.seconds.append(time.perf_counter() - start)
        self.answers[status] += 1
        if status == 200 and body:
            self.taken[body["kind"], body.get("name", "")] += 1
        told: dict[str, Any] = json.loads(content)
        return told


def client(server: Any, number: int, requests: int, ids: list[str]) -> Load:
    """Look at the cast and correct it, by turns, without waiting for anybody."""
    rng, load = random.Random(number), Load()
    ways = ["/api/cast", "/api/questions?most=3", "/api/characters/1", "/api/history"]
    while len(load.seconds) < requests:
        if rng.random() < 0.4:
            load.ask(server, rng.choice(ways))
            continue
        after = load.ask(server, "/api/last")["last"]
        kinds: list[dict[str, Any]] = [
            {"kind": "name", "characters": [1], "name": f"{number} {len(load.seconds)}"},
            {"kind": "move", "tracks": [rng.choice(ids)]},
            {"kind": "merge", "characters": [1, 2], "name": f"{number} {len(load.seconds)}"},
            {"kind": "not_face", "tracks": [rng.choice(ids)], "yes": rng.random() < 0.5},
            {"kind": "undo"},
            {"kind": "redo"},
        ]
        body = rng.choices(kinds, [6, 2, 1, 2, 2, 1])[0]
        load.ask(server, "/api/actions", {"after": after, "waive": True, **body})
    return load


def command_line(folder: Path, times: int) -> Load:
    """Correct the cast beside the server, from another process than its own."""
    load = Load()
    cast = Corrections(folder)
    for i in range(times):
        with suppress(ConflictError):
            cast.refresh()
            cast.name(1, f"beside {i}")
            load.taken["name", f"beside {i}"] += 1
        time.sleep(0.01)
    cast.close()
    return load


def run(server: Any, folder: Path, clients: int, requests: int) -> Load:
    """Let all clients send requests at once; return all answers together."""
    ids = [track["id"] for track in server.get("/api/characters/1")["all"]]
    each = requests // clients
    total = Load()
    with ThreadPoolExecutor(clients + 1) as crew:
        work = [crew.submit(client, server, number, each, ids) for number in range(clients)]
        work.append(crew.submit(command_line, folder, each))
        for load in (one.result() for one in work):
            total.answers += load.answers
            total.seconds += load.seconds
            total.taken += load.taken
    return total


def name_in(event: Event) -> str:
    """Return the name that an event gives; empty if it gives none."""
    names = event.body.names if isinstance(event.body, Edit) else ()
    return str(names[0].name) if names else ""


def lost(server: Any, folder: Path, load: Load) -> list[str]:
    """List what is wrong with the log, after all that was taken; nothing should be."""
    again = Corrections(folder)
    said = Counter((event.kind, name_in(event)) for event, _ in again.history)
    missing, extra = load.taken - said, said - load.taken
    wrong = [f"{n} x {one} was taken, and is not in the log" for one, n in missing.items()]
    wrong += [f"{n} x {one} is in the log, and was not taken" for one, n in extra.items()]
    shown = [
        (c["number"], c["name"], c["state"], c["n_tracks"])
        for c in server.get("/api/cast")["characters"]
    ]
    kept = [(c.number, c.name, c.state, len(c.tracks)) for c in again.cast.characters]
    again.close()
    return wrong + (["the log gives another cast than the server shows"] if shown != kept else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--each", type=int, default=20, help="Tracks of each.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        tracks = made_video(given.people, given.each)
        folder = write_folder(Path(home) / "film.cast", tracks)
        with Server(folder) as server:
            start = time.perf_counter()
            load = run(server, folder, given.clients, given.requests)
            seconds = time.perf_counter() - start
            wrong = lost(server, folder, load)
    print(f"{len(load.seconds)} requests of {given.clients} clients in {seconds:.1f} s: ", end="")
    print(", ".join(f"{n} x {status}" for status, n in sorted(load.answers.items())))
    print(f"{load.taken.total()} corrections were taken, {len(wrong)} are lost or wrong")
    ms = 1000 * np.percentile(load.seconds, [50, 95, 99, 100])
    print("milliseconds: median {:.0f}, 95 % {:.0f}, 99 % {:.0f}, most {:.0f}".format(*ms))
    for one in wrong:
        print(one)
    sys.exit(bool(wrong) or any(status >= 500 for status in load.answers))


if __name__ == "__main__":
    main()
