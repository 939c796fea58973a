"""What a track costs, and what a catalogue of 100,000 hours would: scale.md comes from here.

Measured: bytes a track in the files of a cast's folder and in memory, tests of pairs a second of a
core (not of a clock: what else runs on the machine matters less then). How long an hour of video
takes to scan comes from ``make bench-scan`` (docs/development/performance.md), and can be given.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ball_data import ball_points
from castlist import Features, TrackSet, complete_linkage, write_tracks
from castlist.cluster.merging import Clusters, merge_graph, spanning
from castlist.cluster.pair_search import Cloud, find_pivots, pair_search, pairs_within
from castlist.cluster.stages import BLOCK_SIDE, MAX_EDGES, measure

FACES, DESCRIBED = 15, 5  # of a track: looked at, described
DIM = 128  # of SFace's features, and of the embeddings of the model that comes with castlist
EDGE_BYTES = 60  # cluster/stages.py


def parquet_bytes(tracks: int = 2_000) -> float:
    """Write tracks as a scan does, five faces of each described; bytes a track."""
    rng = np.random.default_rng(0)
    n = tracks * FACES
    described = np.arange(n) % FACES < DESCRIBED
    feature = rng.normal(size=(tracks * DESCRIBED, DIM)).astype(np.float32)
    feature /= np.linalg.norm(feature, axis=1, keepdims=True)
    made = TrackSet.from_faces(
        np.repeat([f"{k:05d}" for k in range(tracks)], FACES),
        feature=Features.of_described(feature, described),
        time=np.arange(n) / 5, frame=5 * np.arange(n), shot=np.repeat(np.arange(tracks), FACES),
        box=rng.uniform(0, 640, (n, 4)), score=rng.uniform(0.6, 1, n), video="film",
        describer="SFace",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tracks.parquet")
        write_tracks(path, made)
        return path.stat().st_size / tracks


def points_of(n: int, b: float) -> NDArray[np.float32]:
    """Return points of bench_linkage.py, with zeros up to the dimension of ours."""
    points = ball_points(n, b)[0]
    return np.pad(points, ((0, 0), (0, DIM - points.shape[1])))


def pictures_bytes(casts: Path) -> tuple[int, float]:
    """Count the tracks of casts, and the bytes a track of their pictures and pages."""
    tracks = sum(
        json.loads(run.read_text("utf-8"))["counts"]["tracks"] for run in casts.glob("*/run.json")
    )
    files = [*casts.glob("*/faces/*.jpg"), *casts.glob("*/report.html")]
    return tracks, sum(path.stat().st_size for path in files) / max(tracks, 1)


def pair_tests(n: int, b: float) -> tuple[float, float, float]:
    """Look at all pairs of n points in one thread: pairs a second, and what pivots leave."""
    from threadpoolctl import threadpool_limits

    cloud = Cloud(points_of(n, b))
    with threadpool_limits(1, user_api="blas"):
        search = pairs_within(cloud, 4 * b)
        jobs = list(search.jobs())[:40]
        for pairs in search.run(jobs[0]):
            spanning(*pairs, np.full(n, -1, np.int32))
        began = time.process_time()
        for job in jobs:
            for _ in search.run(job):
                pass
        rate = sum(job.cost for job in jobs) / (time.process_time() - began)
        pruned = pair_search(cloud, 4 * b, find_pivots(cloud, 4 * b))
        began = time.process_time()
        for job in pruned.jobs():
            for _ in pruned.run(job):
                pass
        seconds = time.process_time() - began
    return rate, n * n / 2 / seconds, seconds


def measures(n: int, b: float) -> float:
    """Measure and merge pairs within τ in one thread: pairs a second."""
    points = points_of(n, b)
    clusters, cloud = Clusters.of(np.arange(n)), Cloud(points)
    search = pairs_within(cloud, 4 * b)
    pairs = [pair for job in search.jobs() for pair in search.run(job)]
    i, j = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    rate = 0.0
    for _ in range(2):  # the first compiles
        began = time.process_time()
        merge_graph(measure(i, j, points, clusters, np.empty(0, np.int64), 4 * b), n)
        rate = len(i) / (time.process_time() - began)
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=100_000)
    parser.add_argument("--tracks-an-hour", type=float, default=1_000)
    parser.add_argument("--real-time", type=float, default=5.2, help="make bench-scan, 720p")
    parser.add_argument("--cores", type=int, default=2, help="that it was measured on")
    parser.add_argument("--sample", type=int, default=100_000)
    parser.add_argument("--casts", type=Path, help="a folder of casts, to weigh their pictures")
    arguments = parser.parse_args()
    complete_linkage(points_of(3_000, 0.1), 0.4)
    parquet, embedding = parquet_bytes(), 4 * DIM
    rate, effective, _ = pair_tests(arguments.sample, 0.1)
    merging = measures(20_000, 0.1)
    tracks = arguments.hours * arguments.tracks_an_hour
    pairs = tracks * tracks / 2
    core_hours = arguments.hours / arguments.real_time * arguments.cores
    held = 4 * DIM + 2 * 4 * (DIM + 2) + 5 * 8  # points, cloud and its order by pivot, numbers
    rows = [
        ("a track in tracks.parquet", f"{parquet:,.0f} bytes"),
        ("a track in embeddings.npy", f"{embedding} bytes"),
        ("a track in memory while joining", f"{held} bytes"),
        ("tests of pairs a second and core", f"{rate:.2e}"),
        (f"the same by pivots, of {arguments.sample:,} tracks", f"{effective:.2e}"),
        ("pairs within τ measured and merged a second and core", f"{merging:.2e}"),
        ("a graph of the most edges held", f"{EDGE_BYTES * MAX_EDGES / 2**30:.1f} GiB"),
        ("a block of the largest side", f"{8 * BLOCK_SIDE**2 / 2**20:.0f} MiB"),
        ("tracks in all", f"{tracks:.1e}"),
        ("tracks.parquet in all", f"{parquet * tracks / 1e12:.2f} TB"),
        ("embeddings in all", f"{embedding * tracks / 1e9:.1f} GB"),
        ("memory of every machine that joins", f"{held * tracks / 2**30:.0f} GiB"),
        ("core-hours of scanning", f"{core_hours:,.0f}"),
        ("core-hours of looking at all pairs", f"{pairs / rate / 3600:,.0f}"),
        ("core-hours with pivots, as in the sample", f"{pairs / effective / 3600:,.0f}"),
    ]  # fmt: skip
    if arguments.casts:
        seen, pictures = pictures_bytes(arguments.casts)
        rows += [
            (f"pictures and page of a track, of {seen}", f"{pictures:,.0f} bytes"),
            ("pictures and pages in all", f"{pictures * tracks / 1e12:.2f} TB"),
        ]
    print("| what | figure |\n|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
