"""Choosing τ on validation tracks, for a model whose 4b is not its best threshold."""

from __future__ import annotations

from castlist.cluster.tracks import embed_tracks
from castlist.errors import InputError
from castlist.learn.model import BallModel
from castlist.learn.validation import Truth
from castlist.tracks import TrackSet


def choose_threshold(
    model: BallModel | None, tracks: TrackSet, by: str = "nmi", apart: bool = False
) -> float:
    """Return the τ that does best on labelled tracks.

    Parameters
    ----------
    model : BallModel or None
        None for the mean features themselves.
    tracks : TrackSet
        Validation tracks; never those of a test.
    by : str
        ``nmi``: the highest NMI, and the lowest such τ where several do. ``count``: the true number
        of clusters, as the paper chooses for its rivals (sec. 3.4).
    apart : bool
        Cluster each video apart. NMI is then the mean over the videos, and the number of clusters
        that of all of them, where somebody in two videos counts twice.
    """
    if by not in ("nmi", "count"):
        raise InputError(f"a threshold is chosen by 'nmi' or by 'count', not by {by!r}")
    tracks = tracks[tracks.labelled]
    truth = Truth.of(tracks, apart)
    truth.require_two()
    linked = truth.link(embed_tracks(tracks, model))
    return linked.threshold_of_count() if by == "count" else linked.threshold_of_nmi()
