"""Grouping 20,500 tracks that were found already: ``python benchmarks/bench_grouping.py``.

205 shots with the same 100 people in each, as bench_bounded.py's case ``tracks`` has them, but with
made features, so that no face need be found or described. What a scan does after watching:
clustering with a million pairs of tracks that share a frame, the cast, the report.

With ``--load N``, 100 tracks are grouped instead while N other processes are busy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from castlist import TrackSet, cluster_tracks, shipped_model
from castlist.cast.cast import make_cast
from castlist.cast.cast_file import save_cast
from castlist.report.page import write_report

SHOTS, PEOPLE, FACES = 205, 100, 2
PICTURE = bytes(3000)  # what a face costs the report


def made_video() -> TrackSet:
    """Everybody is in every shot, for two looks, each in a place of their own."""
    rng = np.random.default_rng(0)
    n = SHOTS * PEOPLE
    who = np.concatenate([rng.permutation(PEOPLE) for _ in range(SHOTS)])
    own = rng.normal(size=(PEOPLE, 128))[who] + 0.8 * rng.normal(size=(n, 128))
    track = np.repeat(np.arange(n), FACES)
    feature = own[track] + 0.2 * rng.normal(size=(len(track), 128))
    feature /= np.linalg.norm(feature, axis=1, keepdims=True)
    shot, place = np.divmod(track, PEOPLE)
    frame = 4 * shot + np.tile([0, 2], n)
    box = np.stack([72 * (place % 10), 72 * (place // 10), *np.full((2, len(track)), 50)], axis=1)
    return TrackSet.from_faces(
        track, feature=feature.astype(np.float32), shot=shot, frame=frame, time=frame / 10,
        box=box, video="made", describer="SFace-TV",
    )  # fmt: skip


def few_under_load(load: int) -> None:
    """Group 100 tracks while other processes are busy; print the seconds."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
    try:
        tracks = made_video()
        tracks = tracks[np.arange(100)]
        model = shipped_model()
        began, used = time.perf_counter(), time.process_time()
        found = cluster_tracks(tracks, model)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        print(
            f"100 tracks, {found.n_clusters} characters: {seconds:.2f} s, {used:.2f} of processor"
        )
    finally:
        for one in busy:
            one.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--load", type=int, help="processes that are busy beside it")
    given = parser.parse_args()
    if given.load is not None:
        few_under_load(given.load)
        return
    model = shipped_model()
    began = time.perf_counter()

    def tell(stage: str) -> None:
        import resource  # not on Windows

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(f"| {stage} | {time.perf_counter() - began:.0f} | {peak:,.0f} |", flush=True)

    print("| stage | seconds so far | peak so far, MiB |\n|---|---:|---:|", flush=True)
    tracks = made_video()
    tell(f"{len(tracks):,} tracks, {len(tracks.overlaps()):,} pairs that share a frame")
    labels = cluster_tracks(tracks, model).labels
    tell("clustering")
    cast = make_cast(tracks, labels, tracks.mean_features(), float(tracks.time.max()))
    tell(f"the cast: {len(cast.characters):,} characters of {PEOPLE}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_cast(cast, folder / "cast.json", {"threshold": model.threshold})
        write_report(cast, lambda track: [PICTURE], folder / "report.html")
        size = (folder / "report.html").stat().st_size
        tell(f"the report: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
