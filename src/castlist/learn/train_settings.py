"""What training depends on besides the data. The defaults are the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from castlist.errors import InputError

#: The losses of the paper (sec. 3.4), and whether it puts their embeddings on the unit sphere.
LOSS_NAMES: dict[str, bool] = {
    "ball": True,
    "cross-entropy": False,
    "ldml": True,
    "contrastive": True,
    "triplet": True,
    "prototypical": False,  # sec. 5.2: with it, NMI is 15 % lower
    "prototypical-ball": False,
}

_WIDEST = 65_536  # of a layer: the weights between two such take 16 GiB
_MOST = 2**31 - 1
_LARGEST_SEED = 2**63 - 1  # that PyTorch takes
MOST_ROUNDS = 100  # of averaging neighbours; more change nothing, and take for ever

_RULES: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
    ("embedding batch epochs decay_every validate_every", "at least 1", lambda value: value >= 1),
    ("rate decay", "positive", lambda value: value > 0),
    ("alpha alpha_b epsilon weight_decay", "0 or more", lambda value: value >= 0),
    ("rate_b freeze_b seed rounds nearest people", "0 or more", lambda value: value >= 0),
    ("momentum reach held", "in [0, 1)", lambda value: 0 <= value < 1),
    ("validation", "between 0 and 1", lambda value: 0 < value < 1),
    ("rate decay alpha alpha_b epsilon weight_decay rate_b b_hat nearest", "finite", isfinite),
    ("embedding", f"at most {_WIDEST:,}", lambda value: value <= _WIDEST),
    ("batch epochs decay_every validate_every freeze_b people", f"at most {_MOST:,}",
     lambda value: value <= _MOST),
    ("rounds", f"at most {MOST_ROUNDS}", lambda value: value <= MOST_ROUNDS),
    ("seed", f"at most {_LARGEST_SEED:,}", lambda value: value <= _LARGEST_SEED),
)  # fmt: skip


@dataclass(frozen=True)
class TrainSettings:
    """Settings of :func:`castlist.train`; each default names its place in the paper.

    Attributes
    ----------
    loss : name of the loss, one of ``LOSS_NAMES``.
    hidden, embedding : widths of the hidden layers and of an embedding.
    normalise : whether embeddings are on the unit sphere; None is what the loss wants.
    standardise : whether features are standardised by the training set's mean and scale first.
    residual : whether the MLP's output is added to its input; embeddings are as long as features.
    rounds, reach, nearest : how often an embedding is averaged with its neighbours, the cosine
        above which two are neighbours, and the most neighbours of one among n, as a multiple of √n,
        0 for all.
    alpha, epsilon : weight of L_sim, and margin in γ = 9b + ε.
    company : whether L_sim is averaged only over samples with another of their identity.
    held, alpha_b : share of the people who are held out from the MLP and train b alone, and the
        weight of L_sim in that; 0 is the paper's way, where b is trained on whom the MLP fits.
    b_hat : where b̂ starts; b = softplus(b̂).
    batch, epochs : tracks a batch, and times through all tracks.
    people : people of a made cast, at most; a batch is then several made casts, as of as many
        videos, and ``batch`` is not used. 0 draws tracks uniformly.
    half : whether a random half of a track's faces is averaged, instead of one face chosen.
    rate, momentum, decay, decay_every : of SGD; the rate falls by ``decay`` every so many epochs.
    weight_decay : of the MLP's weights.
    freeze_b, rate_b : epochs before b̂ is trained, and its rate relative to ``rate``; the same for
        a rival's β or margin.
    operating : whether τ is chosen on validation in the end, instead of 4b; always, where the loss
        is not ``ball``.
    validation : share of the identities reserved for validation.
    validate_every : epochs from one validation to the next; the last one is always validated.
    seed : draws the split, the first weights and the batches.
    """

    loss: str = "ball"
    hidden: tuple[int, ...] = (256, 128, 64)  # sec. 4
    embedding: int = 64  # sec. 4
    normalise: bool | None = None  # sec. 5.2; LOSS_NAMES
    standardise: bool = True  # not in the text; docs/research/paper-notes.md says why
    residual: bool = False  # the paper's MLP starts at random
    rounds: int = 0  # not the paper's
    reach: float = 0.35
    nearest: float = 0.0
    alpha: float = 4.0  # sec. 4
    epsilon: float = 0.05  # not in the text; the authors' released loss
    company: bool = False  # sec. 3.2: over all samples
    held: float = 0.0  # not the paper's
    alpha_b: float = 4.0
    b_hat: float = 0.1  # not in the text; the authors' released loss
    batch: int = 2000  # sec. 4
    people: int = 0  # not the paper's
    half: bool = False  # sec. 4: one face
    epochs: int = 150  # not in the text; the released checkpoint is of epoch 127
    rate: float = 0.003  # sec. 4
    momentum: float = 0.9  # sec. 4
    decay: float = 0.9  # sec. 4
    decay_every: int = 10  # sec. 4
    weight_decay: float = 0.0  # not in the text
    freeze_b: int = 5  # sec. 4
    rate_b: float = 0.1  # sec. 4
    operating: bool = False  # τ = 4b, sec. 3.3
    validation: float = 0.05  # sec. 5.1
    validate_every: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for names, rule, good in _RULES:
            for name in names.split():
                if not good(getattr(self, name)):
                    raise InputError(f"{name} must be {rule}, not {getattr(self, name)}")
        if any(not 1 <= width <= _WIDEST for width in self.hidden):
            raise InputError(f"hidden widths must be between 1 and {_WIDEST:,}, not {self.hidden}")
        if self.held and self.loss != "ball":
            raise InputError(f"held is of the ball loss: {self.loss} has no b")
        if self.loss not in LOSS_NAMES:
            raise InputError(f"loss must be one of {', '.join(LOSS_NAMES)}, not {self.loss!r}")

    @property
    def on_sphere(self) -> bool:
        """Whether embeddings are on the unit sphere."""
        return LOSS_NAMES[self.loss] if self.normalise is None else self.normalise

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON knows them."""
        return {**asdict(self), "hidden": list(self.hidden), "normalise": self.on_sphere}
