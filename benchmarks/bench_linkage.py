"""Complete linkage against its rivals, side by side: docs/performance.md comes from here.

Every measurement is a process of its own: points are drawn, compiled code is warmed up on a small
set, then one run is timed and its peak resident memory read.
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
from typing import Any

import numpy as np
from ball_data import ball_points
from numpy.typing import NDArray

Points = NDArray[np.float32]
Labels = NDArray[np.int64]


def ours(points: Points, tau: float) -> Labels:
    from castlist import complete_linkage

    return complete_linkage(points, tau).labels


def scipy(points: Points, tau: float) -> Labels:
    from scipy.cluster.hierarchy import fcluster, linkage

    merges = linkage(points.astype(np.float64), "complete", "sqeuclidean")
    return np.asarray(fcluster(merges, tau, "distance"))


def fastcluster(points: Points, tau: float) -> Labels:
    from fastcluster import linkage
    from scipy.cluster.hierarchy import fcluster

    merges = linkage(points.astype(np.float64), "complete", "sqeuclidean")
    return np.asarray(fcluster(merges, tau, "distance"))


def sklearn(points: Points, tau: float) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=tau, linkage="complete", metric="sqeuclidean"
    )
    return np.asarray(model.fit_predict(points.astype(np.float64)))


def floor(points: Points, tau: float) -> Labels:
    """Only the float32 products over all pairs, with all of BLAS's threads."""
    for top in range(0, len(points), 2048):
        for left in range(top, len(points), 8192):
            points[top : top + 2048] @ points[left : left + 8192].T
    return np.zeros(len(points), np.int64)


def hdbscan_sklearn(points: Points, tau: float) -> Labels:
    from sklearn.cluster import HDBSCAN

    return np.asarray(HDBSCAN(min_cluster_size=2, copy=True).fit_predict(points))


def fast_hdbscan(points: Points, tau: float) -> Labels:
    from fast_hdbscan import HDBSCAN

    return np.asarray(HDBSCAN(min_cluster_size=2).fit_predict(points))


def dbscan(points: Points, tau: float) -> Labels:
    from sklearn.cluster import DBSCAN

    # Half of τ: at τ itself outliers chain balls together.
    return np.asarray(DBSCAN(eps=np.sqrt(tau / 2), min_samples=2, n_jobs=-1).fit_predict(points))


def finch(points: Points, tau: float) -> Labels:
    from finch import FINCH

    partitions, _, _ = FINCH(points, verbose=False)
    return np.asarray(partitions[:, 0])  # the finest; the others have fewer clusters


def _near_graph(points: Points, tau: float) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    from castlist.cluster.graph import Cloud, pairs_within

    cloud = Cloud(points)
    pairs = [pair for job in pairs_within(cloud, tau / 2) for pair in job.look()]
    return np.concatenate([i for i, _ in pairs]), np.concatenate([j for _, j in pairs])


def leiden(points: Points, tau: float) -> Labels:
    import igraph
    import leidenalg

    left, right = _near_graph(points, tau)
    graph = igraph.Graph(len(points), np.column_stack([left, right]))
    found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=0)
    return np.asarray(found.membership)


def chinese_whispers(points: Points, tau: float) -> Labels:
    import dlib

    left, right = _near_graph(points, tau)
    edges = [(int(i), int(j)) for i, j in zip(left, right, strict=True)]
    edges += [(i, i) for i in range(len(points))]
    return np.asarray(dlib.chinese_whispers(edges))


def racplusplus(points: Points, tau: float) -> Labels:
    from racplusplus import rac

    # τ = 4b as a cosine distance of unit vectors: d² / 2.
    return np.asarray(
        rac(points.astype(np.float64), tau / 2, connectivity=None, batch_size=1000,
            no_processors=2, metric="cosine")
    )  # fmt: skip


METHODS: dict[str, Callable[[Points, float], Labels]] = {
    "castlist": ours, "SciPy": scipy, "fastcluster": fastcluster, "scikit-learn": sklearn,
    "products alone": floor, "HDBSCAN (scikit-learn)": hdbscan_sklearn,
    "HDBSCAN (fast_hdbscan)": fast_hdbscan, "DBSCAN": dbscan, "FINCH": finch, "Leiden": leiden,
    "Chinese whispers (dlib)": chinese_whispers, "RAC++": racplusplus,
}  # fmt: skip


