"""One cast of a series: ``python benchmarks/bench_join.py study-data``.

The six recast episodes of each series, scanned by default, are joined; and five of them, to which
the sixth is added (each in turn). NMI over all tracks. Then what one more episode of 1,000 tracks
costs where 10,000 to 1,000,000 tracks are known. ``--validation`` does it on recast validation.
``--choose`` prints what was chosen on validation: how near two characters of many tracks must be to
be one. There the same person plays different parts in different episodes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_review import Case
from castlist import nmi, read_tracks, shipped_model
from castlist.cast import matching as rules
from castlist.cast.matching import Balls, LocalCharacters, group_across_videos, place_in_balls

Rows = NDArray[np.int64]
TIMES = 5


def units_of(episodes: Sequence[Case], points: Sequence[NDArray[np.float32]]) -> LocalCharacters:
    """Take the characters of scans as they are."""
    of_track, cannot, count = [], [np.empty((0, 2), np.int64)], 0
    video: list[int] = []
    for k, one in enumerate(episodes):
        unit = one.labels + count
        pairs = unit[one.facts.overlaps]
        cannot.append(pairs[pairs[:, 0] != pairs[:, 1]])
        of_track.append(unit)
        video += [k] * (int(one.labels.max()) + 1)
        count = len(video)
    whole = np.concatenate(of_track)
    balls = Balls.of(np.concatenate(points), whole)
    return LocalCharacters(
        whole, [""] * count, video, balls, np.unique(np.concatenate(cannot), axis=0)
    )


def series(name: str, paths: list[Path], work: Path) -> None:
    """Join a series, and all but one of it and then that one."""
    model = shipped_model()
    sets = [read_tracks(path) for path in paths]
    episodes = [Case.of_episode(path) for path in paths]
    points = [one.points for one in episodes]
    identity = [tracks.identity for tracks in sets]
    units = units_of(episodes, points)
    labels = group_across_videos(units, model.threshold)[units.of_track]
    people = np.concatenate(identity)
    joined = 100 * nmi(people, labels)
    added = []
    for last in range(len(sets)):
        rest = [k for k in range(len(sets)) if k != last]
        known = units_of([episodes[k] for k in rest], [points[k] for k in rest])
        before = group_across_videos(known, model.threshold)[known.of_track] + 1
        balls = Balls.of(np.concatenate([points[k] for k in rest]), before)
        new = units_of([episodes[last]], [points[last]])
        first = int(balls.numbers.max()) + 1
        after = place_in_balls(new, balls, model.threshold, first)[0][new.of_track]
        order = np.concatenate([identity[k] for k in [*rest, last]])
        found = np.concatenate([before, after])
        added.append((100 * nmi(order, found), len(np.unique(found))))
    scores, counts = np.array(added).T
    print(
        f"| {name} | {len(people)} | {len(np.unique(people))} | {joined:.2f} "
        f"({len(np.unique(labels))}) | {scores[-1]:.2f} ({counts[-1]:.0f}) "
        f"| {scores.min():.2f}–{scores.max():.2f} |", flush=True,
    )  # fmt: skip


def choose(work: Path) -> None:
    """Join many draws of validation episodes by each rule; truth is the person who plays."""
    model = shipped_model()
    homes = [work / "recast_val", *sorted((work / "review_val").iterdir())]
    paths = [path for home in homes for path in sorted(home.glob("*.parquet"))]
    sets = [read_tracks(path) for path in paths]
    episodes = [Case.of_episode(path) for path in paths]
    points = [one.points for one in episodes]
    people = []
    for path, tracks in zip(paths, sets, strict=True):
        players = json.loads((path.parent / "cast.json").read_text())["players"]
        people.append(np.array([players[name] for name in tracks.identity.tolist()]))
    buffy = [k for k, path in enumerate(paths) if path.name.startswith("buffy")]
    some = [group for n in (2, 3, 4, 5) for group in itertools.combinations(buffy, n)]
    rng = np.random.default_rng(0)
    mixed = [tuple(rng.choice(len(paths), 6, replace=False).tolist()) for _ in range(40)]
    print("| many: tracks | near: of τ | BUFFY, 2 to 5 episodes: NMI | 6 of all: NMI |")
    print("|---:|---:|---:|---:|")
    for rules.MANY_TRACKS, rules.NEAR in [
        (1, 1.0),
        *itertools.product((3, 8, 20), (0.3, 0.45, 0.6, 0.8)),
    ]:
        found = []
        for groups in (some, mixed):
            scores = []
            for group in groups:
                units = units_of([episodes[k] for k in group], [points[k] for k in group])
                labels = group_across_videos(units, model.threshold)[units.of_track]
                scores.append(nmi(np.concatenate([people[k] for k in group]), labels))
            found.append(f"{100 * np.mean(scores):.2f}")
        print(f"| {rules.MANY_TRACKS} | {rules.NEAR} |", " | ".join(found), "|", flush=True)


def grow(known: int, new: int, threshold: float) -> None:
    """Print the cost of one more episode, by the number of known tracks."""
    rng = np.random.default_rng(0)
    n_characters, dim = known // 20, 128
    middles = rng.normal(size=(n_characters, dim))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    sizes, names = np.full(n_characters, 20), np.full(n_characters, "", "U1")
    balls = Balls(np.arange(1, n_characters + 1), 20.0 * middles, sizes, names)
    # Half of them are known; 20 tracks each.
    who = rng.integers(0, n_characters, new // 40)
    some = np.concatenate([middles[who], rng.normal(size=(new // 20 - len(who), dim))])
    points = np.repeat(some / np.linalg.norm(some, axis=1, keepdims=True), 20, axis=0)
    points = (points + 0.2 * rng.normal(size=points.shape) / np.sqrt(dim)).astype(np.float32)
    unit = np.repeat(np.arange(len(some)), 20)
    units = LocalCharacters(
        unit, [""] * len(some), [0] * len(some), Balls.of(points, unit), np.empty((0, 2), np.int64)
    )
    spent: dict[str, list[float]] = {"read": [], "place": [], "write": []}
    with TemporaryDirectory() as home:
        balls.save(Path(home) / "balls.npz")
        for _ in range(TIMES):
            began = time.perf_counter()
            there = Balls.load(Path(home) / "balls.npz")
            read = time.perf_counter()
            place, _ = place_in_balls(units, there, threshold, len(who) + 1)
            placed = time.perf_counter()
            there.with_more(points, place[unit], {}, (2, 0)).save(Path(home) / "new.npz")
            spent["read"].append(read - began)
            spent["place"].append(placed - read)
            spent["write"].append(time.perf_counter() - placed)
    assert (place[: len(who)] == who + 1).all()
    best = [1000 * min(times) for times in spent.values()]
    print(
        f"| {known:,} | {n_characters:,} |", " | ".join(f"{ms:.0f}" for ms in best), "|", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--choose", action="store_true")
    given = parser.parse_args()
    if given.choose:
        choose(given.work)
        return
    print("| series | tracks | #Ch | joined: NMI (#Cl) | the sixth added: NMI (#Cl) | any added |")
    print("|---|---:|---:|---:|---:|---:|")
    folder = given.work / ("recast_val" if given.validation else "recast")
    for name in ("bbt", "buffy"):
        paths = sorted(folder.glob(f"{name}_*.parquet"))
        if paths:
            series(name.upper(), paths, given.work)
    print("\n| tracks known | characters | read, ms | place 1,000 tracks, ms | write, ms |")
    print("|---:|---:|---:|---:|---:|")
    for known in (10_000, 100_000, 1_000_000):
        grow(known, 1000, float(shipped_model().threshold))


if __name__ == "__main__":
    main()
