"""What training depends on besides the data. The defaults are the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from castlist.errors import InputError

_RULES: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
    ("embedding batch epochs decay_every", "at least 1", lambda value: value >= 1),
    ("rate decay", "positive", lambda value: value > 0),
    ("alpha epsilon rate_b freeze_b seed", "0 or more", lambda value: value >= 0),
    ("momentum", "in [0, 1)", lambda value: 0 <= value < 1),
    ("validation", "between 0 and 1", lambda value: 0 < value < 1),
)


@dataclass(frozen=True)
class TrainSettings:
    """Settings of :func:`castlist.train`; each default names its place in the paper.

    Attributes
    ----------
    hidden, embedding : widths of the hidden layers and of an embedding.
    normalise : whether embeddings are on the unit sphere.
    standardise : whether features are standardised by the training set's mean and scale first.
    residual : whether the MLP's output is added to its input; embeddings are as long as features.
    alpha, epsilon : weight of L_sim, and margin in γ = 9b + ε.
    b_hat : where b̂ starts; b = softplus(b̂).
    batch, epochs : tracks a batch, and times through all tracks.
    rate, momentum, decay, decay_every : of SGD; the rate falls by ``decay`` every so many epochs.
    freeze_b, rate_b : epochs before b̂ is trained, and its rate relative to ``rate``.
    operating : whether τ is chosen on validation in the end, instead of 4b.
    validation : share of the identities reserved for validation.
    seed : draws the split, the first weights and the batches.
    """

    hidden: tuple[int, ...] = (256, 128, 64)  # sec. 4
    embedding: int = 64  # sec. 4
    normalise: bool = True  # sec. 5.2
    standardise: bool = True  # not in the text; docs/paper-notes.md says why
    residual: bool = False  # the paper's MLP starts at random
    alpha: float = 4.0  # sec. 4
    epsilon: float = 0.05  # not in the text; the authors' released loss
    b_hat: float = 0.1  # not in the text; the authors' released loss
    batch: int = 2000  # sec. 4
    epochs: int = 150  # not in the text; the released checkpoint is of epoch 127
    rate: float = 0.003  # sec. 4
    momentum: float = 0.9  # sec. 4
    decay: float = 0.9  # sec. 4
    decay_every: int = 10  # sec. 4
    freeze_b: int = 5  # sec. 4
    rate_b: float = 0.1  # sec. 4
    operating: bool = False  # τ = 4b, sec. 3.3
    validation: float = 0.05  # sec. 5.1
    seed: int = 0

    def __post_init__(self) -> None:
        for names, rule, good in _RULES:
            for name in names.split():
                if not good(getattr(self, name)):
                    raise InputError(f"{name} must be {rule}, not {getattr(self, name)}")
        if any(width < 1 for width in self.hidden):
            raise InputError(f"hidden widths must be at least 1, not {self.hidden}")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON knows them."""
        return {**asdict(self), "hidden": list(self.hidden)}
