"""How well features tell people apart on real clips: ``bench_pairs.py CASTS TRUTH``.

CASTS holds ``<clip>.cast`` folders of ``castlist scan``, TRUTH a ``<clip>.csv`` per clip
(benchmark.md). Printed is the area under the ROC curve of the cosine of two tracks of one
clip, of one person against two, by the width of the smaller face. Nothing is clustered.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.bench_tv import truth_of_cast
from castlist import read_tracks
from castlist.cast.folder import TRACKS
from castlist.research.score.faces import match_faces, truth_of_tracks

WIDTHS = (0, 25, 40, 80, np.inf)  # pixels


def pairs(cast: Path, truth: Path) -> tuple[NDArray[np.floating], ...]:
    """Return the cosine and width of all pairs of tracks, and whether they show one person."""
    tracks, known = read_tracks(cast / TRACKS), truth_of_cast(truth, cast)
    matched = match_faces(tracks.time, tracks.box, known.time, known.box)
    who = truth_of_tracks(tracks.offsets, matched, known.who).who
    width = np.array([np.median(box[:, 2]) for box in np.split(tracks.box, tracks.offsets[1:-1])])
    x = tracks.mean_features()
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    shown = np.flatnonzero(who != "")
    i, j = (shown[k] for k in np.triu_indices(len(shown), 1))
    return (x[i] * x[j]).sum(axis=1), np.minimum(width[i], width[j]), who[i] == who[j]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("casts", type=Path)
    parser.add_argument("truth", type=Path)
    given = parser.parse_args()
    clips = sorted(path for path in given.truth.glob("*.csv"))
    found = [pairs(given.casts / f"{path.stem}.cast", path) for path in clips]
    if not found:
        parser.error(f"{given.truth} has no truth (docs/research/benchmark.md)")
    cosine, width, same = (np.concatenate(part) for part in zip(*found, strict=True))
    for low, high in (*pairwise(WIDTHS), (0, np.inf)):
        own = (width >= low) & (width < high)
        area = roc_auc_score(same[own], cosine[own])
        print(f"{low:g} to {high:g} px: {own.sum()} pairs, {area:.3f}")


if __name__ == "__main__":
    main()
