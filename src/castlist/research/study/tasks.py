"""The tasks of a study: train, cluster, fine-tune and time.

A task depends on its paths and settings alone and returns what JSON can hold, so that the runner
can call it in another process and store the answer.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.cluster.tracks import cluster_tracks, embed_tracks
from castlist.errors import InputError
from castlist.io.authors import series_of
from castlist.io.track_files import read_tracks
from castlist.model.ball_model import BallModel
from castlist.model.model_file import load_model
from castlist.research.kmeans import g_means, k_means, x_means
from castlist.research.score.curves import curve
from castlist.research.study.paper import COLUMNS, paper_values
from castlist.research.study.plan import Method, Test
from castlist.research.study.results import Record
from castlist.research.training.batches import split_identities
from castlist.research.training.finetune import FinetuneSettings, finetune
from castlist.research.training.run_folder import MODEL
from castlist.research.training.train import train
from castlist.research.training.train_settings import TrainSettings
from castlist.research.training.validation import Truth, better_apart, choose_threshold
from castlist.score.metrics import evaluate
from castlist.tracks import TrackSet

#: Points per curve, enough for a figure.
_CURVE_POINTS = 400
#: Epochs per loss when timing; the fastest counts.
_TIMED_ROUNDS = 4
#: Maximum number of clusters per gallery.
_GALLERY_CLUSTERS = 60


def train_task(
    train_on: tuple[Path, ...], validation: tuple[Path, ...], settings: TrainSettings, run: Path
) -> dict[str, Any]:
    """Train a model in a run folder, or resume it; return its validation figures."""
    result = train(
        labelled(train_on), settings, validation=labelled(validation) if validation else None,
        run=run,
    )  # fmt: skip
    return result.model.validation


def test_task(
    test: Test, method: Method, run: Path | None, seed: int, whole: bool
) -> dict[str, Any]:
    """Cluster every column of a test with a method, in each of the paper's ways, and score it.

    Parameters
    ----------
    test, method : Test and Method
    run : Path or None
        Run folder of its trained model.
    seed : int
        Seed of K-means and its variants; the records carry it.
    whole : bool
        Whether to return curves and galleries too; they are made for the first seed only.
    """
    model = _model_of(method, run, test)
    tau = _threshold(method, model, test)
    taus = {}
    on_train = model.validation.get("train_threshold") if model else None
    if on_train is not None:
        taus["train"] = float(on_train)
    records, curves, shown = [], {}, []
    for column, tracks in columns_of(test):
        points = embed_tracks(tracks, model)
        _, truth = np.unique(tracks.identity, return_inverse=True)
        linkage = complete_linkage(points)
        # With cannot-links, as in a scan.
        labels = {"own": cluster_tracks(tracks, model, threshold=tau).labels}
        labels |= {how: linkage.cut(one) for how, one in taus.items()}
        labels |= _known_k(linkage, points, int(truth.max()) + 1, seed)
        if method.kmeans_variants:
            k_max = _k_max(test, column, int(truth.max()) + 1)
            labels["xmeans"] = x_means(points, k_max=k_max, seed=seed)
            labels["gmeans"] = g_means(points, seed=seed)
        for how, found in labels.items():
            records.append(_record(test.name, column, method.name, seed, how, truth, found))
        if whole:
            # Curves follow the dendrogram, which has no cannot-links.
            curves[column] = _thinned(truth, linkage, int(linkage.cut(tau).max()) + 1)
            if column in test.gallery and column not in test.combined:
                shown.append(_shown(test.name, column, method.name, tracks, labels["own"]))
    return {"records": records, "curves": curves, "shown": shown, "threshold": tau}


def finetune_task(
    test: Test, method: Method, run: Path | None, column: str, iterations: int, seed: int
) -> dict[str, Any]:
    """Fine-tune a method's model on one column of a test, cluster at the same τ, and score it.

    ``iterations`` is the maximum number of updates.
    """
    model = _model_of(method, run, test)
    if model is None:
        raise InputError(f"{method.name}: no model to fine-tune")
    model.operating = _threshold(method, model, test)
    tracks = next(tracks for name, tracks in columns_of(test) if name == column)
    settings = FinetuneSettings.of(model)
    settings = replace(settings, iterations=min(iterations, settings.iterations), seed=seed)
    if method.constraints:
        settings = replace(settings, constraints=method.constraints)
    tuned = finetune(model, tracks, settings)
    found = cluster_tracks(tracks, tuned).labels
    _, truth = np.unique(tracks.identity, return_inverse=True)
    return {"records": [_record(test.name, column, method.name, seed, "finetuned", truth, found)]}


def extremes_task(
    train_on: tuple[Path, ...], validation: tuple[Path, ...], seed: int
) -> dict[str, Any]:
    """Score validation as one cluster, as one cluster per track, and the base features at K.

    With our models these are the columns of the paper's first table.
    """
    tracks, apart = _held_out(train_on, validation, seed)
    clustered = Truth.of(tracks, apart).cluster(embed_tracks(tracks, None))
    found = {
        ("one cluster", "one"): clustered.scores(np.inf),
        ("N clusters", "each"): clustered.scores(-1.0),
        ("base", "hac"): clustered.scores_at_counts(),
    }
    return {
        "records": [
            Record(
                "validation", "all of it", method, seed, how, clustered.truth.n_characters, **scores
            ).to_dict()
            for (method, how), scores in found.items()
        ]
    }


def batches_task(
    train_on: tuple[Path, ...], validation: tuple[Path, ...], sizes: tuple[int, ...], seed: int
) -> dict[str, Any]:
    """Return the mean number of identities per batch, and of those with more than 5 tracks.

    Batches are drawn uniformly, as the paper does; the answer has one pair per batch size.
    """
    tracks = labelled(train_on)
    if not validation:
        tracks = tracks[split_identities(tracks, TrainSettings.validation, seed).train]
    _, labels = np.unique(tracks.identity, return_inverse=True)
    order = np.random.default_rng(seed).permutation(labels)
    found = {}
    for size in sizes:
        batches = np.array_split(order, max(1, round(len(order) / size)))
        counts = [np.unique(batch, return_counts=True)[1] for batch in batches]
        found[str(size)] = [
            float(np.mean([len(one) for one in counts])),
            float(np.mean([(one > 5).sum() for one in counts])),
        ]
    return {"batches": found}


def _held_out(
    train_on: tuple[Path, ...], validation: tuple[Path, ...], seed: int
) -> tuple[TrackSet, bool]:
    """Return the validation tracks of training, and whether each video is clustered apart."""
    if validation:
        tracks = labelled(validation)
        return tracks, better_apart(tracks)
    tracks = labelled(train_on)
    return tracks[split_identities(tracks, TrainSettings.validation, seed).validation], False


def columns_of(test: Test) -> Iterator[tuple[str, TrackSet]]:
    """Yield the columns of a test: each video, then the combined ones."""
    tracks = labelled(test.tracks, boxes=test.boxes)
    used = [i for i in range(len(tracks.videos)) if (tracks.video == i).any()][: test.most]
    for i in used:
        name = column_name(tracks.videos[i]) if len(used) > 1 else test.name
        yield name, tracks[tracks.video == i]
    for name, pattern in test.combined.items():
        chosen = [i for i in used if fnmatch.fnmatch(tracks.videos[i], pattern)]
        if not chosen:
            raise InputError(f"test {test.name!r}, combined {name}: no video matches {pattern}")
        yield name, tracks[np.isin(tracks.video, chosen)]


def column_name(video: str) -> str:
    """Return BBT S1E2 for ``bbt_s01e02``, as the paper prints it; other names unchanged."""
    series = series_of(video)
    if series is None:
        return video
    season, _, episode = video.removeprefix(f"{series}_s").partition("e")
    return f"{series.upper()} S{int(season)}E{int(episode)}"


def labelled(paths: tuple[Path, ...], boxes: bool = True) -> TrackSet:
    """Return the labelled tracks of files or folders."""
    tracks = read_tracks(*paths, boxes=boxes)
    return tracks[tracks.labelled]


def _model_of(method: Method, run: Path | None, test: Test) -> BallModel | None:
    """Return the method's model; None for the base features without neighbour averaging."""
    if run is not None:
        return load_model(run / MODEL)
    if method.model is not None:
        return load_model(method.model)
    if not method.rounds:
        return None
    # An untrained residual model only normalises its input.
    dim = labelled(test.validation).require_features().dim
    return BallModel(
        (dim, dim),
        residual=True,
        rounds=method.rounds,
        reach=method.reach,
        nearest=method.nearest,
        share=method.share,
    )


