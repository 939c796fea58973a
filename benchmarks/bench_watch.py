"""How long Watch and Find wait, and how smoothly they scroll: ``python benchmarks/bench_watch.py``.

Two made casts of 3,000 tracks and 500 characters: one video of 90 minutes, and a series of 200
videos. Each request is sent ten times to the real server; the best and the worst are printed, in
milliseconds. ``--frames`` opens the timeline of the 90-minute video in Chromium, scrolls, zooms and
scrubs it for five seconds each, and prints how many frames per second Chromium's own trace has.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.bench_page import make_folder
from castlist import TrackSet, shipped_model
from castlist.cast.episodes import MODEL, write_about, write_episode, write_labels
from castlist.learn.model_file import save_model
from robustness.review_server import Server

TIMES = 10
SECONDS = 5400.0


def make_series(folder: Path, videos: int, tracks: int, characters: int) -> None:
    """Write a joined cast in which characters are in several videos, as in a series."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, characters + 1)
    who = rng.permutation(
        np.concatenate([
            np.arange(characters),
            rng.choice(characters, tracks - characters, p=share / share.sum()),
        ])
    )  # fmt: skip
    centres = rng.normal(size=(characters, 128))
    picture = cv2.imencode(".jpg", rng.integers(0, 255, (112, 112, 3), np.uint8))[1].tobytes()
    films: list[dict[str, Any]] = []
    pictures = folder.with_name("pictures")
    for k, own in enumerate(np.array_split(who, videos)):
        n = len(own)
        track, face = np.repeat(np.arange(n), 8), np.tile(np.arange(8), n)
        begin = np.sort(rng.uniform(0, SECONDS, n))
        film: dict[str, Any] = {
            "name": f"{k:03d}.mp4", "title": f"{k:03d}.mp4", "episode": f"{k:03d}",
            "duration": SECONDS + 10, "size": [640, 360], "rate": 25.0,
        }  # fmt: skip
        made = TrackSet.from_faces(
            [f"{i:05d}" for i in track], time=begin[track] + face / 5,
            feature=(centres[own][track] + 0.4 * rng.normal(size=(8 * n, 128))).astype(np.float32),
            frame=((begin[track] + face / 5) * 25).astype(int),
            box=np.tile([50.0, 60, 90, 90], (8 * n, 1)), video=film["title"], describer="SFace",
        )  # fmt: skip
        points = centres[own] / np.linalg.norm(centres[own], axis=1, keepdims=True)
        pictures.mkdir()
        for i in range(n):
            (pictures / f"{i:05d}_0.jpg").write_bytes(picture)
        write_episode(folder, film, made, points.astype(np.float32), pictures)
        write_labels(folder, film, own + 1)
        shutil.rmtree(pictures)
        films.append(film)
    model = shipped_model("SFace")
    save_model(model, folder / MODEL)
    run = {"videos": films, "settings": {"model": "shipped"}, "next": characters + 1}
    write_about(folder, run, model.threshold)


def print_times(
    steps: dict[str, Callable[[], object]], before: Callable[[], None] = lambda: None
) -> None:
    """Print how long each step takes, without what is done before it."""
    print("| request | best, ms | median, ms | worst, ms |\n|---|---:|---:|---:|")
    for name, step in steps.items():
        spent = []
        for _ in range(TIMES):
            before()
            began = time.perf_counter()
            step()
            spent.append(1000 * (time.perf_counter() - began))
        print(
            f"| {name} | {min(spent):.0f} | {np.median(spent):.0f} | {max(spent):.0f} |", flush=True
        )


def measure_requests(server: Server) -> None:
    cast = server.get("/api/cast")
    leading = [one["number"] for one in cast["characters"][:20]]
    together = "&".join(f"people={number}" for number in leading[:2])
    many = "&".join(f"people={number}" for number in leading)

    def corrected() -> None:
        """Name a character, so that the cast is computed again."""
        server.act(kind="name", characters=leading[:1], name=f"Anna {time.time()}")

    print_times({
        "timeline of a video": lambda: server.get("/api/timeline/0"),
        "boxes of one minute": lambda: server.get("/api/boxes/0?start=600&end=660"),
        "boxes of ten minutes": lambda: server.get("/api/boxes/0?start=600&end=1200"),
        "find two people together": lambda: server.get(f"/api/find?{together}&gap=5"),
        "find any of twenty": lambda: server.get(f"/api/find?{many}&mode=any"),
        "find one without nineteen": lambda: server.get(
            f"/api/find?people={leading[0]}&" + many.split("&", 1)[1].replace("people", "without")
        ),
        "find in one video": lambda: server.get(f"/api/find?{together}&video=0"),
    })  # fmt: skip
    print_times({
        "timeline after a correction": lambda: server.get("/api/timeline/0"),
        "find after a correction": lambda: server.get(f"/api/find?{together}&gap=5"),
    }, before=corrected)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=3000)
    parser.add_argument("--characters", type=int, default=500)
    parser.add_argument("--videos", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        one, series = Path(home) / "film.cast", Path(home) / "series.cast"
        make_folder(one, given.tracks, given.characters)
        make_series(series, given.videos, given.tracks, given.characters)
        for title, folder in (("one video", one), ("series", series)):
            print(f"\n{title}\n")
            with Server(folder) as server:
                measure_requests(server)


if __name__ == "__main__":
    main()
