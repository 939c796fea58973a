"""How long the review page waits: ``python benchmarks/bench_page.py``.

A made cast of 3,000 tracks and 500 characters with 3,000 pictures. Each request is sent five times
to the real server; the best and the worst are printed, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import cv2
import numpy as np

from castlist import TrackSet, write_tracks
from castlist.cast.cast import make_cast
from castlist.cast.cast_file import RUN, save_cast
from castlist.cast.folder import CAST, FACES, TRACKS, write_points

TIMES = 5


def make_folder(folder: Path, tracks: int, characters: int) -> None:
    rng = np.random.default_rng(0)
    # A few characters have most of the tracks, as on television.
    share = 1 / np.arange(1, characters + 1)
    who = rng.choice(characters, tracks, p=share / share.sum())
    who[:characters] = np.arange(characters)
    where = rng.normal(size=(characters, 128)) / np.sqrt(128)
    points = where[who] + 0.4 * rng.normal(size=(tracks, 128)) / np.sqrt(128)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    face, track = np.tile(np.arange(8), tracks), np.repeat(np.arange(tracks), 8)
    begin = np.sort(rng.uniform(0, 5400, tracks))
    made = TrackSet.from_faces(
        [f"{i:05d}" for i in track], feature=points[track].astype(np.float32),
        time=begin[track] + face / 5, frame=((begin[track] + face / 5) * 25).astype(int),
        box=np.column_stack([rng.uniform(0, 500, tracks)[track], *np.full((3, 8 * tracks), 90.0)]),
        video="film.mp4", describer="SFace",
    )  # fmt: skip
    folder.mkdir()
    write_tracks(folder / TRACKS, made)
    write_points(folder, points.astype(np.float32))
    save_cast(make_cast(made, who, points, 5400.0), folder / CAST, {"threshold": 0.5})
    settings = {"model": "shipped", "tracking": {"sample_rate": 5}}
    (folder / RUN).write_text(json.dumps({"video": {}, "settings": settings}), "utf-8")
    (folder / FACES).mkdir()
    picture = cv2.imencode(".jpg", rng.integers(0, 255, (112, 112, 3), np.uint8))[1].tobytes()
    for i in range(tracks):
        (folder / FACES / f"{i:05d}_0.jpg").write_bytes(picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=3000)
    parser.add_argument("--characters", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "film.cast"
        make_folder(folder, given.tracks, given.characters)
        words = [sys.executable, "-m", "castlist", "review", str(folder), "--no-browser"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8") as server:
            assert server.stdout is not None
            address = urlsplit(server.stdout.readline().strip())
            try:
                measure(f"http://{address.netloc}", parse_qs(address.query)["token"][0])
            finally:
                server.terminate()


def measure(base: str, token: str) -> None:
    def ask(path: str, body: object = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Castlist-Token": token, "Content-Type": "application/json"}
        with urlopen(Request(base + path, data, headers)) as answer:
            content: bytes = answer.read()
            return content

    def last() -> int:
        return int(json.loads(ask("/api/last"))["last"])

    def say(**action: object) -> None:
        ask("/api/actions", {"after": last(), **action})

    steps: dict[str, Callable[[], object]] = {
        "the cast": lambda: ask("/api/cast"),
        "the largest character": lambda: ask("/api/characters/1"),
        "questions": lambda: ask("/api/questions"),
        "history": lambda: ask("/api/history"),
        "a face": lambda: ask("/faces/00000/0"),
        "name": lambda: say(kind="name", characters=[1], name="Anna"),
        "merge": lambda: say(
            kind="merge", waive=True,
            characters=[c["number"] for c in json.loads(ask("/api/cast"))["characters"][:2]],
        ),
        "undo": lambda: say(kind="undo"),
    }  # fmt: skip
    print("| request | best, ms | worst, ms |\n|---|---:|---:|")
    for name, step in steps.items():
        spent = []
        for _ in range(TIMES):
            began = time.perf_counter()
            step()
            spent.append(1000 * (time.perf_counter() - began))
        print(f"| {name} | {min(spent):.0f} | {max(spent):.0f} |", flush=True)


if __name__ == "__main__":
    main()
