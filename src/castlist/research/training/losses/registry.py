"""The losses by name.

To add one, write its class, then list it here and in ``LOSS_NAMES`` of ``train_settings.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from castlist.research.training.losses.ball import BallLoss
from castlist.research.training.losses.base import Loss
from castlist.research.training.losses.contrastive import ContrastiveLoss
from castlist.research.training.losses.cross_entropy import CrossEntropyLoss
from castlist.research.training.losses.ldml import LDMLLoss
from castlist.research.training.losses.prototypical import PrototypicalLoss
from castlist.research.training.losses.triplet import TripletLoss
from castlist.research.training.train_settings import TrainSettings

#: By name: a function of the settings, the number of training identities and the length of an
#: embedding that returns the loss.
LOSSES: dict[str, Callable[[TrainSettings, int, int], Loss]] = {
    "ball": lambda s, _, __: BallLoss(s.alpha, s.epsilon, s.on_sphere, s.skip_singletons),
    "cross-entropy": lambda _, n_identities, dim: CrossEntropyLoss(n_identities, dim),
    "ldml": lambda *_: LDMLLoss(),
    "contrastive": lambda *_: ContrastiveLoss(),
    "triplet": lambda *_: TripletLoss(),
    "prototypical": lambda s, *_: PrototypicalLoss(False, s.epsilon, s.on_sphere),
    "prototypical-ball": lambda s, *_: PrototypicalLoss(True, s.epsilon, s.on_sphere),
}


def make_loss(settings: TrainSettings, n_identities: int, dim: int) -> Loss:
    """Return the loss that the settings name."""
    return LOSSES[settings.loss](settings, n_identities, dim)
