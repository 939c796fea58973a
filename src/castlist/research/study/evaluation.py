"""Cluster labelled tracks and score the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.cluster.tracks import Embeds, cluster_tracks, embed_tracks
from castlist.errors import InputError
from castlist.progress import Progress, silent
from castlist.research.score.curves import Curve, curve
from castlist.score.metrics import Scores, evaluate
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class Evaluation:
    """A clustering and its scores."""

    linkage: Linkage
    scores: Scores


def evaluate_tracks(
    tracks: TrackSet,
    model: Embeds | None = None,
    *,
    threshold: float | None = None,
    n_characters: int | None = None,
    overlaps: bool | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Return the clustering of all tracks, scored on those that have an identity.

    Parameters are those of :func:`castlist.cluster_tracks`.
    """
    known = tracks.labelled
    if not known.any():
        raise InputError("no track has an identity; evaluation needs labels")
    linkage = cluster_tracks(
        tracks, model, threshold=threshold, n_characters=n_characters, overlaps=overlaps,
        progress=progress,
    )  # fmt: skip
    return Evaluation(linkage, evaluate(tracks.identity[known], linkage.labels[known]))


def curve_of(tracks: TrackSet, model: Embeds | None = None) -> Curve:
    """Return NMI and WCP of the labelled tracks at every number of clusters."""
    tracks = tracks[tracks.labelled]
    return curve(tracks.identity, complete_linkage(embed_tracks(tracks, model)).merges)


def best_of(curve: Curve) -> tuple[int, float, float]:
    """Return #Cl, NMI and WCP at the highest NMI, the best that any threshold can reach."""
    at = int(np.argmax(curve.nmi))
    return int(curve.n_clusters[at]), float(curve.nmi[at]), float(curve.wcp[at])
