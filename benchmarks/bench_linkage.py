"""Complete linkage against its rivals, side by side: performance.md comes from here.

Every measurement is a process of its own: points are drawn, compiled code is warmed up on a small
set, then one run is timed and its peak resident memory read.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ball_data import SHAPES, ball_points
from benchmarks.linkage_check import check
from benchmarks.linkage_methods import METHODS


def child(
    method: str, n: int, b: float, seed: int, out: Path, repeats: int, shape: str = "balls"
) -> None:
    points, truth = SHAPES[shape](n, b, seed)
    run = METHODS[method]
    for size in (500, 3000):  # compile; 3,000 points in one ball take the other way through
        small = ball_points(size, b)[0]
        run(small, 4 * b)
        if method.startswith("castlist"):
            run(small, 100.0)
    # The peak counts from here, without what drawing the points left behind.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        labels = run(points, 4 * b)
        seconds.append(time.perf_counter() - began)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 2**20
    # A partition, whatever its labels are called: each row by the first row of its cluster.
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    np.save(Path(f"{out}.npy"), first[inverse])
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


def measure(
    method: str, n: int, b: float, seed: int, folder: Path, repeats: int = 1, shape: str = "balls"
) -> Any:
    """Run one measurement in its own process."""
    out = folder / f"{method}-{shape}-{n}-{b}-{seed}.json"
    words = [method, str(n), str(b), str(seed), str(out), str(repeats), shape]
    done = subprocess.run(
        [sys.executable, __file__, "--child", *words], capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        return {"failed": _last_words(done)}
    return {**json.loads(out.read_text()), "partition": np.load(f"{out}.npy")}


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return signal.Signals(-done.returncode).name
    return done.stderr.strip().splitlines()[-1][:90]


def small_sizes(folder: Path, sizes: list[int], radii: list[float], seeds: int) -> None:
    names = ["castlist", "SciPy", "fastcluster", "scikit-learn"]
    print(f"\n| N | b | seeds | {' | '.join(names)} | against fastcluster | partitions |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        for b in radii:
            rows = [
                {m: measure(m, n, b, seed, folder, 3 if m == "castlist" else 1) for m in names}
                for seed in range(seeds if n < 20_000 else min(seeds, 2))
            ]
            print(f"| {n:,} | {b} | {len(rows)} | {_compared(rows, names)} |", flush=True)


def _compared(rows: list[dict[str, Any]], names: list[str]) -> str:
    """Return cells: means of time and memory, the ratio to fastcluster, whether all agree."""
    time = {m: np.mean([row[m]["seconds"] for row in rows]) for m in names}
    peak = {m: np.mean([row[m]["peak"] for row in rows]) for m in names}
    same = all(
        np.array_equal(row[m]["partition"], row["castlist"]["partition"])
        for row in rows
        for m in names
    )
    return " | ".join(
        [f"{time[m]:.2f} s, {peak[m]:.2f} GiB" for m in names]
        + [f"{time['fastcluster'] / time['castlist']:.0f} × faster, "
           f"{peak['castlist'] / peak['fastcluster']:.3f} of its memory"]
        + ["identical" if same else "DIFFERENT"]
    )  # fmt: skip


def middle_size(folder: Path, n: int) -> None:
    names = ["castlist", "SciPy", "fastcluster"]
    print(f"\n| N | b | {' | '.join(names)} | against fastcluster | partitions |")
    print("|---|---|---|---|---|---|---|")
    row = {m: measure(m, n, 0.1, 0, folder, 3 if m == "castlist" else 1) for m in names}
    print(f"| {n:,} | 0.1 | {_compared([row], names)} |", flush=True)


def against_floor(folder: Path, n: int, radii: list[float]) -> None:
    print("\n| N | b | castlist | products alone | ratio | peak | #Cl | true | NMI |")
    print("|---|---|---|---|---|---|---|---|---|")
    # A hundredth of the pairs, times a hundred, where all would take an hour.
    part, times = (n, 1) if n <= 200_000 else (n // 10, 100)
    for b in radii:
        # Before and after: a shared machine is not as fast at every moment.
        before = measure("products alone", part, b, 0, folder, 3)["seconds"]
        found = measure("castlist", n, b, 0, folder, 2 if times == 1 else 1)
        after = measure("products alone", part, b, 0, folder, 3)["seconds"]
        alone = times * (before + after) / 2
        print(
            f"| {n:,} | {b} | {found['seconds']:.1f} s | {alone:.1f} s | "
            f"{found['seconds'] / alone:.2f} | {found['peak']:.2f} GiB | {found['clusters']:,} | "
            f"{found['truth']:,} | {100 * found['nmi']:.2f} |",
            flush=True,
        )
        if n > 200_000:
            check(ball_points(n, b)[0], found["partition"], 4 * b)


def worst(folder: Path) -> None:
    """Time the shapes with the most pairs within τ."""
    print("\n| points | N | τ | time | peak | #Cl |")
    print("|---|---|---|---|---|---|")
    for shape, n, b in (
        ("one ball", 50_000, 0.1),
        ("chain", 100_000, 0.1),
        ("no balls", 30_000, 1.0),
    ):
        found = measure("castlist", n, b, 0, folder, shape=shape)
        print(
            f"| {shape} | {n:,} | {4 * b:g} | {found['seconds']:.1f} s | {found['peak']:.2f} GiB | "
            f"{found['clusters']:,} |",
            flush=True,
        )


def pruning(folder: Path, n: int) -> None:
    """Compare with the same program looking at all pairs, on points with and without gaps."""
    print("\n| points | N | b | castlist | without pivots | ratio |")
    print("|---|---|---|---|---|---|")
    for shape, b in (("balls", 0.05), ("balls", 0.2), ("balls", 0.3), ("no balls", 0.1)):
        names = ("castlist", "castlist without pivots")
        ours, brute = (measure(m, n, b, 0, folder, 3, shape)["seconds"] for m in names)
        print(
            f"| {shape} | {n:,} | {b} | {ours:.1f} s | {brute:.1f} s | {ours / brute:.2f} |",
            flush=True,
        )


def rivals(folder: Path, n: int, b: float) -> None:
    print(f"\n| method, N = {n:,}, b = {b} | time | peak | #Cl | true | NMI |")
    print("|---|---|---|---|---|---|")
    for method in METHODS:
        if method in ("castlist without pivots", "products alone", "SciPy", "scikit-learn"):
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
    for method in ("castlist", "SciPy", "fastcluster", "scikit-learn", "products alone"):
        rows = sorted(
            (int(k["name"].split("-")[-3]), k["seconds"], k["peak"])
            for k in kept
            if k["name"].startswith(f"{method}-balls-") and k["name"].endswith("-0.1-0")
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


PARTS: dict[str, Callable[[Path, list[float], int], None]] = {
    "small": lambda folder, radii, seeds: small_sizes(folder, [1_000, 5_000, 20_000], radii, seeds),
    "middle": lambda folder, *_: middle_size(folder, 40_000),
    "large": lambda folder, radii, _: against_floor(folder, 100_000, radii),
    "pruning": lambda folder, *_: pruning(folder, 100_000),
    "worst": lambda folder, *_: worst(folder),
    "rivals": lambda folder, *_: rivals(folder, 20_000, 0.1),
    "huge": lambda folder, radii, _: against_floor(folder, 1_000_000, radii),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=7)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--b", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--figure", type=Path, default=Path("docs/development/growth.png"))
    parser.add_argument("--keep", type=Path, help="folder for the raw results")
    arguments = parser.parse_args()
    if arguments.child:
        method, n, b, seed, out, repeats, shape = arguments.child
        child(method, int(n), float(b), int(seed), Path(out), int(repeats), shape)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            if arguments.only in (None, part):
                PARTS[part](folder, arguments.b, arguments.seeds)
        growth(folder, arguments.figure)


if __name__ == "__main__":
    main()
