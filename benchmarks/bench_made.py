"""BCL against raw features on made data of the paper's size: 1,200 identities, 60,000 tracks.

Train on 95 % of the identities, choose the epoch on the other 5 %, then report once on 60 people
of a third draw, who were in neither. Raw features get every advantage: the best of all thresholds,
chosen with the truth in hand.
"""

from __future__ import annotations

import argparse
import time

from castlist.research import evaluate_tracks, split_identities, synthetic_tracks, train
from castlist.research.study.evaluation import best_of, curve_of
from castlist.research.training.train_settings import TrainSettings
from castlist.tracks import TrackSet


def rows(name: str, tracks: TrackSet, result: object) -> None:
    model = result.model  # type: ignore[attr-defined]
    found = evaluate_tracks(tracks, model).scores
    best = best_of(curve_of(tracks))
    print(f"| {name}: BCL at 4b = {model.threshold:.3f} | {found.n_characters} | "
          f"{found.n_clusters} | {100 * found.nmi:.1f} | {100 * found.wcp:.1f} |")  # fmt: skip
    print(f"| {name}: raw features, best threshold of all | {found.n_characters} | {best[0]} | "
          f"{100 * best[1]:.1f} | {100 * best[2]:.1f} |", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=TrainSettings.epochs)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    tracks = synthetic_tracks()
    test = synthetic_tracks(60, 3_000, seed=99, first_identity=10_000)
    print(f"{tracks}, {len(set(tracks.identity))} identities\n")
    print("| | #Ch | #Cl | NMI | WCP |\n|---|---|---|---|---|")
    for seed in range(arguments.seeds):
        settings = TrainSettings(epochs=arguments.epochs, seed=seed)
        began = time.perf_counter()
        result = train(tracks, settings)
        seconds = time.perf_counter() - began
        split = split_identities(tracks, settings.validation, seed)
        rows(f"seed {seed}, validation", tracks[split.validation], result)
        rows(f"seed {seed}, test", test, result)
        print(f"\nbest epoch {result.model.validation['epoch']}, training took {seconds:.0f} s\n")


if __name__ == "__main__":
    main()
