"""The losses by name."""

from __future__ import annotations

from collections.abc import Callable

from castlist.learn.losses.ball import BallLoss
from castlist.learn.losses.base import Loss
from castlist.learn.losses.contrastive import ContrastiveLoss
from castlist.learn.losses.cross_entropy import CrossEntropyLoss
from castlist.learn.losses.ldml import LDMLLoss
from castlist.learn.losses.prototypical import PrototypicalLoss
from castlist.learn.losses.triplet import TripletLoss
from castlist.learn.train_settings import TrainSettings

#: How each loss is made from the settings, the number of training people and an embedding's length.
LOSSES: dict[str, Callable[[TrainSettings, int, int], Loss]] = {
    "ball": lambda s, _, __: BallLoss(s.alpha, s.epsilon, s.on_sphere, s.company),
    "cross-entropy": lambda _, people, dim: CrossEntropyLoss(people, dim),
    "ldml": lambda *_: LDMLLoss(),
    "contrastive": lambda *_: ContrastiveLoss(),
    "triplet": lambda *_: TripletLoss(),
    "prototypical": lambda s, *_: PrototypicalLoss(False, s.epsilon, s.on_sphere),
    "prototypical-ball": lambda s, *_: PrototypicalLoss(True, s.epsilon, s.on_sphere),
}


def make_loss(settings: TrainSettings, n_identities: int, dim: int) -> Loss:
    """Make the loss that the settings name, for so many people and such embeddings."""
    return LOSSES[settings.loss](settings, n_identities, dim)