def child(method: str, n: int, b: float, seed: int, out: Path, repeats: int) -> None:
    points, truth = ball_points(n, b, seed)
    run = METHODS[method]
    for size in (500, 3000):  # compile; 3,000 points in one ball take the other way through
        small = ball_points(size, b)[0]
        run(small, 4 * b)
        if method == "castlist":
            run(small, 100.0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        labels = run(points, 4 * b)
        seconds.append(time.perf_counter() - began)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 2**20
    # A partition, whatever its labels are called: each row by the first row of its cluster.
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    np.save(out.with_suffix(".npy"), first[inverse])
    alone = labels < 0  # noise: everybody a cluster of their own
    labels = np.where(alone, labels.max() + 1 + np.cumsum(alone), labels)
    from sklearn.metrics import normalized_mutual_info_score

    out.write_text(
        json.dumps(
            {
                "seconds": min(seconds),
                "peak": peak,
                "clusters": len(np.unique(labels)),
                "truth": len(np.unique(truth)),
                "nmi": float(normalized_mutual_info_score(truth, labels)),
            }
        )
    )


def measure(method: str, n: int, b: float, seed: int, folder: Path, repeats: int = 1) -> Any:
    """Run one measurement in its own process."""
    out = folder / f"{method.split()[0]}-{n}-{b}-{seed}.json"
    words = [method, str(n), str(b), str(seed), str(out), str(repeats)]
    done = subprocess.run(
        [sys.executable, __file__, "--child", *words], capture_output=True, text=True
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1][:90]}
    return {**json.loads(out.read_text()), "partition": np.load(out.with_suffix(".npy"))}


def small_sizes(folder: Path, sizes: list[int], seeds: int) -> None:
    print("\n| N | b | seeds | castlist | SciPy | fastcluster | scikit-learn | partitions |")
    print("|---|---|---|---|---|---|---|---|")
    for n in sizes:
        for b in (0.05, 0.1, 0.2):
            names = ["castlist", "SciPy", "fastcluster", "scikit-learn"]
            used = seeds if n < 20_000 else 1
            rows = [
                {m: measure(m, n, b, seed, folder, 3 if m == "castlist" else 1) for m in names}
                for seed in range(used)
            ]
            same = all(
                np.array_equal(row[m]["partition"], row["castlist"]["partition"])
                for row in rows
                for m in names
            )
            cells = [
                f"{np.mean([r[m]['seconds'] for r in rows]):.2f} s, {rows[0][m]['peak']:.2f} GiB"
                for m in names
            ]
            verdict = "identical" if same else "DIFFERENT"
            print(f"| {n:,} | {b} | {used} | {' | '.join(cells)} | {verdict} |", flush=True)


def middle_size(folder: Path, n: int) -> None:
    print("\n| N | b | castlist | SciPy | fastcluster | times faster | partitions |")
    print("|---|---|---|---|---|---|---|")
    names = ["castlist", "SciPy", "fastcluster"]
    found = {m: measure(m, n, 0.1, 0, folder, 3 if m == "castlist" else 1) for m in names}
    cells = [f"{found[m]['seconds']:.1f} s, {found[m]['peak']:.2f} GiB" for m in names]
    times = [found[m]["seconds"] / found["castlist"]["seconds"] for m in names[1:]]
    same = all(np.array_equal(found[m]["partition"], found["castlist"]["partition"]) for m in names)
    print(
        f"| {n:,} | 0.1 | {' | '.join(cells)} | {times[0]:.0f} ×, {times[1]:.0f} × | "
        f"{'identical' if same else 'DIFFERENT'} |",
        flush=True,
    )


