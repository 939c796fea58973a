"""The methods a study compares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from castlist.learn.train_settings import LOSS_NAMES, RECIPES, TrainSettings


@dataclass(frozen=True)
class Method:
    """A way from tracks to characters.

    Attributes
    ----------
    name : what it is called.
    settings : how its model is trained; None where nothing is.
    model : a model that exists already, instead.
    key : its name in ``paper.toml``, if the paper has figures of it.
    finetune : whether it is also fine-tuned on each video.
    kmeans_variants : whether X-means and G-means are tried on its embeddings.
    rounds, reach, nearest : for the base features, the averaging of neighbours.
    """

    name: str
    settings: TrainSettings | None = None
    model: Path | None = None
    key: str = ""
    finetune: bool = False
    kmeans_variants: bool = False
    rounds: int = 0
    reach: float = TrainSettings.reach
    nearest: float = TrainSettings.nearest

    @property
    def is_base(self) -> bool:
        """Whether the describer's features are clustered as they are, or with neighbours."""
        return self.settings is None and self.model is None

    @property
    def own_threshold(self) -> bool:
        """Whether it knows its own τ = 4b; others get theirs from validation."""
        if self.settings is not None:
            return self.settings.loss == "ball" and not self.settings.operating
        return self.model is not None


#: The base features, every loss of the paper as it trains it, and our recipe.
METHODS: dict[str, Method] = {
    "base": Method("base", key="base", kmeans_variants=True),
    **{
        loss: Method(
            loss,
            TrainSettings(loss=loss),
            key=loss,
            finetune=loss in ("triplet", "prototypical", "ball"),  # supplement A
            kmeans_variants=loss == "ball",  # supplement B
        )
        for loss in LOSS_NAMES
    },
    "neighbours": Method("neighbours", RECIPES["neighbours"], finetune=True, kmeans_variants=True),
}
