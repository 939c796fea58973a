"""Measure the speed of a scan, stage by stage, and its accuracy (performance.md).

``python benchmarks/bench_scan.py CLIPS`` composes test videos of twelve people with a known truth
(clip_video.py), in three sizes, and scans each in a process of its own; the first also with
``--fast``. With ``--against CHECKOUT``, the code of another checkout scans in turn with this one.
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
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from castlist import TrackingSettings, TrackSet, evaluate, read_tracks
from castlist.video.tracking_settings import FAST
from datasets.clip_video import Shot, compose, read_truth, truth_at, write_truth

SIZES = ((640, 360), (1280, 720), (1920, 1080))


def child(path: Path, fast: bool) -> None:
    """Scan a video and print the time of every stage."""
    from castlist import ScanSettings, scan
    from castlist.video import describe, detect, follow, frames, shot_tracking, shots

    spent: dict[str, float] = defaultdict(float)
    frames_of: Counter[str] = Counter()

    def clocked(owner: Any, name: str, stage: str, count: Callable[..., int]) -> None:
        inner = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            value = inner(*args, **kwargs)
            spent[stage] += time.perf_counter() - began
            frames_of[stage] += count(*args)
            return value

        setattr(owner, name, timed)

    decode = frames.Video._pictures

    def pictures(self: Any) -> Any:
        iterator = decode(self)
        while True:
            began = time.perf_counter()
            one = next(iterator, None)
            spent["decode"] += time.perf_counter() - began
            if one is None:
                return
            frames_of["decode"] += 1
            yield one

    frames.Video._pictures = pictures  # type: ignore[method-assign]
    clocked(frames.Video, "scaled", "convert", lambda *_: 1)
    clocked(shots.CutFinder, "add", "cuts", lambda *_: 1)
    clocked(shots.DissolveFinder, "add", "dissolves", lambda *_: 1)
    clocked(detect.YuNet, "detect", "detect", lambda *_: 1)
    clocked(detect.YuNet, "closer", "look closer", lambda *_: 1)
    clocked(follow.Follower, "_matches", "follow", lambda *_: 1)
    clocked(shot_tracking.Shot, "keep", "choose faces", lambda *_: 1)
    clocked(describe.OnnxFace, "describe", "describe", lambda _, crops: len(crops))
    began = time.perf_counter()
    found = scan(path, settings=ScanSettings(tracking=FAST if fast else TrackingSettings()))
    whole = time.perf_counter() - began
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(
        json.dumps(
            {
                "seconds": whole,
                "spent": dict(spent),
                "frames": dict(frames_of),
                "peak": int(status["VmHWM"].split()[0]) / 2**20,
                "duration": found.run["video"]["duration"],
                "stages": {k: v["seconds"] for k, v in found.run["stages"].items()},
            }
        )
    )


def judge(tracks: TrackSet, labels: list[int], shots: list[Shot], rate: float) -> dict[str, Any]:
    """Hold tracks and characters against the truth."""
    who: list[str] = []
    mixed = 0
    for track in range(len(tracks)):
        faces = range(tracks.offsets[track], tracks.offsets[track + 1])
        people = Counter(_person(tracks, face, shots) for face in faces)
        mixed += len(people) > 1
        who.append(people.most_common(1)[0][0])
    scores = evaluate(who, labels)
    covered = whole = 0
    step = 1 / 25
    first, last = tracks.offsets[:-1], tracks.offsets[1:] - 1
    spans = list(zip(who, tracks.time[first], tracks.time[last] + 1 / rate, strict=True))
    for shot in shots:
        for panel in shot.panels:
            for moment in np.arange(shot.start, shot.end, step):
                whole += 1
                covered += any(p == panel.person and a <= moment + 1e-6 < b for p, a, b in spans)
    return {
        "people": len({panel.person for shot in shots for panel in shot.panels}),
        "characters": scores.n_clusters, "nmi": scores.nmi, "wcp": scores.wcp,
        "covered": covered / whole, "mixed": mixed, "tracks": len(tracks),
        "nobody": who.count("nobody"),
    }  # fmt: skip


def _person(tracks: TrackSet, face: int, shots: list[Shot]) -> str:
    x, y, w, h = tracks.box[face]
    for person, (left, top, across, down) in truth_at(shots, float(tracks.time[face]) + 1e-3):
        if left <= x + w / 2 < left + across and top <= y + h / 2 < top + down:
            return person
    return "nobody"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path, nargs="?")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--fast", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--against", type=Path, help="a checkout of another version")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder for videos and casts")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.fast)
        return
    with tempfile.TemporaryDirectory() as name:
        folder: Path = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        for size in SIZES:
            path = folder / f"{size[0]}x{size[1]}-{arguments.seed}.mp4"
            truth = path.with_suffix(".truth.json")
            if not truth.is_file():
                if arguments.clips is None or not any(arguments.clips.glob("*.mp4")):
                    parser.error(f"clips: {arguments.clips} is no folder of .mp4 files")
                write_truth(compose(arguments.clips, path, seed=arguments.seed, size=size), truth)
            report(path, read_truth(truth), arguments.repeats, arguments.against)


def scanned(path: Path, checkout: Path, *options: str) -> dict[str, Any]:
    """Scan a video with the code of a checkout, in a process; return the times."""
    shutil.rmtree(path.with_suffix(".cast"), ignore_errors=True)
    import resource  # not on Windows

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    script = checkout / "benchmarks" / "bench_scan.py"
    done = subprocess.run(
        [sys.executable, str(script), "--child", str(path), *options],
        env=os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"},
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    clocks: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return clocks | {"processor": spent}


def report(path: Path, shots: list[Shot], repeats: int, against: Path | None) -> None:
    here = Path(__file__).resolve().parent.parent
    runs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _ in range(repeats):
        if against is not None:
            runs["against"].append(scanned(path, against.resolve()))
        if path.stem.startswith("640x"):
            runs["--fast"].append(scanned(path, here, "--fast"))
        runs["default"].append(scanned(path, here))
    for name, some in runs.items():
        seconds, processor = (min(run[key] for run in some) for key in ("seconds", "processor"))
        print(
            f"{path.stem}, {name}: {seconds:.1f} s, {some[0]['duration'] / seconds:.1f} × real "
            f"time, {processor:.1f} s of the processor, peak {some[0]['peak']:.2f} GiB",
            flush=True,
        )
    cast = path.with_suffix(".cast")
    best = min(runs["default"], key=lambda run: run["seconds"])
    length = best["duration"]
    networks = sum(best["spent"].get(k, 0) for k in ("detect", "look closer", "describe"))
    share = networks / sum(best["spent"].values())
    print(
        f"\n{path.stem}: {length:.0f} s of video in {best['seconds']:.1f} s, "
        f"{length / best['seconds']:.1f} × real time, peak {best['peak']:.2f} GiB; "
        f"the networks' own share is {100 * share:.0f} %"
    )
    print("\n| stage | seconds | frames | frames/s |\n|---|---|---|---|")
    for stage, seconds in best["spent"].items():
        count = best["frames"][stage]
        print(f"| {stage} | {seconds:.1f} | {count:,} | {count / max(seconds, 1e-9):,.0f} |")
    for stage in ("grouping", "writing the report"):
        print(f"| {stage} | {best['stages'][stage]:.1f} | | |")
    tracks = read_tracks(cast / "tracks.parquet")
    value = json.loads((cast / "cast.json").read_text("utf-8"))
    label = {track: one["number"] for one in value["characters"] for track in one["tracks"]}
    scores = judge(
        tracks, [label[str(name)] for name in tracks.ids], shots, TrackingSettings.sample_rate
    )
    print(
        f"\n{scores['people']} people: {scores['characters']} characters, NMI {scores['nmi']:.4f}, "
        f"WCP {scores['wcp']:.4f}, {100 * scores['covered']:.1f} % of the face time covered, "
        f"{scores['mixed']} of {scores['tracks']} tracks with two people, {scores['nobody']} of "
        "nobody",
        flush=True,
    )


if __name__ == "__main__":
    main()
