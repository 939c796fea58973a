"""How well the shipped model groups labelled tracks: ``bench_model.py FOLDER …``.

Each FOLDER holds one track file per video (``study_data.py``); it may also be a track file. Every
video is grouped as ``castlist scan`` does, with cannot-links, and again without. Printed are means
over videos, and how many characters are lost (own no cluster) or have further clusters (excess).
``--finetune`` fine-tunes the model on each video first.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from castlist import BallModel, TrackSet, cluster_tracks, read_tracks, shipped_model
from castlist.research import finetune
from castlist.research.score.people import CrossTable
from castlist.score.metrics import nmi, wcp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--finetune", action="store_true")
    given = parser.parse_args()

    def model_for(tracks: TrackSet) -> BallModel:
        model = shipped_model(tracks.describer)
        return finetune(model, tracks) if given.finetune else model

    print("data, cannot-links: NMI, WCP, number off by; lost, excess")
    for folder in given.folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*.parquet"))
        if not files:
            parser.error(f"{folder} has no track files (docs/research/study.md)")
        videos = [read_tracks(path) for path in files]
        videos = [tracks[tracks.labelled] for tracks in videos]
        models = [model_for(tracks) for tracks in videos]
        for overlaps in (True, False):
            tables = [
                CrossTable(one.identity, cluster_tracks(one, model, overlaps=overlaps).labels)
                for one, model in zip(videos, models, strict=True)
            ]
            off = [abs(len(one.characters) - len(one.people)) / len(one.people) for one in tables]
            lost = sum(len(one.people) - len(np.unique(one.owner)) for one in tables)
            excess = sum(len(one.characters) - len(np.unique(one.owner)) for one in tables)
            people = sum(len(one.people) for one in tables)
            print(
                f"{folder.name}, {'with' if overlaps else 'without'}: "
                f"{100 * np.mean([nmi(one.who, one.labels) for one in tables]):.2f}, "
                f"{100 * np.mean([wcp(one.who, one.labels) for one in tables]):.2f}, "
                f"{np.mean(off):.1%}; {lost} of {people}, {excess}",
                flush=True,
            )


if __name__ == "__main__":
    main()
