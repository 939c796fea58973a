"""From tracks to characters: mean feature, embedding, complete linkage at τ (paper, sec. 4)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.errors import InputError
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet


class Embeds(Protocol):
    """What clustering needs of a model; ``BallModel`` is one."""

    describer: str

    @property
    def threshold(self) -> float:
        """τ = 4b."""

    def embed(self, features: ArrayLike) -> NDArray[np.float32]:
        """Map features to embeddings."""


def embed_tracks(tracks: TrackSet, model: Embeds | None = None) -> NDArray[np.float32]:
    """Return one embedding a track: of its mean feature, or without a model that feature itself."""
    known = {tracks.describer, "" if model is None else model.describer} - {""}
    if len(known) > 1 and model is not None:
        raise InputError(
            f"this model takes features of {model.describer}, and the tracks have features of "
            f"{tracks.describer}"
        )
    means = tracks.mean_features()
    return means if model is None else model.embed(means)


def cluster_tracks(
    tracks: TrackSet,
    model: Embeds | None = None,
    *,
    threshold: float | None = None,
    n_clusters: int | None = None,
    overlaps: bool = False,
    progress: Progress = silent,
) -> Linkage:
    """Group tracks into characters.

    Parameters
    ----------
    tracks : TrackSet
        Tracks with features.
    model : BallModel, optional
        Without it, mean features are clustered as they are.
    threshold : float, optional
        τ, instead of the model's.
    n_clusters : int, optional
        Make this many characters instead.
    overlaps : bool
        Keep tracks that share a frame apart. The paper does not.
    progress : callable
        Told how far it is.
    """
    if threshold is None and n_clusters is None:
        if model is None:
            raise InputError("give a model, a threshold or a number of characters")
        threshold = model.threshold
    return complete_linkage(
        embed_tracks(tracks, model),
        threshold,
        n_clusters=n_clusters,
        cannot_link=tracks.overlaps() if overlaps else None,
        progress=progress,
    )
