"""How long Watch and Find wait, and how smoothly they scroll: ``python benchmarks/bench_watch.py``.

Two made casts of 3,000 tracks and 500 characters: one video of 90 minutes, and a series of 200
videos. Each request is sent ten times to the real server; its times are printed, and the mean CPU
time of the server. ``--frames`` opens the timeline of the 90-minute video in Chromium, scrolls,
zooms and scrubs it, and prints how many frames per second Chromium presented by its own trace: all,
and those with everything that the page drew; and the CPU time of the page's main thread per frame.
"""

from __future__ import annotations

import argparse
import json
import os
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
from castlist.cast.cast_file import RUN
from castlist.cast.episodes import MODEL, write_about, write_episode, write_labels
from castlist.model.model_file import save_model
from datasets.small_videos import write_video
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
    steps: dict[str, Callable[[], object]], server: Server,
    before: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Print how long each step takes, and the server's CPU time; without what is done before it."""
    print("| request | best, ms | median, ms | worst, ms | CPU, ms |\n|---|---:|---:|---:|---:|")
    for name, step in steps.items():
        spent, busy = [], 0.0
        for _ in range(TIMES):
            before()
            used, began = cpu_time(server), time.perf_counter()
            step()
            spent.append(1000 * (time.perf_counter() - began))
            busy += 1000 * (cpu_time(server) - used) / TIMES
        shown = " | ".join(f"{ms:.0f}" for ms in (min(spent), np.median(spent), max(spent), busy))
        print(f"| {name} | {shown} |", flush=True)


def cpu_time(server: Server) -> float:
    """Return the CPU time of the server so far in seconds, which other programs hardly change."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    }, server)  # fmt: skip
    print_times({
        "timeline after a correction": lambda: server.get("/api/timeline/0"),
        "find after a correction": lambda: server.get(f"/api/find?{together}&gap=5"),
    }, server, corrected)  # fmt: skip


def add_video(folder: Path) -> None:
    """Write the video of a cast beside it: a grey picture that becomes brighter."""
    pictures = (np.full((180, 320, 3), k % 250, np.uint8) for k in range(int(2 * SECONDS)))
    write_video(
        folder.with_name("film.mp4"), pictures, 2, codec="libx264", preset="ultrafast", g="8"
    )
    run = json.loads((folder / RUN).read_text("utf-8"))
    run["video"] = {"name": "film.mp4", "size": [640, 360], "rate": 2.0}
    (folder / RUN).write_text(json.dumps(run), "utf-8")


def measure_frames(server: Server) -> None:
    """Print the frames that Chromium presented and dropped during some gestures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.address)
        page.wait_for_selector("body[data-view=cast]")
        page.evaluate("location.hash = '#/watch/0'")
        page.wait_for_selector(".lane-names [role=option]")
        page.locator(".lanes").evaluate("lanes => lanes.scrollTo(0, 1e6)")
        page.locator("[data-row=background]").click()  # show all rows
        page.locator(".lanes").evaluate("lanes => lanes.scrollTo(0, 0)")
        page.wait_for_timeout(2000)
        lanes = page.locator(".lanes").bounding_box()
        assert lanes is not None
        x, y = lanes["x"] + 0.6 * lanes["width"], lanes["y"] + 0.5 * lanes["height"]
        devtools = page.context.new_cdp_session(page)

        def scroll(**by: int) -> None:
            devtools.send(
                "Input.synthesizeScrollGesture",
                {"x": x, "y": y, "speed": 1500, "gestureSourceType": "mouse", **by},
            )

        def zoom() -> None:
            page.evaluate(
                """([x, y]) => new Promise((done) => {
                  const canvas = document.querySelector(".lanes canvas");
                  let k = 0;
                  const turn = () => {
                    canvas.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true,
                      ctrlKey: true, clientX: x, clientY: y, deltaY: k < 150 ? -8 : 8 }));
                    if (++k < 300) requestAnimationFrame(turn);
                    else done();
                  };
                  turn();
                })""",
                [x, y],
            )

        def scrub() -> None:
            left, width = lanes["x"] + 200, lanes["width"] - 220
            page.mouse.move(left, lanes["y"] + 10)
            page.mouse.down()
            for k in range(150):
                page.mouse.move(left + width * k / 150, lanes["y"] + 10)
                page.wait_for_timeout(16)
            page.mouse.up()

        print(
            "| gesture | frames per second | with all updates | dropped | CPU per frame, ms |\n"
            "|---|---:|---:|---:|---:|"
        )
        print_frames(browser, "scroll the rows", lambda: scroll(yDistance=-7500))
        print_frames(browser, "zoom", zoom)
        for _ in range(8):
            page.locator("[data-action=zoom-in]").click()
        print_frames(browser, "scroll in time", lambda: scroll(xDistance=-7500))
        page.locator("[data-action=zoom-all]").click()
        print_frames(browser, "scrub the video", scrub)
        browser.close()


def print_frames(browser: Any, name: str, gesture: Callable[[], None]) -> None:
    """Trace a gesture and print how many of its frames were shown."""
    browser.start_tracing(categories=["cc", "benchmark"])
    gesture()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    reports = [
        (event["ts"], event["args"]["frame_reporter"])
        for event in events
        if event["name"] == "PipelineReporter" and "frame_reporter" in event["args"]
    ]
    # A frame may be reported twice: when the compositor shows it, and when the page has drawn it.
    states: dict[int, set[str]] = {}
    for _, one in reports:
        states.setdefault(one["frame_sequence"], set()).add(one["state"])
    drawn = sum("STATE_PRESENTED_ALL" in some for some in states.values())
    shown = sum(any("PRESENTED" in state for state in some) for some in states.values())
    dropped = sum(some == {"STATE_DROPPED"} for some in states.values())
    times = [at for at, one in reports if one["state"] != "STATE_NO_UPDATE_DESIRED"]
    seconds = (max(times) - min(times)) / 1e6
    main = [event for event in events if event["name"] == "ProxyMain::BeginMainFrame"]
    frames = [event["tdur"] for event in main if "tdur" in event]
    spent = np.median(frames) / 1000
    print(
        f"| {name} | {shown / seconds:.0f} | {drawn / seconds:.0f} | {dropped} | {spent:.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracks", type=int, default=3000)
    parser.add_argument("--characters", type=int, default=500)
    parser.add_argument("--videos", type=int, default=200)
    parser.add_argument("--frames", action="store_true", help="measure frames in Chromium instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        one, series = Path(home) / "film.cast", Path(home) / "series.cast"
        make_folder(one, given.tracks, given.characters)
        if given.frames:
            add_video(one)
            with Server(one) as server:
                measure_frames(server)
            return
        make_series(series, given.videos, given.tracks, given.characters)
        for title, folder in (("one video", one), ("series", series)):
            print(f"\n{title}\n")
            with Server(folder) as server:
                measure_requests(server)


if __name__ == "__main__":
    main()
