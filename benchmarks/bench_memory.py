"""Peak memory of training on, and clustering, a set as large as MovieGraphs.

65,076 made tracks × 40 faces × 256 dims in 51 Parquet files, float32: 2.5 GiB of features. One
process writes it, a second trains two epochs and clusters all of it at 4b; the peak is the
second's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from castlist import cluster_tracks, read_tracks, write_tracks
from castlist.research import TrainSettings, synthetic_tracks, train

TRACKS, FACES, IDENTITIES, VIDEOS = 65_076, 40, 1_280, 51


def peak_gib() -> float:
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def make(folder: Path) -> None:
    """Write the set video by video; people appear in several videos."""
    for video, tracks in enumerate(np.array_split(np.arange(TRACKS), VIDEOS)):
        # Overlapping ranges of people, so that identities are shared as actors are.
        first = video * (IDENTITIES - 100) // (VIDEOS - 1)
        one = synthetic_tracks(
            100, len(tracks), FACES, seed=video, video=f"film{video:02}", first_identity=first
        )
        write_tracks(folder / f"film{video:02}.parquet", one)


def work(folder: Path, epochs: int) -> None:
    began = time.perf_counter()
    tracks = read_tracks(folder)
    features = tracks.require_features()
    print(f"{tracks}, on disk: {features.on_disk}")
    print(f"| read | {time.perf_counter() - began:.0f} s | {peak_gib():.2f} GiB |", flush=True)
    began = time.perf_counter()
    result = train(tracks, TrainSettings(epochs=epochs, freeze_b=1))
    print(
        f"| train, {epochs} epochs | {time.perf_counter() - began:.0f} s | {peak_gib():.2f} GiB |"
    )
    began = time.perf_counter()
    found = cluster_tracks(tracks, result.model)
    print(
        f"| cluster, {found.n_clusters:,} clusters, {len(tracks) - found.n_clusters:,} merges | "
        f"{time.perf_counter() - began:.0f} s | {peak_gib():.2f} GiB |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder:
        work(arguments.folder, arguments.epochs)
        return
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        print("| stage | time | peak resident so far |\n|---|---|---|", flush=True)
        again = [sys.executable, __file__, "--folder", name, "--epochs", str(arguments.epochs)]
        subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