def against_floor(folder: Path, n: int) -> None:
    print("\n| N | b | castlist | products alone | ratio | peak | #Cl | true | NMI |")
    print("|---|---|---|---|---|---|---|---|---|")
    for b in (0.05, 0.1, 0.2):
        if n <= 200_000:
            alone = measure("products alone", n, b, 0, folder, 3)["seconds"]
        else:  # a hundredth of the pairs, times a hundred
            alone = 100 * measure("products alone", n // 10, b, 0, folder, 3)["seconds"]
        found = measure("castlist", n, b, 0, folder, 2 if n <= 200_000 else 1)
        print(
            f"| {n:,} | {b} | {found['seconds']:.1f} s | {alone:.1f} s | "
            f"{found['seconds'] / alone:.2f} | {found['peak']:.2f} GiB | {found['clusters']:,} | "
            f"{found['truth']:,} | {100 * found['nmi']:.2f} |",
            flush=True,
        )
        if n > 200_000:
            check(n, b, found["partition"])


def check(n: int, b: float, partition: Labels) -> None:
    """Check a partition without the code that made it."""
    from scipy.spatial.distance import pdist

    points = ball_points(n, b)[0].astype(np.float64)
    order = np.argsort(partition, kind="stable")
    _, starts = np.unique(partition[order], return_index=True)
    clusters = np.split(order, starts[1:])
    widest = max(
        (float(pdist(points[c], "sqeuclidean").max()) for c in clusters if len(c) > 1), default=0.0
    )
    print(f"\n   diameters: largest {widest:.6f}, τ = {4 * b:.6f}: {widest <= 4 * b}")
    # Two clusters that could merge have first points within τ: look at those pairs only.
    first = np.array([c[0] for c in clusters])
    small = points[first].astype(np.float32)
    mergeable = looked = 0
    for top in range(0, len(first), 1024):
        near = 2 - 2 * small[top : top + 1024] @ small[top:].T <= 4 * b + 1e-4
        for i, j in np.argwhere(near):
            if j > i:
                a, c = clusters[top + i], clusters[top + j]
                square = np.square(points[a][:, None] - points[c][None]).sum(-1)
                looked += 1
                mergeable += bool(square.max() <= 4 * b)
    print(f"   pairs of clusters that could still merge: {mergeable} of {looked:,} near ones")
    components_check(points, partition, 4 * b)


def components_check(points: NDArray[np.float64], partition: Labels, tau: float) -> None:
    """Compare a random union of components of the graph within τ with SciPy: 20,000 points."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from sklearn.neighbors import NearestNeighbors

    # Components of a graph that contains the one within τ: all pairs near one point's cluster.
    rng = np.random.default_rng(0)
    chosen = np.zeros(len(points), bool)
    small = points.astype(np.float32)
    frontier = rng.choice(len(points), 400, replace=False)
    chosen[frontier] = True
    while len(frontier) and chosen.sum() < 20_000:
        fresh = np.zeros(len(points), bool)
        for part in np.array_split(frontier, max(1, len(frontier) // 256)):
            fresh |= (2 - 2 * small[part] @ small.T <= tau + 1e-4).any(axis=0)
        frontier = np.flatnonzero(fresh & ~chosen)
        chosen |= fresh
    rows = np.flatnonzero(chosen)
    closed = not len(frontier)
    near = NearestNeighbors(radius=float(np.sqrt(tau)) + 1e-4).fit(small[rows])
    graph = coo_array(near.radius_neighbors_graph(small[rows]))
    _, component = connected_components(graph, directed=False)
    if not closed:  # one huge component: leave out those that are not whole
        print("   a union of whole components of 20,000 points cannot be had: one is larger")
        return
    merged = scipy(points[rows].astype(np.float32), tau)
    _, inverse = np.unique(partition[rows], return_inverse=True)
    _, theirs = np.unique(merged, return_inverse=True)
    pairs = len(np.unique(inverse.astype(np.int64) * len(rows) + theirs))
    same = pairs == inverse.max() + 1 == theirs.max() + 1
    print(
        f"   {len(rows):,} points in {component.max() + 1:,} whole components: "
        f"{'the same partition as SciPy' if same else 'DIFFERENT from SciPy'}",
        flush=True,
    )


def rivals(folder: Path, n: int, b: float) -> None:
    print(f"\n| method, N = {n:,}, b = {b} | time | peak | #Cl | true | NMI |")
    print("|---|---|---|---|---|---|")
    for method in METHODS:
        if method in ("products alone", "SciPy", "scikit-learn"):
            continue
        found = measure(method, n, b, 0, folder)
        if "failed" in found:
            print(f"| {method} | failed: {found['failed']} | | | | |", flush=True)
            continue
        print(
            f"| {method} | {found['seconds']:.1f} s | {found['peak']:.2f} GiB | "
            f"{found['clusters']:,} | {found['truth']:,} | {100 * found['nmi']:.2f} |",
            flush=True,
        )


def growth(folder: Path, path: Path) -> None:
    """Draw time and memory over N, log-log."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    kept = [json.loads(p.read_text()) | {"name": p.stem} for p in folder.glob("*.json")]
    for method in ("castlist", "SciPy", "fastcluster", "scikit-learn", "products"):
        rows = sorted(
            (int(k["name"].split("-")[-3]), k["seconds"], k["peak"])
            for k in kept
            if k["name"].startswith(f"{method}-") and k["name"].endswith("-0.1-0")
        )
        if rows:
            n, seconds, peak = zip(*rows, strict=True)
            axes[0].plot(n, seconds, "o-", label=method)
            axes[1].plot(n, peak, "o-", label=method)
    for one, label in zip(axes, ("seconds", "peak resident memory, GiB"), strict=True):
        one.set(xscale="log", yscale="log", xlabel="points", ylabel=label)
        one.grid(alpha=0.3, which="both")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=130)
    print(f"\n{path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=["small", "middle", "large", "huge", "rivals"])
    parser.add_argument("--figure", type=Path, default=Path("docs/growth.png"))
    parser.add_argument("--keep", type=Path, help="folder for the raw results")
    arguments = parser.parse_args()
    if arguments.child:
        method, n, b, seed, out, repeats = arguments.child
        child(method, int(n), float(b), int(seed), Path(out), int(repeats))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        parts: dict[str, Callable[[], None]] = {
            "small": lambda: small_sizes(folder, [1_000, 5_000, 20_000], arguments.seeds),
            "middle": lambda: middle_size(folder, 40_000),
            "large": lambda: against_floor(folder, 100_000),
            "rivals": lambda: rivals(folder, 20_000, 0.1),
            "huge": lambda: against_floor(folder, 1_000_000),
        }
        for part, run in parts.items():
            if arguments.only in (None, part):
                run()
        growth(folder, arguments.figure)


if __name__ == "__main__":
    main()
