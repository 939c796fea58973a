"""Choosing τ on validation tracks, for a model whose 4b is not its best threshold."""

from __future__ import annotations

import numpy as np

from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import embed_tracks
from castlist.errors import InputError
from castlist.learn.model import BallModel
from castlist.score.metrics import nmi
from castlist.tracks import TrackSet


def choose_threshold(model: BallModel | None, tracks: TrackSet, by: str = "nmi") -> float:
    """Return the τ that does best on labelled tracks.

    Parameters
    ----------
    model : BallModel or None
        None for the mean features themselves.
    tracks : TrackSet
        Validation tracks; never those of a test.
    by : str
        ``nmi``: the highest NMI, and the lowest such τ where several do. ``count``: the true number
        of clusters, as the paper chooses for its rivals (sec. 5.2).
    """
    tracks = tracks[tracks.labelled]
    names, truth = np.unique(tracks.identity, return_inverse=True)
    if len(names) < 2:
        raise InputError("labelled tracks of two people at least are needed to choose a threshold")
    linkage = complete_linkage(embed_tracks(tracks, model))
    heights = np.unique(linkage.merges[:, 2])
    if by == "count":
        merges = len(tracks) - len(names)
        below, above = linkage.merges[merges - 1, 2] if merges else 0.0, linkage.merges[merges, 2]
        return float(below + above) / 2
    if by != "nmi":
        raise InputError(f"a threshold is chosen by 'nmi' or by 'count', not by {by!r}")
    # Scores change at every height; a hundred of them show where the best is, then all about it.
    coarse = heights[np.unique(np.linspace(0, len(heights) - 1, 100).astype(int))]
    best = coarse[np.argmax([nmi(truth, linkage.cut(h)) for h in coarse])]
    place = int(np.searchsorted(heights, best))
    step = max(1, len(heights) // 100)
    near = heights[max(0, place - step) : place + step + 1]
    scores = np.array([nmi(truth, linkage.cut(h)) for h in near])
    at = int(np.argmax(scores))
    upper = heights[min(int(np.searchsorted(heights, near[at])) + 1, len(heights) - 1)]
    return float(near[at] + upper) / 2
