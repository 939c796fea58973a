"""Training a BallModel (paper, sec. 4)."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import cluster_tracks
from castlist.errors import CastlistError, CollapseWarning, InputError
from castlist.learn.batches import split_identities, uniform_batches
from castlist.learn.losses.ball import BallLoss
from castlist.learn.model import BallModel
from castlist.learn.run import Run
from castlist.learn.settings import TrainSettings
from castlist.learn.threshold import choose_threshold
from castlist.progress import Progress, silent
from castlist.score.metrics import evaluate, nmi, wcp
from castlist.tracks import TrackSet

#: Epochs after which a typical sample inside a foreign ball is no longer just a slow start.
_COLLAPSE_PATIENCE = 10


@dataclass(frozen=True)
class TrainResult:
    """The model of the best validation epoch, and one record an epoch."""

    model: BallModel
    history: list[dict[str, Any]] = field(repr=False)


def train(
    tracks: TrackSet,
    settings: TrainSettings | None = None,
    *,
    validation: TrackSet | None = None,
    exclude: Collection[str] = (),
    run: str | Path | None = None,
    restart: bool = False,
    progress: Progress = silent,
) -> TrainResult:
    """Train a BallModel on labelled tracks and keep its best epoch.

    After each epoch the validation tracks are clustered at 4b; the epoch of the highest NMI is
    kept. The same settings, data and machine give the same model.

    Parameters
    ----------
    tracks : TrackSet
        Labelled tracks with features.
    settings : TrainSettings, optional
        The paper's by default.
    validation : TrackSet, optional
        Tracks to validate on; without it, ``settings.validation`` of the identities is reserved.
    exclude : collection of str
        Identities to leave out, such as those of a test set.
    run : path, optional
        A folder for ``model.safetensors``, ``log.jsonl`` and the state after the last epoch. A
        run that was cut off goes on from there.
    restart : bool
        Forget what the folder holds.
    progress : callable
        Told after every epoch.
    """
    settings = settings or TrainSettings()
    if validation is None:
        split = split_identities(tracks, settings.validation, settings.seed, exclude)
        tracks, validation = tracks[split.train], tracks[split.validation]
    else:
        tracks, validation = (
            one[one.labelled & ~np.isin(one.identity, sorted(exclude))]
            for one in (tracks, validation)
        )
        _require_disjoint(tracks, validation)
    trainer = _Trainer(tracks, validation, settings)
    folder = Run.open(Path(run), trainer.fingerprint(), restart) if run is not None else None
    history: list[dict[str, Any]] = []
    best: dict[str, torch.Tensor] = {}
    if folder is not None and (saved := folder.load()) is not None:
        history, best = saved.history, saved.best
        trainer.restore(saved.model, saved.momentum)
    warned = any(record["collapsed"] for record in history)
    progress("training", len(history), settings.epochs)
    while len(history) < settings.epochs:
        record = trainer.epoch(len(history))
        if record["nmi"] > max((past["nmi"] for past in history), default=-1.0):
            best = trainer.snapshot()
        history.append(record)
        if record["collapsed"] and not warned:
            warned = True
            warnings.warn(
                f"epoch {record['epoch']}: embeddings are collapsing to one point (squared "
                f"distance to other people's centroids {record['nearest_other']:.4f}, "
                f"b = {record['b']:.4f}); try a smaller rate or a later freeze_b",
                CollapseWarning,
                stacklevel=2,
            )
        if folder is not None:
            folder.save(history, trainer.snapshot(), trainer.momentum(), best)
        progress("training", len(history), settings.epochs)
    model = trainer.model
    model.load_state_dict(best)
    model.settings = settings.to_dict()
    model.validation = dict(max(history, key=lambda record: record["nmi"]))
    model.eval()
    if settings.operating:
        model.operating = choose_threshold(model, validation)
        scores = evaluate(trainer.truth, cluster_tracks(validation, model).labels)
        model.validation |= {
            "operating": model.operating, "operating_clusters": scores.n_clusters,
            "operating_nmi": scores.nmi, "operating_wcp": scores.wcp,
        }  # fmt: skip
    if folder is not None:
        folder.finish(model)
    return TrainResult(model, history)


class _Trainer:
    """The model, its optimiser and the data, one epoch at a time."""

    def __init__(self, tracks: TrackSet, validation: TrackSet, settings: TrainSettings) -> None:
        tracks = tracks.described()
        self.tracks = tracks
        self.settings = settings
        features = tracks.require_features()
        if len(np.unique(tracks.identity)) < 2 or not len(validation):
            raise InputError(
                "labelled tracks of two people at least are needed to train on, and of one to "
                "validate on; are the tracks labelled, and not all of them excluded?"
            )
        if tracks.describer and validation.describer not in ("", tracks.describer):
            raise InputError(
                f"training features are of {tracks.describer}, validation's of "
                f"{validation.describer}"
            )
        if validation.require_features().dim != features.dim:
            raise InputError("training and validation features have different dimensions")
        self.labels = np.unique(tracks.identity, return_inverse=True)[1]
        self.truth = np.unique(validation.identity, return_inverse=True)[1]
        self.validation_means = validation.mean_features()
        # Weights start from the seed alone, without touching the caller's random numbers.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.model = BallModel(
                (
                    features.dim,
                    *settings.hidden,
                    features.dim if settings.residual else settings.embedding,
                ),
                normalise=settings.normalise,
                residual=settings.residual,
                b_hat=settings.b_hat,
                describer=tracks.describer,
            )
        if settings.standardise:
            self.model.standardise_by(*features.mean_and_scale())
        self.loss = BallLoss(settings.alpha, settings.epsilon, settings.normalise)
        self.optimiser = torch.optim.SGD(
            [
                {"params": list(self.model.linears.parameters())},
                {"params": [self.model.b_hat]},
            ],
            lr=settings.rate,
            momentum=settings.momentum,
        )

    def epoch(self, number: int) -> dict[str, Any]:
        """Train for one epoch, then validate; the record of it."""
        began = time.perf_counter()
        settings, model = self.settings, self.model
        rate = settings.rate * settings.decay ** (number // settings.decay_every)
        weights, radius = self.optimiser.param_groups
        weights["lr"], radius["lr"] = rate, rate * settings.rate_b
        model.b_hat.requires_grad_(number >= settings.freeze_b)
        rng = np.random.default_rng([settings.seed, number])
        sums: dict[str, float] = {}
        batches = 0
        model.train()
        for features, labels in uniform_batches(self.tracks, self.labels, settings.batch, rng):
            terms = self.loss(model(torch.from_numpy(features)), torch.from_numpy(labels), model.b)
            self.optimiser.zero_grad(set_to_none=True)
            terms.total.backward()
            self.optimiser.step()
            batches += 1
            for name, value in terms._asdict().items():
                sums[name] = sums.get(name, 0.0) + value.item()
        means = {name: value / batches for name, value in sums.items()}
        if not np.isfinite(means["total"]):
            raise CastlistError(f"epoch {number}: the loss is {means['total']}; try a smaller rate")
        trained = time.perf_counter()
        model.eval()
        labels = complete_linkage(model.embed(self.validation_means), model.threshold).labels
        b = model.b.item()
        late = number >= settings.freeze_b + _COLLAPSE_PATIENCE
        return {
            "epoch": number,
            "loss": means["total"],
            "similar": means["similar"],
            "dissimilar": means["dissimilar"],
            "nearest_other": means["nearest_other"],
            "rate": rate,
            "b": b,
            "n_characters": int(self.truth.max()) + 1,
            "n_clusters": int(labels.max()) + 1,
            "nmi": nmi(self.truth, labels),
            "wcp": wcp(self.truth, labels),
            # Samples should be 9b from other people's centroids; inside b they share a ball.
            "collapsed": bool(late and means["nearest_other"] < b),
            "train_seconds": round(trained - began, 3),
            "validate_seconds": round(time.perf_counter() - trained, 3),
        }

    def snapshot(self) -> dict[str, torch.Tensor]:
        """Copy the model's tensors."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def momentum(self) -> dict[str, torch.Tensor]:
        """Return the optimiser's memory by parameter name."""
        state = self.optimiser.state
        return {
            name: state[p]["momentum_buffer"]
            for name, p in self.model.named_parameters()
            if state[p].get("momentum_buffer") is not None
        }

    def restore(self, model: dict[str, torch.Tensor], momentum: dict[str, torch.Tensor]) -> None:
        """Go back to a saved epoch."""
        self.model.load_state_dict(model)
        for name, parameter in self.model.named_parameters():
            if name in momentum:
                self.optimiser.state[parameter]["momentum_buffer"] = momentum[name]

    def fingerprint(self) -> dict[str, Any]:
        """Say what a run depends on, so that another one is not taken for it."""
        digest = hashlib.sha256()
        for part in (self.labels, self.truth, self.tracks.offsets, self.validation_means):
            digest.update(np.ascontiguousarray(part).data)
        digest.update(self.model.mean.numpy().data)
        return {"settings": self.settings.to_dict(), "data": digest.hexdigest()}


def _require_disjoint(tracks: TrackSet, validation: TrackSet) -> None:
    common = np.intersect1d(tracks.identity, validation.identity)
    if len(common):
        raise InputError(
            f"{len(common)} identities are in both training and validation, such as "
            f"{str(common[0])!r}; exclude them from one"
        )
