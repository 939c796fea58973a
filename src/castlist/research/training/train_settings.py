"""Training settings, and the recipes: named sets of them.

The defaults of :class:`TrainSettings` are the paper's. ``RECIPES`` also has our own recipe, which
is the default of :func:`castlist.research.train` and of ``castlist research train``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

from castlist.errors import InputError
from castlist.model.neighbours import MAX_ROUNDS

#: The losses of the paper, and whether it normalises their embeddings to unit length.
LOSS_NAMES: dict[str, bool] = {
    "ball": True,  # sec. 5.2
    "cross-entropy": False,  # sec. 5.3 does not say: docs/research/paper-notes.md
    "ldml": True,
    "contrastive": True,
    "triplet": True,
    "prototypical": False,  # sec. 5.3: normalised, its NMI is 15 % lower
    "prototypical-ball": False,
}

_MAX_WIDTH = 65_536  # of a layer: the weights between two such layers take 16 GiB
_MAX_COUNT = 2**31 - 1
_MAX_SEED = 2**63 - 1  # the largest that PyTorch accepts

_RULES: tuple[tuple[str, str, Callable[[float], bool]], ...] = (
    ("embedding batch epochs decay_every validate_every", "at least 1", lambda value: value >= 1),
    ("rate decay", "positive", lambda value: value > 0),
    ("alpha alpha_b epsilon weight_decay", "0 or more", lambda value: value >= 0),
    ("rate_b freeze_b seed rounds nearest cast_size", "0 or more", lambda value: value >= 0),
    ("momentum reach share false_rate b_holdout", "in [0, 1)", lambda value: 0 <= value < 1),
    ("validation", "between 0 and 1", lambda value: 0 < value < 1),
    ("rate decay alpha alpha_b epsilon weight_decay rate_b b_hat nearest", "finite", isfinite),
    ("embedding", f"at most {_MAX_WIDTH:,}", lambda value: value <= _MAX_WIDTH),
    ("batch epochs decay_every validate_every freeze_b cast_size", f"at most {_MAX_COUNT:,}",
     lambda value: value <= _MAX_COUNT),
    ("rounds", f"at most {MAX_ROUNDS}", lambda value: value <= MAX_ROUNDS),
    ("seed", f"at most {_MAX_SEED:,}", lambda value: value <= _MAX_SEED),
)  # fmt: skip


@dataclass(frozen=True)
class TrainSettings:
    """Settings of :func:`castlist.research.train`. The defaults are the paper's.

    Attributes
    ----------
    loss : str
        Name of the loss: ``ball``, ``cross-entropy``, ``ldml``, ``contrastive``, ``triplet``,
        ``prototypical`` or ``prototypical-ball``.
    hidden : tuple of int
        Widths of the hidden layers.
    embedding : int
        Length of an embedding. Residual models ignore it: theirs are as long as features.
    normalise : bool or None
        Whether embeddings are normalised to unit length; None for what the paper does with this
        loss.
    standardise : bool
        Whether features are first standardised by the training set's mean and scale.
    residual : bool
        Whether the MLP's output is added to its input.
    rounds : int
        Number of neighbour-averaging rounds. In each, every embedding is replaced by a weighted
        mean of its neighbours in the same video. 0 for none.
    reach : float
        Cosine similarity above which two embeddings are neighbours; a minimum if ``false_rate`` is
        not 0.
    false_rate : float
        Maximum share of pairs of different people among pairs of neighbours. The reach of each
        video is the lowest that gives it. 0 for a fixed reach.
    nearest : float
        Maximum number of neighbours of an embedding, as a multiple of √n among n embeddings; 0 for
        no maximum.
    share : float
        Two embeddings are neighbours only if their cosine is at least this share of the highest
        cosine that one of them has; 0 for no minimum.
    alpha : float
        Weight of L_sim.
    epsilon : float
        Margin ε in γ = 9b + ε.
    skip_singletons : bool
        Whether L_sim is averaged only over samples whose identity has another sample in the batch.
    b_holdout : float
        Share of the training identities that train b and not the MLP. With 0, the paper's way, all
        identities train both.
    alpha_b : float
        Weight of L_sim in the loss of those identities; used if ``b_holdout`` is not 0.
    b_hat : float
        Initial value of b̂, where b = softplus(b̂).
    batch : int
        Number of tracks per batch; used if ``cast_size`` is 0.
    cast_size : int
        Maximum number of identities in a synthetic cast. A batch is then several synthetic casts,
        each treated as one video. With 0, the tracks of a batch are drawn uniformly.
    average_half : bool
        Whether the mean of a random half of a track's faces represents the track, instead of one
        random face.
    epochs : int
        Number of passes over the tracks.
    rate, momentum : float
        Learning rate and momentum of SGD.
    decay, decay_every : float and int
        The learning rate is multiplied by ``decay`` every ``decay_every`` epochs.
    weight_decay : float
        Weight decay of the MLP.
    freeze_b : int
        Number of epochs before training of b̂ begins; also of LDML's β and the contrastive margin.
    rate_b : float
        Learning rate of these, relative to ``rate``.
    operating : bool
        Whether the threshold τ is chosen on the validation tracks, instead of 4b. For losses other
        than ``ball`` it always is.
    validation : float
        Share of the identities reserved for validation, if no validation tracks are given.
    validate_every : int
        Number of epochs between validations. The last epoch is always validated.
    seed : int
        Seed of the split, the initial weights and the batches.
    """

    loss: str = "ball"
    hidden: tuple[int, ...] = (256, 128, 64)  # sec. 4
    embedding: int = 64  # sec. 4
    normalise: bool | None = None  # sec. 5.2 and 5.3: LOSS_NAMES
    standardise: bool = True  # not in the text: docs/research/paper-notes.md
    residual: bool = False  # not in the paper
    rounds: int = 0  # not in the paper
    reach: float = 0.35
    nearest: float = 0.0
    share: float = 0.0
    false_rate: float = 0.0
    alpha: float = 4.0  # sec. 4
    epsilon: float = 0.05  # not in the text: the authors' released loss
    skip_singletons: bool = False  # sec. 3.2: over all samples
    b_holdout: float = 0.0  # not in the paper
    alpha_b: float = 4.0
    b_hat: float = 0.1  # not in the text: the authors' released loss
    batch: int = 2000  # sec. 4
    cast_size: int = 0  # not in the paper
    average_half: bool = False  # sec. 4: one face; sec. 5.2 tried a half
    epochs: int = 150  # not in the text: the released checkpoint is of epoch 127
    rate: float = 0.003  # sec. 4
    momentum: float = 0.9  # sec. 4
    decay: float = 0.9  # sec. 4
    decay_every: int = 10  # sec. 4
    weight_decay: float = 0.0  # not in the text
    freeze_b: int = 5  # sec. 4
    rate_b: float = 0.1  # sec. 4
    operating: bool = False  # sec. 3.3: τ = 4b
    validation: float = 0.05  # sec. 5.1
    validate_every: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for names, rule, good in _RULES:
            for name in names.split():
                if not good(getattr(self, name)):
                    raise InputError(f"{name} must be {rule}, not {getattr(self, name)}")
        if any(not 1 <= width <= _MAX_WIDTH for width in self.hidden):
            raise InputError(
                f"hidden widths must be between 1 and {_MAX_WIDTH:,}, not {self.hidden}"
            )
        if self.loss not in LOSS_NAMES:
            raise InputError(f"loss must be one of {', '.join(LOSS_NAMES)}, not {self.loss!r}")
        if self.b_holdout and self.loss != "ball":
            raise InputError(f"b_holdout requires the ball loss: {self.loss} has no b")

    @property
    def on_sphere(self) -> bool:
        """Whether embeddings are normalised to unit length."""
        return LOSS_NAMES[self.loss] if self.normalise is None else self.normalise

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {**asdict(self), "hidden": list(self.hidden), "normalise": self.on_sphere}


#: The recipes by name. ``neighbours`` is ours (docs/research/neighbours.md): the ball loss
#: after neighbour averaging, on synthetic casts, with b trained on identities that the MLP does not
#: see. ``paper`` is the paper's.
RECIPES: dict[str, TrainSettings] = {
    "neighbours": TrainSettings(
        hidden=(512,), residual=True, standardise=False, rounds=2, reach=0.28, nearest=1.0,
        share=0.5, false_rate=0.1, cast_size=40, average_half=True, alpha=3.0,
        skip_singletons=True, b_holdout=0.2, alpha_b=25.0, b_hat=-1.82, rate=0.005, decay=0.6,
        decay_every=1, rate_b=1.0, freeze_b=0, epochs=5,
    ),
    "paper": TrainSettings(),
}  # fmt: skip
DEFAULT_RECIPE = "neighbours"


def resolve_recipe(recipe: str | TrainSettings = DEFAULT_RECIPE, **changes: Any) -> TrainSettings:
    """Return the settings of a recipe, with changes applied.

    Parameters
    ----------
    recipe : str or TrainSettings
        Name of a recipe, or settings.
    **changes
        Settings to replace, by name. If ``loss`` differs from that of a named recipe, the other
        changes apply to the paper's settings: our recipe is for the ball loss only.
    """
    if isinstance(recipe, TrainSettings):
        base = recipe
    elif recipe not in RECIPES:
        raise InputError(f"unknown recipe {recipe!r}; choose one of {', '.join(RECIPES)}")
    else:
        base = RECIPES[recipe]
        if changes.get("loss", base.loss) != base.loss:
            base = RECIPES["paper"]
    settings = replace(base, **changes)
    if settings.residual and "embedding" in changes:
        raise InputError(
            "a residual model's embeddings are as long as its features; leave out embedding, or "
            "set residual to false"
        )
    return settings
