"""Train a BallModel on labelled tracks (paper, sec. 4)."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from castlist.errors import CollapseWarning, InputError
from castlist.extras import require
from castlist.io.lock import locked
from castlist.io.output_guard import check_for_run
from castlist.model.ball_model import BallModel
from castlist.model.model_file import Tensors
from castlist.progress import Progress, silent
from castlist.research.training.batches import split_identities
from castlist.research.training.run_folder import Run
from castlist.research.training.train_settings import DEFAULT_RECIPE, TrainSettings, resolve_recipe
from castlist.research.training.validation import better_apart, choose_threshold
from castlist.tracks import TrackSet

if TYPE_CHECKING:
    from castlist.research.training.trainer import Trainer

#: Maximum number of training tracks for ``train_threshold``, which shows why τ is chosen on
#: validation tracks (supplement C), and of those of one identity.
_THRESHOLD_TRACKS, _TRACKS_PER_IDENTITY = 3000, 1500


@dataclass(frozen=True)
class TrainResult:
    """The model of the best validation epoch, and the log: one record per epoch."""

    model: BallModel
    history: list[dict[str, Any]] = field(repr=False)


def train(
    tracks: TrackSet,
    recipe: str | TrainSettings = DEFAULT_RECIPE,
    *,
    validation: TrackSet | None = None,
    exclude: Collection[str] = (),
    run: str | Path | None = None,
    restart: bool = False,
    progress: Progress = silent,
) -> TrainResult:
    """Train a model on labelled tracks and return its best epoch.

    After each epoch the validation tracks are clustered at 4b. The epoch of the highest NMI is
    kept. Losses other than ``ball`` have no radius: the tracks are clustered to their true number,
    and the τ that gives this number becomes the model's (sec. 3.4). The same settings and data on
    the same machine give the same model.

    Parameters
    ----------
    tracks : TrackSet
        Labelled tracks with features.
    recipe : str or TrainSettings
        Name of a recipe in ``castlist.research.RECIPES``, or settings. ``"neighbours"`` is ours and
        the default, as on the command line; ``"paper"`` is the paper's. To change some settings of
        a recipe, pass ``dataclasses.replace(RECIPES["neighbours"], epochs=3)``.
    validation : TrackSet, optional
        Tracks to validate on. Several videos are clustered separately, and NMI is the mean over
        them. If not given, a share of the identities is reserved (``TrainSettings.validation``)
        and their tracks are clustered together, as in the paper.
    exclude : collection of str
        Identities to leave out, such as those of a test set.
    run : path, optional
        A folder for ``model.safetensors``, ``log.jsonl`` and the state after the last epoch. An
        interrupted run resumes from that state.
    restart : bool
        Delete an earlier run in the folder and start again.
    progress : callable
        Called with the stage, the number of epochs done and the total.
    """
    require("torch", "training")
    from castlist.research.training.trainer import Trainer

    settings = resolve_recipe(recipe)
    if run is not None:
        check_for_run(Path(run), "a training run")
    apart = False
    if validation is None:
        split = split_identities(tracks, settings.validation, settings.seed, exclude)
        tracks, validation = tracks[split.train], tracks[split.validation]
    else:
        tracks, validation = (
            one[one.labelled & ~np.isin(one.identity, sorted(exclude))]
            for one in (tracks, validation)
        )
        _require_disjoint(tracks, validation)
        apart = better_apart(validation)
    trainer = Trainer(tracks, validation, settings, apart)
    if run is None:
        return _learn(trainer, tracks, None, progress)
    with locked(Path(run)):
        folder = Run.open(Path(run), trainer.fingerprint(), restart)
        return _learn(trainer, tracks, folder, progress)


def _learn(
    trainer: Trainer, tracks: TrackSet, folder: Run | None, progress: Progress
) -> TrainResult:
    """Train all epochs that an earlier run has not done, and return the best one."""
    settings = trainer.settings
    history: list[dict[str, Any]] = []
    best: Tensors = {}
    if folder is not None and (saved := folder.load()) is not None:
        history, best = saved.history, saved.best
        trainer.restore(saved.state, saved.momentum)
    warned = any(record["collapsed"] for record in history)
    progress("training", len(history), settings.epochs)
    while len(history) < settings.epochs:
        history.append(record := trainer.epoch(len(history)))
        if record is _best(history):
            best = trainer.snapshot()
        if record["collapsed"] and not warned:
            warned = True
            warnings.warn(
                f"epoch {record['epoch']}: embeddings are collapsing to one point (squared "
                f"distance to other people's centroids {record['nearest_other']:.4f}, "
                f"b = {record['b']:.4f}); try a smaller rate, a larger freeze_b, or another recipe",
                CollapseWarning,
                stacklevel=3,
            )
        if folder is not None:
            folder.save(history, trainer.state(), trainer.momentum(), best)
        progress("training", len(history), settings.epochs)
    model = trainer.model(best)
    model.validation = dict(_best(history) or {})
    if settings.operating or settings.loss != "ball":
        _choose_operating(model, trainer, tracks)
    if folder is not None:
        folder.finish(history, model)
    return TrainResult(model, history)


def _best(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the first record of the highest NMI; None before the first validation."""
    validated = [record for record in history if record["nmi"] is not None]
    return max(validated, key=lambda record: record["nmi"], default=None)


def _choose_operating(model: BallModel, trainer: Trainer, tracks: TrackSet) -> None:
    """Choose the model's τ on the validation tracks, and record its scores."""
    ball = trainer.settings.loss == "ball"
    clustered = trainer.truth.cluster(trainer.embed_validation(model))
    model.operating = clustered.threshold_of_nmi() if ball else clustered.threshold_of_count()
    scores = clustered.scores(model.operating)
    model.validation |= {
        "operating": model.operating, "operating_clusters": scores["n_clusters"],
        "operating_nmi": scores["nmi"], "operating_wcp": scores["wcp"],
    }  # fmt: skip
    if not ball:
        some = tracks[_draw_identities(tracks.identity, trainer.settings.seed)]
        apart = len(trainer.truth.rows) > 1 and better_apart(some)
        model.validation["train_threshold"] = (
            choose_threshold(model, some, by="count", apart=apart)
            if apart or len(np.unique(some.identity)) > 1
            else None
        )


def _draw_identities(identity: NDArray[np.str_], seed: int) -> NDArray[np.int64]:
    """Return the tracks of identities in random order, as many as a threshold is chosen on.

    A slice in file order would be an alphabetical slice of people.
    """
    rng = np.random.default_rng(seed)
    _, code = np.unique(identity, return_inverse=True)
    rank = rng.permutation(int(code.max()) + 1)[code]
    order = rng.permutation(len(code))
    order = order[np.argsort(rank[order], kind="stable")]
    # Number of each track among those of its identity, from 0.
    nth = np.arange(len(order)) - np.searchsorted(rank[order], rank[order])
    return np.sort(order[nth < _TRACKS_PER_IDENTITY][:_THRESHOLD_TRACKS])


def _require_disjoint(tracks: TrackSet, validation: TrackSet) -> None:
    common = np.intersect1d(tracks.identity, validation.identity)
    if len(common):
        raise InputError(
            f"{len(common)} identities are in both training and validation, such as "
            f"{str(common[0])!r}; remove them from one of the two"
        )