def _threshold(method: Method, model: BallModel | None, test: Test) -> float:
    """Return the method's own τ, or the τ that gives validation its true number (sec. 3.4)."""
    if method.own_threshold and model is not None:
        return model.threshold
    validation = labelled(test.validation)
    return choose_threshold(model, validation, by="count", apart=better_apart(validation))


def _known_k(
    linkage: Linkage, points: NDArray[np.float32], k: int, seed: int
) -> dict[str, NDArray[np.int64]]:
    return {"hac": linkage.cut_to(k), "kmeans": k_means(points, k, seed=seed)}


def _k_max(test: Test, column: str, n_characters: int) -> int:
    """Return the paper's K_max for its columns, 1.5 times the true number for others."""
    if test.paper and column in COLUMNS:
        return int(paper_values()["xmeans"]["k_max"][COLUMNS.index(column)])
    return max(10, round(1.5 * n_characters))


def _record(
    test: str, column: str, method: str, seed: int, how: str,
    truth: NDArray[np.int64], found: NDArray[np.int64],
) -> dict[str, Any]:  # fmt: skip
    scores = evaluate(truth, found)
    return Record(
        test, column, method, seed, how, scores.n_characters, scores.n_clusters, scores.nmi,
        scores.wcp,
    ).to_dict()  # fmt: skip


