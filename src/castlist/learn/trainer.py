"""One epoch of training at a time (paper, sec. 4)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from castlist.errors import CastlistError, InputError, first_line
from castlist.learn.batches import cast_batches, draw_faces, uniform_batches
from castlist.learn.losses.ball import BallLoss
from castlist.learn.losses.registry import make_loss
from castlist.learn.model import BallModel
from castlist.learn.model_file import Tensors
from castlist.learn.network import BallNetwork
from castlist.learn.train_settings import TrainSettings
from castlist.learn.validation import Truth
from castlist.tracks import TrackSet

#: Features and labels of one video after another, real or made.
Batch = list[tuple[NDArray[np.float32], NDArray[np.int64]]]
#: Epochs after which a typical sample inside a foreign ball is no longer just a slow start.
_COLLAPSE_PATIENCE = 10


class Trainer:
    """The network, the loss, the optimiser and the data.

    Parameters
    ----------
    tracks, validation : TrackSet
        Labelled tracks, of other people in one than in the other.
    settings : TrainSettings
        How it is done.
    apart : bool
        Cluster each video of the validation tracks apart.
    """

    def __init__(
        self, tracks: TrackSet, validation: TrackSet, settings: TrainSettings, apart: bool = False
    ) -> None:
        tracks = tracks.described()
        self.tracks = tracks
        self.settings = settings
        features = tracks.require_features()
        people, self.labels = np.unique(tracks.identity, return_inverse=True)
        if len(people) < 2 or not len(validation):
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
        self.truth = Truth.of(validation, apart)
        if settings.loss != "ball" or settings.operating:
            self.truth.require_two()
        self.validation_means = validation.mean_features()
        self.validation_video = validation.video
        length = features.dim if settings.residual else settings.embedding
        start = BallModel(
            (features.dim, *settings.hidden, length),
            normalise=settings.on_sphere,
            residual=settings.residual,
            rounds=settings.rounds,
            reach=settings.reach,
            nearest=settings.nearest,
            b_hat=settings.b_hat,
            describer=tracks.describer,
        )
        if settings.standardise:
            start.standardise_by(*features.mean_and_scale())
        start.settings = settings.to_dict()
        self.network = BallNetwork(start)
        # Weights start from the seed alone, without touching the caller's random numbers.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.network.draw()
            self.loss = make_loss(settings, len(people), length)
        # Those who train b are never seen by the MLP, as those it is for will not have been.
        order = np.random.default_rng([settings.seed, 2]).permutation(len(people))
        held = np.isin(self.labels, order[: round(settings.held * len(people))])
        self._held = np.flatnonzero(held)
        self._seen, self._seen_labels = tracks[~held], self.labels[~held]
        fewest = min(len(np.unique(self.labels[part])) for part in (held, ~held))
        if settings.held and fewest < 2:
            raise InputError(f"held: {settings.held} of {len(people)} people are too few for b")
        self._ball_of_held = BallLoss(
            settings.alpha_b, settings.epsilon, settings.on_sphere, settings.company
        )
        self._all = nn.ModuleDict({"model": self.network, "loss": self.loss})
        self._slow = [self.network.b_hat, *self.loss.values()]
        groups: list[dict[str, Any]] = [
            {
                "params": list(self.network.linears.parameters()),
                "weight_decay": settings.weight_decay,
            },
            {"params": self.loss.weights()},
            {"params": self._slow},
        ]
        self.optimiser = torch.optim.SGD(groups, lr=settings.rate, momentum=settings.momentum)

    def epoch(self, number: int) -> dict[str, Any]:
        """Train for one epoch, then validate if it is time to; the record of it."""
        began = time.perf_counter()
        rate = self.settings.rate * self.settings.decay ** (number // self.settings.decay_every)
        means = self._train(number, rate)
        trained = time.perf_counter()
        b = self.network.b.item()
        validated = self._validate(number)
        late = number >= self.settings.freeze_b + _COLLAPSE_PATIENCE
        return {
            "epoch": number,
            **means,
            "rate": rate,
            "b": b,
            "n_characters": self.truth.n_characters,
            **validated,
            # Samples should be 9b from other people's centroids; inside b they share a ball.
            "collapsed": bool(self.settings.loss == "ball" and late and means["nearest_other"] < b),
            "train_seconds": round(trained - began, 3),
            "validate_seconds": round(time.perf_counter() - trained, 3),
        }

    def _train(self, number: int, rate: float) -> dict[str, float]:
        """Go through all tracks once; the mean loss and its parts."""
        settings, network = self.settings, self.network
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.param_groups[-1]["lr"] = rate * settings.rate_b
        for value in self._slow:
            value.requires_grad_(number >= settings.freeze_b)
        # An epoch's draws depend on nothing before it, so that a killed run can go on.
        rng = np.random.default_rng([settings.seed, number])
        seed = np.random.SeedSequence([settings.seed, number, 1]).generate_state(1, np.uint64)[0]
        self.loss.generator = torch.Generator().manual_seed(int(seed) >> 1)
        sums: dict[str, float] = {}
        batches = 0
        self._all.train()
        held = self._batches(self.tracks[self._held], self.labels[self._held], rng, endless=True)
        for batch in self._batches(self._seen, self._seen_labels, rng):
            b = network.b.detach() if len(self._held) else network.b
            self.optimiser.zero_grad(set_to_none=True)
            for features, labels in batch:
                terms = self.loss(network(torch.from_numpy(features)), torch.from_numpy(labels), b)
                (terms.total / len(batch)).backward()
                for name, value in {"loss": terms.total, **terms.parts}.items():
                    sums[name] = sums.get(name, 0.0) + value.item() / len(batch)
            if len(self._held) and network.b_hat.requires_grad:
                self._radius_loss(next(held)).backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            batches += 1
        means = {name: value / batches for name, value in sums.items()}
        if not np.isfinite(means["loss"]):
            raise CastlistError(f"epoch {number}: the loss is {means['loss']}; try a smaller rate")
        return means

    def _batches(
        self, tracks: TrackSet, labels: NDArray[np.int64], rng: np.random.Generator, *,
        endless: bool = False,
    ) -> Iterator[Batch]:  # fmt: skip
        """Go through tracks once, or for ever: in uniform batches, or in batches of made casts."""
        settings = self.settings
        while True:
            if settings.people:
                for casts in cast_batches(labels, settings.people, rng):
                    yield [draw_faces(tracks, labels, rows, rng, settings.half) for rows in casts]
            else:
                for one in uniform_batches(tracks, labels, settings.batch, rng, settings.half):
                    yield [one]
            if not endless:
                return

    def _radius_loss(self, batch: Batch) -> torch.Tensor:
        """Compute the ball loss of people whom the MLP does not learn from: only b does."""
        total = torch.zeros(())
        for features, labels in batch:
            with torch.no_grad():
                embeddings = self.network(torch.from_numpy(features))
            terms = self._ball_of_held(embeddings, torch.from_numpy(labels), self.network.b)
            total = total + terms.total / len(batch)
        return total

    def _validate(self, number: int) -> dict[str, Any]:
        """Cluster the validation tracks: at 4b, or at their true number where there is no b."""
        done = number + 1
        if done % self.settings.validate_every and done < self.settings.epochs:
            return {"n_clusters": None, "nmi": None, "wcp": None}
        model = self.network.to_model()
        points = self.embed_validation(model)
        if self.settings.loss == "ball":
            return self.truth.link(points, model.threshold).scores(model.threshold)
        return self.truth.link(points).scores_at_counts()

    def embed_validation(self, model: BallModel) -> NDArray[np.float32]:
        """Return the validation tracks' embeddings."""
        return model.embed(self.validation_means, self.validation_video)

    def model(self, best: Tensors) -> BallModel:
        """Return the model that a snapshot is of."""
        model = self.network.to_model()
        model.set_tensors(best)
        return model

    def snapshot(self) -> Tensors:
        """Copy the network's tensors."""
        return _copy(self.network)

    def state(self) -> Tensors:
        """Copy the tensors of the network and of the loss."""
        return _copy(self._all)

    def momentum(self) -> Tensors:
        """Copy the optimiser's memory, by parameter name."""
        memory = self.optimiser.state
        return {
            name: memory[p]["momentum_buffer"].numpy().copy()
            for name, p in self._all.named_parameters()
            if memory[p].get("momentum_buffer") is not None
        }

    def restore(self, state: Tensors, momentum: Tensors) -> None:
        """Go back to a saved epoch."""
        try:
            self._all.load_state_dict({name: torch.tensor(one) for name, one in state.items()})
        except RuntimeError as error:
            raise InputError(f"not the state of this run ({first_line(error)})") from error
        for name, parameter in self._all.named_parameters():
            if name in momentum and momentum[name].shape == parameter.shape:
                self.optimiser.state[parameter]["momentum_buffer"] = torch.tensor(momentum[name])

    def fingerprint(self) -> dict[str, Any]:
        """Say what a run depends on, so that another one is not taken for it."""
        digest = hashlib.sha256()
        truth = (*self.truth.rows, *self.truth.identities)
        for part in (self.labels, *truth, self.tracks.offsets, self.validation_means):
            digest.update(np.ascontiguousarray(part).data)
        for part in self.tracks.require_features().mean_and_scale():
            digest.update(part.data)
        digest.update(self.tracks.describer.encode())
        return {"settings": self.settings.to_dict(), "data": digest.hexdigest()}


def _copy(module: nn.Module) -> Tensors:
    return {name: value.numpy().copy() for name, value in module.state_dict().items()}
