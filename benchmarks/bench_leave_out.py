"""What each part of grouping brings on real clips: ``bench_leave_out.py CASTS TRUTH``.

CASTS holds ``<clip>.cast`` folders of ``castlist scan``, TRUTH a ``<clip>.csv`` per clip
(benchmark.md). Their tracks are grouped again, with one part left out each time. Nothing is
scanned.

A cast of few tracks changes with the least change of their features, so one figure says little.
``--draws 40`` groups the clips 40 times, with the features of each track moved at random by as much
as another precision of the describer moves them, and prints means, standard errors and ranges.
``--model FILE`` groups with another model than the shipped one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_tv import truth_of_cast
from castlist import BallModel, TrackSet, cluster_tracks, load_model, read_tracks, shipped_model
from castlist.cast.folder import TRACKS
from castlist.cluster.tracks import cluster_points
from castlist.features import Features
from castlist.research.score.faces import match_faces, truth_of_tracks
from castlist.research.score.people import CrossTable

#: How far a draw moves features, in their length: a cosine of 0.998.
NOISE = 0.063

Labels = NDArray[np.int64]
Group = Callable[[TrackSet, BallModel], Labels]


def whole(tracks: TrackSet, model: BallModel) -> Labels:
    return cluster_tracks(tracks, model).labels


def without_setups(tracks: TrackSet, model: BallModel) -> Labels:
    return whole(replace(tracks, setup=np.full(tracks.n_faces, -1, np.int32)), model)


def without_cannot_links(tracks: TrackSet, model: BallModel) -> Labels:
    return cluster_tracks(tracks, model, overlaps=False).labels


def without_shared_frames(tracks: TrackSet, model: BallModel) -> Labels:
    """Group without shared frames, in averaging and in linkage."""
    return without_cannot_links(replace(tracks, frame=np.full(tracks.n_faces, -1)), model)


def with_setting(name: str, value: float) -> Group:
    """Return grouping with one setting of the model changed."""

    def group(tracks: TrackSet, model: BallModel) -> Labels:
        changed = copy(model)
        setattr(changed, name, value)
        return cluster_tracks(tracks, changed, overlaps=True).labels

    return group


def without_model(tracks: TrackSet, model: BallModel) -> Labels:
    """Cluster mean features at the model's τ, with cannot-links."""
    features = tracks.mean_features()
    features = features / np.linalg.norm(features, axis=1, keepdims=True)
    return cluster_points(features, model.threshold, avoid_link=tracks.overlaps()).labels


PARTS: dict[str, Group] = {
    "nothing": whole,
    "camera set-ups": without_setups,
    "cannot-links": without_cannot_links,
    "shared frames, in averaging too": without_shared_frames,
    "the reach per video": with_setting("false_rate", 0.0),
    "the share of the highest cosine": with_setting("share", 0.0),
    "the bound on neighbours": with_setting("nearest", 0.0),
    "neighbours": with_setting("rounds", 0),
    "the model": without_model,
}


def drawn(tracks: TrackSet, rng: np.random.Generator) -> TrackSet:
    """Return the same tracks, with the features of each moved a little in a random direction."""
    features = np.array(tracks.require_features())
    lengths = np.linalg.norm(tracks.mean_features(), axis=1, keepdims=True)
    moves = rng.normal(size=lengths.shape[:1] + features.shape[1:]) / np.sqrt(features.shape[1])
    features += (NOISE * lengths * moves).astype(np.float32)[tracks.track_of_face]
    described = tracks.require_features().described
    return replace(tracks, features=Features.of_described(features[described], described))


def figures(
    group: Group, clips: Sequence[tuple[TrackSet, NDArray[np.str_]]], model: BallModel | None
) -> list[float]:
    """Return mean NMI, wrong tracks, pieces too many, and repairs per track."""
    tables = []
    for tracks, who in clips:
        labels = group(tracks, model or shipped_model(tracks.describer))
        tables.append(CrossTable(who[who != ""], labels[who != ""]))
    n = sum(len(one.who) for one in tables)
    wrong = sum(int(one.wrong.sum()) for one in tables)
    pieces = sum(one.pieces for one in tables)
    return [float(np.mean([one.nmi for one in tables])), wrong, pieces, (wrong + pieces) / n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("casts", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--draws", type=int, default=0)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    model = load_model(given.model) if given.model else None
    clips = []
    for path in sorted(given.truth.glob("*.csv")):
        cast = given.casts / f"{path.stem}.cast"
        tracks, known = read_tracks(cast / TRACKS), truth_of_cast(path, cast)
        matched = match_faces(tracks.time, tracks.box, known.time, known.box)
        clips.append((tracks, truth_of_tracks(tracks.offsets, matched, known.who).who))
    if not clips:
        parser.error(f"{given.truth} has no truth (docs/research/benchmark.md)")
    if given.draws:
        rng = np.random.default_rng(0)
        found = np.array([
            figures(whole, [(drawn(tracks, rng), who) for tracks, who in clips], model)
            for _ in range(given.draws)
        ])  # fmt: skip
        print(f"{given.draws} draws: mean ± standard error (least to most)")
        for name, values in zip(("NMI", "wrong", "pieces", "repairs"), found.T, strict=True):
            error = values.std(ddof=1) / np.sqrt(len(values))
            print(f"{name}: {values.mean():.4g} ± {error:.2g} ({values.min():.4g}", end=" to ")
            print(f"{values.max():.4g})")
        return
    print("left out: NMI; wrong tracks, pieces, repairs")
    for name, group in PARTS.items():
        mean, wrong, pieces, repairs = figures(group, clips, model)
        print(f"{name}: {mean:.3f}; {wrong:.0f}, {pieces:.0f}, {repairs:.1%}", flush=True)


if __name__ == "__main__":
    main()
