"""What the amount of training data does to BCL: ``bench_training_data.py FOLD -o OUT``.

FOLD is a folder of ``datasets/film_tracks.py``. Models are trained by the paper's recipe and by
ours on parts of its ``pool.parquet``: so many people, and so many tracks of each. Epochs are chosen
on ``films_val.parquet``. Every test episode in ``recast`` is clustered at the model's 4b without
cannot-links. OUT gets ``training_data.csv`` with one row per model, and ``training_data.svg``. If
the run is interrupted, repeat the command to resume it.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist import BallModel, TrackSet, cluster_tracks, nmi, read_tracks
from castlist.io.files import replacing
from castlist.research import RECIPES, train

PEOPLE = (50, 100, 200, 400, 1000, 2000, 4000)
TRACKS = (2, 5, 10, 20, 50)
COLUMNS = ("recipe", "people", "tracks", "seed", "b", "nmi", "clusters", "characters", "off")

Row = dict[str, str | int | float]


def parts(pool: TrackSet) -> Iterator[tuple[int, int]]:
    """Yield the numbers of people and of tracks per person that the pool has."""
    counts = np.unique(pool.identity, return_counts=True)[1]
    for people, tracks in product(PEOPLE, TRACKS):
        if people <= np.sum(counts >= tracks):
            yield people, tracks


def part_of(pool: TrackSet, people: int, tracks: int, seed: int) -> NDArray[np.int64]:
    """Return the rows of people drawn among those with enough tracks, so many of each."""
    rng = np.random.default_rng([seed, people, tracks])
    order = rng.permutation(len(pool))
    _, label, counts = np.unique(pool.identity[order], return_inverse=True, return_counts=True)
    chosen = rng.permutation(np.flatnonzero(counts >= tracks))[:people]
    return np.sort(np.concatenate([order[label == one][:tracks] for one in chosen]))


def evaluate(model: BallModel, episodes: list[TrackSet]) -> Row:
    """Return mean NMI, the total numbers of clusters and characters, and their mean error."""
    found = [cluster_tracks(one, model, overlaps=False).labels for one in episodes]
    clusters = np.array([len(np.unique(labels)) for labels in found])
    characters = np.array([len(np.unique(one.identity)) for one in episodes])
    scores = [nmi(one.identity, labels) for one, labels in zip(episodes, found, strict=True)]
    return {
        "b": round(model.b, 4),
        "nmi": round(100 * float(np.mean(scores)), 2),
        "clusters": int(clusters.sum()),
        "characters": int(characters.sum()),
        "off": round(100 * float(np.mean(np.abs(clusters - characters) / characters)), 1),
    }


def read_rows(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [dict(row) for row in csv.DictReader(file)]


def write_rows(path: Path, rows: list[Row]) -> None:
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)


def draw(path: Path, rows: list[Row]) -> None:
    """Draw NMI and the number of clusters per character against people, a line per tracks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    recipes = sorted({str(row["recipe"]) for row in rows}, reverse=True)
    figure, axes = plt.subplots(
        2, len(recipes), figsize=(9, 6), sharex=True, sharey="row", squeeze=False
    )
    for column, recipe in enumerate(recipes):
        for tracks in TRACKS:
            points: dict[int, list[tuple[float, float]]] = {}
            for row in rows:
                if row["recipe"] == recipe and int(row["tracks"]) == tracks:
                    ratio = float(row["clusters"]) / float(row["characters"])
                    points.setdefault(int(row["people"]), []).append((float(row["nmi"]), ratio))
            if not points:
                continue
            x = sorted(points)
            for line in (0, 1):
                values = [[one[line] for one in points[n]] for n in x]
                axes[line, column].errorbar(
                    x, [np.mean(v) for v in values], [np.std(v) for v in values], marker="o",
                    markersize=3, capsize=2, label=f"{tracks} tracks per person",
                )  # fmt: skip
        axes[0, column].set_title({"paper": "the paper's recipe", "neighbours": "ours"}[recipe])
        axes[1, column].axhline(1, color="grey", linewidth=0.8)
        axes[1, column].set(xscale="log", xlabel="training people")
    axes[0, 0].set_ylabel("NMI at 4b, %")
    axes[1, 0].set_ylabel("clusters per character at 4b")
    axes[0, -1].legend(fontsize="small")
    figure.tight_layout()
    with plt.rc_context({"svg.hashsalt": "castlist"}):
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fold", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    pool = read_tracks(given.fold / "pool.parquet")
    validation = read_tracks(given.fold / "films_val.parquet")
    files = sorted((given.fold / "recast").rglob("*.parquet"))
    episodes = [read_tracks(path) for path in files]
    episodes = [one[one.labelled] for one in episodes]
    given.out.mkdir(parents=True, exist_ok=True)
    table = given.out / "training_data.csv"
    rows = read_rows(table)
    done = {tuple(str(row[name]) for name in COLUMNS[:4]) for row in rows}
    for seed, recipe, (people, tracks) in product(
        range(given.seeds), ("neighbours", "paper"), parts(pool)
    ):
        what = (recipe, people, tracks, seed)
        if tuple(map(str, what)) in done:
            continue
        part = pool[part_of(pool, people, tracks, seed)]
        result = train(part, replace(RECIPES[recipe], seed=seed), validation=validation)
        row: Row = {**dict(zip(COLUMNS, what, strict=False)), **evaluate(result.model, episodes)}
        rows.append(row)
        write_rows(table, rows)
        print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    draw(given.out / "training_data.svg", rows)


if __name__ == "__main__":
    main()