def _thinned(truth: NDArray[np.int64], linkage: Linkage, chosen: int) -> dict[str, Any]:
    """Return a curve up to three times the number of clusters of interest, thinned out."""
    whole = curve(truth, linkage.merges)
    last = min(len(truth), 3 * max(chosen, int(truth.max()) + 1) + 50)
    kept = np.unique(np.geomspace(1, last, _CURVE_POINTS).round().astype(int))
    at = len(truth) - np.union1d(kept, [chosen])[::-1]
    return {
        "n_clusters": whole.n_clusters[at].tolist(),
        "nmi": whole.nmi[at].round(5).tolist(),
        "wcp": whole.wcp[at].round(5).tolist(),
        "chosen": chosen,
    }


def _shown(
    test: str, column: str, method: str, tracks: TrackSet, labels: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the largest clusters as lists of track ids in random order."""
    rng = np.random.default_rng(0)
    sizes = np.bincount(labels)
    clusters = []
    for cluster in np.argsort(-sizes, kind="stable")[:_GALLERY_CLUSTERS]:
        clusters.append(tracks.ids[rng.permutation(np.flatnonzero(labels == cluster))].tolist())
    return {
        "test": test, "column": column, "method": method, "video": tracks.videos[tracks.video[0]],
        "clusters": clusters,
    }  # fmt: skip


def time_losses(
    train_on: tuple[Path, ...],
    validation: tuple[Path, ...],
    methods: Sequence[tuple[str, TrainSettings]],
) -> dict[str, Any]:
    """Return the seconds per epoch of each loss: the fastest of several epochs, in turns."""
    from castlist.research.training.trainer import Trainer

    tracks = labelled(train_on)
    held = labelled(validation) if validation else tracks
    held = held[:: max(1, len(held) // 200)]  # few tracks, many people: validation is not timed
    trainers = {name: Trainer(tracks, held, settings) for name, settings in methods}
    seconds = dict.fromkeys(trainers, float("inf"))
    for number in range(_TIMED_ROUNDS):
        for name, trainer in trainers.items():
            took = trainer.epoch(number)["train_seconds"]
            seconds[name] = min(seconds[name], took)
    return {"seconds": seconds}
