"""Recipes: sets of training settings with a name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from castlist.errors import InputError
from castlist.learn.train_settings import TrainSettings

#: ``paper`` is the paper's, to the letter. ``neighbours`` is ours (neighbours.md): the ball
#: loss through the averaging of neighbours, on made casts, b learned on people whom the MLP does
#: not see.
RECIPES: dict[str, TrainSettings] = {
    "paper": TrainSettings(),
    "neighbours": TrainSettings(
        hidden=(512,), residual=True, standardise=False, rounds=2, reach=0.32, nearest=1.4,
        people=40, half=True, alpha=3.0, company=True, held=0.2, alpha_b=20.0, b_hat=-1.82,
        rate=0.005, decay=0.6, decay_every=1, rate_b=1.0, freeze_b=0, epochs=5,
    ),
}  # fmt: skip
DEFAULT_RECIPE = "neighbours"


def recipe_settings(recipe: str, **changes: Any) -> TrainSettings:
    """Return a recipe's settings, some of them changed.

    A loss other than the recipe's is trained as the paper trains it: our recipe is one for balls.
    """
    if recipe not in RECIPES:
        raise InputError(f"no recipe {recipe!r}; there are {', '.join(RECIPES)}")
    base = RECIPES[recipe]
    if changes.get("loss", base.loss) != base.loss:
        base = RECIPES["paper"]
    settings = replace(base, **changes)
    if settings.residual and "embedding" in changes:
        raise InputError("a residual model's embeddings are as long as its features: no embedding")
    return settings
