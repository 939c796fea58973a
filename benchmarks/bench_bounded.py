"""Measure scans of large videos: ten hours, 5,000 cuts, 100 faces per frame, 20,000 tracks.

``python benchmarks/bench_bounded.py`` makes each video, scans it with ``castlist scan`` in a
process of its own, asks the system every few seconds how much memory that process has, and prints
it with the counts beside what they should be. Name cases to run those only. ``--faces lfw.zip``
takes the faces of the last two from an archive of ``<person>/<picture>.jpg``: then there are 100
people, and not four again and again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datasets.demo_video import SHOTS, compose_demo, fetch_pictures
from datasets.large_video import SIDE, loop, mosaic, people_in, portraits

SIZE = (192, 108)  # of the looped videos: small, for hours of them must end today
EVERY = 2.0  # seconds between two looks at the memory
MIB = 2**20
PEOPLE = 4  # in the demo's video
IN_SHOTS = sum(len(people) for people, *_ in SHOTS)  # tracks of it


@dataclass(frozen=True)
class Made:
    """A video, and what a scan of it must count."""

    path: Path
    shots: int
    tracks: int
    characters: int


@dataclass(frozen=True)
class Look:
    """The memory at a moment, in bytes, and how far the video was watched by then, in seconds."""

    watched: float | None  # None before the first part is on disk, and when all of it is watched
    resident: int


def hours(folder: Path, faces: Path | None) -> Made:
    """Ten hours: twelve shots of 24 s, 125 times."""
    return _looped(folder, "hours", fps=5, seconds=24.0, times=125)


def cuts(folder: Path, faces: Path | None) -> Made:
    """5,004 shots of ten frames, 0.4 s each."""
    return _looped(folder, "cuts", fps=25, seconds=0.4, times=417)


def crowd(folder: Path, faces: Path | None) -> Made:
    """100 faces in every frame: five shots of 12 s."""
    return _mosaic(folder, "crowd", faces, shots=5, seconds=12.0)


def tracks(folder: Path, faces: Path | None) -> Made:
    """20,500 tracks: 205 shots of 0.4 s with 100 faces in every frame."""
    return _mosaic(folder, "tracks", faces, shots=205, seconds=0.4)


CASES: dict[str, Callable[[Path, Path | None], Made]] = {
    case.__name__: case for case in (hours, cuts, crowd, tracks)
}


def _looped(folder: Path, name: str, fps: int, seconds: float, times: int) -> Made:
    clip, path = folder / f"{name}-clip.mp4", folder / f"{name}.mp4"
    compose_demo(fetch_pictures(folder / "pictures"), clip, SIZE, fps, seconds)
    loop(clip, path, times)
    return Made(path, times * len(SHOTS), times * IN_SHOTS, PEOPLE)


def _mosaic(folder: Path, name: str, faces: Path | None, shots: int, seconds: float) -> Made:
    places, path = SIDE * SIDE, folder / f"{name}.mp4"
    people = (
        portraits(fetch_pictures(folder / "pictures"))
        if faces is None
        else people_in(faces, places)
    )
    mosaic(people, path, shots, seconds)
    # Faces that share a frame are different characters, so there are at least 100.
    return Made(path, shots, shots * places, places)


def scan(video: Path) -> tuple[int, int, list[Look], float]:
    """Scan a video; return exit code, peak memory in bytes, the looks, and the seconds it took."""
    cast = video.with_suffix(".cast")
    shutil.rmtree(cast, ignore_errors=True)
    words = [sys.executable, "-m", "castlist", "scan", str(video), "--json"]
    looks: list[Look] = []
    began = time.monotonic()
    with video.with_suffix(".json").open("wb") as out:
        process = subprocess.Popen(words, stdout=out)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_maxrss * 1024, looks, time.monotonic() - began
        looks.append(Look(_watched(cast), _resident(process.pid)))
        time.sleep(EVERY)


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)


def _watched(cast: Path) -> float | None:
    """Return how far a video has been watched, from the last checkpoint on disk."""
    last = max((cast / "parts").glob("*.npz"), default=None)
    if last is None:
        return None
    try:
        with np.load(last, allow_pickle=False) as file:
            return float(json.loads(str(file["about"]))["end"])
    except (OSError, ValueError, KeyError):  # gone by now: all is watched
        return None


def opened(report: Path) -> str:
    """Open the page in a browser and return what it shows."""
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium")
    if browser is None:
        return "not opened: there is no chromium here"
    with sync_playwright() as play:
        window = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(report.absolute().as_uri())
        cards = page.locator("article").count()
        # Pictures further down wait to be decoded until they are scrolled to.
        broken = page.evaluate(
            "Promise.all([...document.images].map(i => i.decode().then(() => 0, () => 1)))"
            ".then(all => all.reduce((a, b) => a + b, 0))"
        )
        window.close()
    return f"{cards:,} characters shown, {broken} broken pictures, {len(wrong)} errors"


def tell(made: Made) -> None:
    """Scan a video and print what came of it."""
    code, peak, looks, seconds = scan(made.path)
    print(f"exit code {code}, {seconds / 60:.1f} min, peak {peak / MIB:,.0f} MiB", flush=True)
    if code:
        raise SystemExit(code)
    cast = made.path.with_suffix(".cast")
    run: dict[str, Any] = json.loads((cast / "run.json").read_text("utf-8"))
    counts = run["counts"]
    print("\n| | made | found |\n|---|---:|---:|")
    for name in ("shots", "tracks", "characters"):
        print(f"| {name} | {getattr(made, name):,} | {counts[name]:,} |")
    stages = ", ".join(f"{name} {value['seconds']:.0f} s" for name, value in run["stages"].items())
    print(f"\n{counts['faces']:,} faces in {counts['pictures']:,} pictures; {stages}")
    size = (cast / "report.html").stat().st_size
    print(f"report.html: {size / MIB:.1f} MiB, {opened(cast / 'report.html')}\n")
    length = run["video"]["duration"]
    print("| watched | resident, MiB |\n|---|---:|")
    for mark in np.linspace(0, length, 11)[1:]:
        before = [look.resident for look in looks if (look.watched or np.inf) <= mark]
        if before:
            moment = f"{mark / 3600:.0f} h" if length > 7200 else f"{mark:.0f} s"
            print(f"| {moment} | {before[-1] / MIB:,.0f} |")
    print(f"| the whole run, at most | {peak / MIB:,.0f} |\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="; ".join(
        f"{name}: {case.__doc__}" for name, case in CASES.items()
    ))  # fmt: skip
    parser.add_argument("--faces", type=Path, help="an archive of <person>/<picture>.jpg")
    parser.add_argument("--keep", type=Path, help="folder for videos and casts")
    given = parser.parse_args()
    if unknown := set(given.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as name:
        folder: Path = given.keep or Path(name)
        for case in given.cases or CASES:
            print(f"## {case}: {CASES[case].__doc__}\n", flush=True)
            made = CASES[case](folder, given.faces)
            print(f"{made.path.stat().st_size / MIB:.0f} MiB of video; ", end="", flush=True)
            tell(made)


if __name__ == "__main__":
    main()
