"""The figures of neighbours.md on validation: ``python benchmarks/bench_neighbours.py WORK``.

WORK is what study_data.py made. No test set is looked at.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from castlist import BallModel, TrackSet, cluster_tracks, evaluate, read_tracks, shipped_model
from castlist.research import FinetuneSettings, choose_threshold, finetune


def videos_of(tracks: TrackSet) -> list[TrackSet]:
    return [tracks[tracks.video == i] for i in range(len(tracks.videos))]


def row(name: str, found: list[tuple[TrackSet, BallModel | None]], tau: float | None) -> None:
    scores = [
        evaluate(one.identity, cluster_tracks(one, model, threshold=tau).labels)
        for one, model in found
    ]
    off = np.mean([abs(s.n_clusters - s.n_characters) / s.n_characters for s in scores])
    mean = [100 * float(np.mean([getattr(s, name) for s in scores])) for name in ("nmi", "wcp")]
    print(f"| {name} | {mean[0]:.1f} | {mean[1]:.1f} | {100 * off:.0f} % |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    work: Path = parser.parse_args().work
    for needed in (work / "val.parquet", work / "recast_val"):
        if not needed.exists():
            parser.error(f"there is no {needed}; WORK is what study_data.py made")
    lfw, recast = read_tracks(work / "val.parquet"), read_tracks(work / "recast_val")
    episodes = videos_of(recast)
    dim = lfw.require_features().dim
    averaged = BallModel((dim, dim), residual=True, rounds=2, reach=0.28, nearest=1.0, share=0.5)
    print("\n| τ of the highest NMI | LFW validation | validation episodes |\n|---|---|---|")
    best = {}
    for name, model in (("features", None), ("features with neighbours", averaged)):
        best[name] = choose_threshold(model, recast, apart=True)
        print(f"| {name} | {choose_threshold(model, lfw):.2f} | {best[name]:.2f} |", flush=True)
    print("\n| validation episodes | NMI | WCP | number off by |\n|---|---|---|---|")
    row("features, best τ for them", [(one, None) for one in episodes], best["features"])
    tau = best["features with neighbours"]
    row("with neighbours, best τ for them", [(one, averaged) for one in episodes], tau)
    model = shipped_model()
    row("shipped model, at 4b", [(one, model) for one in episodes], None)
    for rate, iterations in ((0.003, 60), (0.01, 150), (0.03, 60), (0.03, 100)):
        settings = FinetuneSettings(rate=rate, iterations=iterations)
        tuned: list[tuple[TrackSet, BallModel | None]] = [
            (one, finetune(model, one, settings)) for one in episodes
        ]
        row(f"fine-tuned, rate {rate}, {iterations} updates", tuned, None)


if __name__ == "__main__":
    main()
