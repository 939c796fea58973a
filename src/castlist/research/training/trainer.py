"""Train one epoch at a time, in PyTorch (paper, sec. 4)."""

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
from castlist.model.ball_model import BallModel
from castlist.model.model_file import Tensors
from castlist.model.neighbours import cosines_of_strangers
from castlist.research.training.batches import cast_batches, draw_faces, uniform_batches
from castlist.research.training.losses.ball import BallLoss
from castlist.research.training.losses.registry import make_loss
from castlist.research.training.network import BallNetwork
from castlist.research.training.train_settings import TrainSettings
from castlist.research.training.validation import Truth
from castlist.tracks import TrackSet

#: Features and labels of each video of a batch, real or synthetic.
Batch = list[tuple[NDArray[np.float32], NDArray[np.int64]]]
#: Number of epochs after ``freeze_b`` before collapse is reported: until then it may be a slow
#: start.
_COLLAPSE_PATIENCE = 10


class Trainer:
    """The network, loss, optimiser and data of a training run.

    Parameters
    ----------
    tracks, validation : TrackSet
        Labelled tracks. The two have no identity in common.
    settings : TrainSettings
        Training settings.
    apart : bool
        Whether each video of the validation tracks is clustered separately.
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
                "training requires labelled tracks of at least two people, and validation of at "
                "least one; check that the tracks are labelled and not all excluded"
            )
        if tracks.describer and validation.describer not in ("", tracks.describer):
            raise InputError(
                f"training features are of {tracks.describer}, validation features of "
                f"{validation.describer}; use one describer for both"
            )
        if validation.require_features().dim != features.dim:
            raise InputError("training and validation features have different dimensions")
        self.truth = Truth.of(validation, apart)
        if settings.loss != "ball" or settings.operating:
            self.truth.require_two_people()
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
            share=settings.share,
            false_rate=settings.false_rate,
            b_hat=settings.b_hat,
            describer=tracks.describer,
        )
        if settings.standardise:
            start.standardise_by(*features.mean_and_scale())
        start.settings = settings.to_dict()
        self.network = BallNetwork(start)
        # Initial weights depend on the seed only; the caller's random state is not changed.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.network.draw()
            self.loss = make_loss(settings, len(people), length)
        # People in new videos are unknown to the MLP; so b is trained on people unknown to it.
        order = np.random.default_rng([settings.seed, 2]).permutation(len(people))
        held_out = np.isin(self.labels, order[: round(settings.b_holdout * len(people))])
        self._held_out = np.flatnonzero(held_out)
        self._seen, self._seen_labels = tracks[~held_out], self.labels[~held_out]
        fewest = min(len(np.unique(self.labels[part])) for part in (held_out, ~held_out))
        if settings.b_holdout and fewest < 2:
            raise InputError(
                f"b_holdout: {settings.b_holdout} of {len(people)} people leaves too few; both b "
                "and the MLP need at least two"
            )
        self._radius_loss = BallLoss(
            settings.alpha_b, settings.epsilon, settings.on_sphere, settings.skip_singletons
        )
        self._all = nn.ModuleDict({"model": self.network, "loss": self.loss})
        self._slow = [self.network.b_hat, *self.loss.scalars()]
        groups: list[dict[str, Any]] = [
            {
                "params": list(self.network.linears.parameters()),
                "weight_decay": settings.weight_decay,
            },
            {"params": self.loss.weights()},
            {"params": self._slow},
        ]
        self.optimiser = torch.optim.SGD(groups, lr=settings.rate, momentum=settings.momentum)
        self._measure_strangers()

    def epoch(self, number: int) -> dict[str, Any]:
        """Train for one epoch, validate if this epoch is due, and return the log record."""
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
            # Samples should be 9b away from the centroids of others; within b they share a ball.
            "collapsed": bool(self.settings.loss == "ball" and late and means["nearest_other"] < b),
            "train_seconds": round(trained - began, 3),
            "validate_seconds": round(time.perf_counter() - trained, 3),
        }

    def _train(self, number: int, rate: float) -> dict[str, float]:
        """Train on all tracks once, and return the mean loss and its parts."""
        settings, network = self.settings, self.network
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.param_groups[-1]["lr"] = rate * settings.rate_b
        for value in self._slow:
            value.requires_grad_(number >= settings.freeze_b)
        # The draws of an epoch depend on its number only, so that a run can be resumed.
        rng = np.random.default_rng([settings.seed, number])
        seed = np.random.SeedSequence([settings.seed, number, 1]).generate_state(1, np.uint64)[0]
        self.loss.generator = torch.Generator().manual_seed(int(seed) >> 1)
        sums: dict[str, float] = {}
        batches = 0
        self._all.train()
        held_out = self._batches(
            self.tracks[self._held_out], self.labels[self._held_out], rng, endless=True
        )
        for batch in self._batches(self._seen, self._seen_labels, rng):
            self.optimiser.zero_grad(set_to_none=True)
            for features, labels in batch:
                b = network.b.detach() if len(self._held_out) else network.b
                terms = self.loss(network(torch.from_numpy(features)), torch.from_numpy(labels), b)
                (terms.total / len(batch)).backward()
                for name, value in {"loss": terms.total, **terms.parts}.items():
                    sums[name] = sums.get(name, 0.0) + value.item() / len(batch)
            if len(self._held_out) and network.b_hat.requires_grad:
                self._loss_of_b(next(held_out)).backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            batches += 1
        self._measure_strangers()
        means = {name: value / batches for name, value in sums.items()}
        if not np.isfinite(means["loss"]):
            raise CastlistError(f"epoch {number}: the loss is {means['loss']}; try a smaller rate")
        return means

    def _measure_strangers(self) -> None:
        """Set the cosines of different people, of those who do not train the MLP if there are."""
        if not self.settings.false_rate:
            return
        rows = self._held_out if len(self._held_out) else np.arange(len(self.tracks))
        points = self.network.to_model().embed_alone(self.tracks[rows].mean_features())
        found = cosines_of_strangers(points, self.labels[rows], self.settings.seed)
        self.network.strangers.copy_(torch.from_numpy(found))

    def _batches(
        self, tracks: TrackSet, labels: NDArray[np.int64], rng: np.random.Generator, *,
        endless: bool = False,
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield uniform batches, or batches of synthetic casts: once, or endlessly."""
        settings, half = self.settings, self.settings.average_half
        while True:
            if settings.cast_size:
                for casts in cast_batches(labels, settings.cast_size, rng):
                    yield [draw_faces(tracks, labels, rows, rng, half) for rows in casts]
            else:
                for one in uniform_batches(tracks, labels, settings.batch, rng, half):
                    yield [one]
            if not endless:
                return

    def _loss_of_b(self, batch: Batch) -> torch.Tensor:
        """Return the ball loss of held-out people, with a gradient for b only."""
        total = torch.zeros(())
        for features, labels in batch:
            with torch.no_grad():
                embeddings = self.network(torch.from_numpy(features))
            terms = self._radius_loss(embeddings, torch.from_numpy(labels), self.network.b)
            total = total + terms.total / len(batch)
        return total

    def _validate(self, number: int) -> dict[str, Any]:
        """Cluster and score the validation tracks: at 4b, or at their true number without a b."""
        done = number + 1
        if done % self.settings.validate_every and done < self.settings.epochs:
            return {"n_clusters": None, "nmi": None, "wcp": None}
        model = self.network.to_model()
        points = self.embed_validation(model)
        if self.settings.loss == "ball":
            return self.truth.cluster(points, model.threshold).scores(model.threshold)
        return self.truth.cluster(points).scores_at_counts()

    def embed_validation(self, model: BallModel) -> NDArray[np.float32]:
        """Return the embeddings of the validation tracks."""
        return model.embed(self.validation_means, self.validation_video)

    def model(self, best: Tensors) -> BallModel:
        """Return the model with the tensors of a snapshot."""
        model = self.network.to_model()
        model.set_tensors(best)
        return model

    def snapshot(self) -> Tensors:
        """Return a copy of the network's tensors."""
        return _copy(self.network)

    def state(self) -> Tensors:
        """Return a copy of the tensors of network and loss."""
        return _copy(self._all)

    def momentum(self) -> Tensors:
        """Return a copy of the optimiser's momentum, by parameter name."""
        memory = self.optimiser.state
        return {
            name: memory[p]["momentum_buffer"].numpy().copy()
            for name, p in self._all.named_parameters()
            if memory[p].get("momentum_buffer") is not None
        }

    def restore(self, state: Tensors, momentum: Tensors) -> None:
        """Set network, loss and optimiser to a saved epoch."""
        try:
            self._all.load_state_dict({name: torch.tensor(one) for name, one in state.items()})
        except RuntimeError as error:
            raise InputError(
                f"the saved state does not fit this run ({first_line(error)}); restart the run"
            ) from error
        for name, parameter in self._all.named_parameters():
            if name in momentum and momentum[name].shape == parameter.shape:
                self.optimiser.state[parameter]["momentum_buffer"] = torch.tensor(momentum[name])

    def fingerprint(self) -> dict[str, Any]:
        """Return all that the run depends on: its settings and a digest of its data."""
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
