"""How long the library page waits: ``python benchmarks/bench_library.py``.

A folder with 200 videos, their casts and 5,000 other files. Requests are sent to the real server,
first while posters are made and files appear, then at rest; the median and the worst of each kind
are printed, in milliseconds. With ``--browser``, Chromium scrolls through the page for some
seconds, and the times between its frames are printed too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from castlist.cast.corrections import Corrections
from datasets.small_videos import write_video
from datasets.synthetic_casts import episode
from robustness.review_server import Server

_SECONDS = 10.0  # of requests, in each of both phases
_FRAMES = """async () => {
  const times = [];
  const end = performance.now() + 5000;
  let down = true;
  await new Promise((done) => {
    const step = (now) => {
      times.push(now);
      scrollBy(0, down ? 60 : -60);
      if (scrollY + innerHeight >= document.documentElement.scrollHeight - 1) down = false;
      if (scrollY === 0) down = true;
      if (now < end) requestAnimationFrame(step); else done();
    };
    requestAnimationFrame(step);
  });
  return times.slice(1).map((time, k) => time - times[k]);
}"""


def make_library(home: Path, videos: int, others: int) -> None:
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 255, (360, 640, 3), np.uint8) for _ in range(10)] * 10
    film = write_video(home / "film.mp4", images)
    cast = episode(home, "film")
    for k in range(videos):
        place = home / f"season {k // 20:02d}"
        place.mkdir(exist_ok=True)
        shutil.copy(film, place / f"episode {k % 20:02d}.mp4")
        folder = shutil.copytree(cast, place / f"episode {k % 20:02d}.cast")
        run = json.loads((folder / "run.json").read_text())
        run["video"]["name"] = f"episode {k % 20:02d}.mp4"
        (folder / "run.json").write_text(json.dumps(run))
        if k % 2:
            with Corrections(folder) as corrections:
                corrections.name(1, "Anna")
    film.unlink()
    shutil.rmtree(cast)
    for k in range(others):
        (home / f"season {k % 10:02d}" / f"note {k}.txt").write_text("")


def measure(server: Server, title: str, extra: dict[str, Callable[[], object]]) -> float:
    """Send requests for some seconds, print how long they took, and return the longest time."""
    whole = server.get("/api/library")
    keys = [item["key"] for item in whole["videos"]]
    casts = [item["cast"]["key"] for item in whole["videos"]]
    rng = np.random.default_rng(1)
    steps: dict[str, Callable[[], object]] = {
        "library": lambda: server.get("/api/library"),
        "progress": lambda: server.get("/api/progress"),
        "a poster": lambda: server.ask(f"/posters/{rng.choice(keys)}"),
        "a cast that is open": lambda: server.get(f"/casts/{casts[0]}/api/cast"),
        "a cast that is not open": lambda: server.get(f"/casts/{rng.choice(casts)}/api/cast"),
        **extra,
    }
    server.get(f"/casts/{casts[0]}/api/cast")  # the first one imports and compiles
    spent: dict[str, list[float]] = {name: [] for name in steps}
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        for name, step in steps.items():
            began = time.perf_counter()
            step()
            spent[name].append(1000 * (time.perf_counter() - began))
    for name, times in spent.items():
        middle, most = statistics.median(times), max(times)
        print(f"| {title} | {name} | {len(times)} | {middle:.0f} | {most:.0f} |")
    return max(map(max, spent.values()))


def scroll(server: Server) -> None:
    """Print the times between frames while Chromium scrolls through the page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.address)
        page.wait_for_selector(".card:nth-child(200)")
        gaps: list[float] = page.evaluate(_FRAMES)
        browser.close()
    late = sum(gap > 1.5 * 1000 / 60 for gap in gaps)
    print(
        f"\nscrolling: {1000 / statistics.mean(gaps):.0f} frames per second; {late} of {len(gaps)} "
        f"frames late; longest gap {max(gaps):.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=200)
    parser.add_argument("--others", type=int, default=5000)
    parser.add_argument("--browser", action="store_true", help="also scroll the page in Chromium")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "library"
        home.mkdir()
        make_library(home, given.videos, given.others)
        os.environ |= {"CASTLIST_CACHE": f"{place}/cache", "CASTLIST_STATE": f"{place}/state"}
        with Server(home, command="open") as server:
            began = time.monotonic()
            print("| when | request | number | median, ms | worst, ms |\n|---|---|---:|---:|---:|")
            added = iter(range(10**6))

            def add_file() -> None:
                shutil.copy(home / "season 00" / "episode 00.mp4", home / f"new {next(added)}.mp4")

            worst = measure(server, "while posters are made", {"(a file is added)": add_file})
            while not all(item["read"] for item in server.get("/api/library")["videos"]):
                time.sleep(0.1)
            print(f"| posters of all videos | after {time.monotonic() - began:.0f} s | | | |")
            for video in home.glob("new *.mp4"):
                video.unlink()
            time.sleep(5)
            worst = max(worst, measure(server, "at rest", {}))
            keys = [item["key"] for item in server.get("/api/library")["videos"]]
            worst = max(worst, measure_queue(server, keys))
            print(f"\nworst: {worst:.0f} ms")
            if given.browser:
                scroll(server)


def measure_queue(server: Server, keys: list[str]) -> float:
    """Queue scans of all videos, and pause and cancel them; return the longest time."""
    spent = []
    requests: list[tuple[str, dict[str, Any]]] = [
        ("/api/scan", {"videos": keys}),
        ("/api/queue", {"action": "later", "videos": keys[:1]}),
        ("/api/queue", {"action": "pause", "videos": keys}),
        ("/api/queue", {"action": "cancel", "videos": keys}),
    ]
    for path, body in requests:
        began = time.perf_counter()
        status, _, content = server.ask(path, body)
        assert status == 200, content
        spent.append(1000 * (time.perf_counter() - began))
        action = body.get("action", "scan")
        print(f"| all videos | {action} | 1 | {spent[-1]:.0f} | {spent[-1]:.0f} |")
        server.get("/api/library")
    return max(spent)


if __name__ == "__main__":
    main()
