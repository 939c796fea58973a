"""Cluster and score labelled tracks, and choose the threshold τ on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.cluster.tracks import embed_tracks
from castlist.errors import InputError
from castlist.model.ball_model import BallModel
from castlist.score.metrics import nmi, wcp
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
        Validation tracks, never test tracks. Tracks without an identity are left out.
    by : str
        ``nmi`` for the τ of the highest NMI (the lowest such τ). ``count`` for a τ that gives the
        true number of clusters, as the paper does for all losses but its own (sec. 3.4).
    apart : bool
        Cluster each video separately. NMI is then the mean over the videos, and the number of
        clusters the sum; a person in two videos counts twice.
    """
    if by not in ("nmi", "count"):
        raise InputError(f"by must be 'nmi' or 'count', not {by!r}")
    tracks = tracks[tracks.labelled]
    truth = Truth.of(tracks, apart)
    truth.require_two_people()
    clustered = truth.cluster(embed_tracks(tracks, model))
    return clustered.threshold_of_count() if by == "count" else clustered.threshold_of_nmi()


def better_apart(tracks: TrackSet) -> bool:
    """Return whether to validate on each video separately.

    That is: whether there are several videos, and at least one of them shows two people.
    """
    return len(np.unique(tracks.video)) > 1 and Truth.of(tracks, apart=True).bounds_threshold


@dataclass(frozen=True)
class Truth:
    """The true clusters of labelled tracks.

    A person in two videos that are clustered separately is one character in each.

    Attributes
    ----------
    rows : tuple of ndarray of int
        Per group of tracks that are clustered together: their row numbers.
    identities : tuple of ndarray of int
        Per group: the identity of each row, numbered from 0.
    """

    rows: tuple[NDArray[np.int64], ...]
    identities: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, tracks: TrackSet, apart: bool = False) -> Truth:
        """Return the truth about tracks that are all labelled; one group per video if ``apart``."""
        video = tracks.video if apart else np.zeros(len(tracks), np.int32)
        rows = tuple(np.flatnonzero(video == one) for one in np.unique(video))
        return cls(rows, tuple(np.unique(tracks.identity[r], return_inverse=True)[1] for r in rows))

    @property
    def n_characters(self) -> int:
        """Number of characters."""
        return sum(int(identity.max()) + 1 for identity in self.identities)

    @property
    def bounds_threshold(self) -> bool:
        """Whether some group has two people, so that a threshold can be too high."""
        return self.n_characters > len(self.rows)

    def require_two_people(self) -> None:
        """Raise an error if no threshold can be chosen."""
        if not self.bounds_threshold:
            raise InputError(
                "choosing a threshold requires labelled tracks of at least two people"
                + (" in one video" if len(self.rows) > 1 else "")
            )

    def cluster(self, points: NDArray[np.float32], threshold: float | None = None) -> Clustered:
        """Cluster the embeddings of each group, up to the threshold or completely."""
        linkages = tuple(complete_linkage(points[rows], threshold) for rows in self.rows)
        return Clustered(self, linkages)


@dataclass(frozen=True)
class Clustered:
    """Labelled tracks, clustered: one linkage per group."""

    truth: Truth
    linkages: tuple[Linkage, ...]

    @cached_property
    def heights(self) -> NDArray[np.float64]:
        """Heights of all merges of all groups, in ascending order."""
        return np.sort(np.concatenate([one.merges[:, 2] for one in self.linkages]))

    def scores(self, threshold: float) -> dict[str, Any]:
        """Return total number of clusters, mean NMI and mean WCP over groups, cut at a τ."""
        return self._scores([one.cut(threshold) for one in self.linkages])

    def scores_at_counts(self) -> dict[str, Any]:
        """Return the same with each group cut to its true number of clusters."""
        pairs = zip(self.linkages, self.truth.identities, strict=True)
        return self._scores([one.cut_to(int(truth.max()) + 1) for one, truth in pairs])

    def _scores(self, labels: list[NDArray[np.int64]]) -> dict[str, Any]:
        return {
            "n_clusters": sum(int(one.max()) + 1 for one in labels),
            "nmi": float(np.mean(list(map(nmi, self.truth.identities, labels)))),
            "wcp": float(np.mean(list(map(wcp, self.truth.identities, labels)))),
        }

    def nmi(self, threshold: float) -> float:
        """Return the mean NMI over groups, cut at a τ."""
        labels = [one.cut(threshold) for one in self.linkages]
        return float(np.mean(list(map(nmi, self.truth.identities, labels))))

    def threshold_of_count(self) -> float:
        """Return a τ that gives as many clusters as there are characters."""
        self.truth.require_two_people()
        merges = sum(map(len, self.truth.rows)) - self.truth.n_characters
        below = self.heights[merges - 1] if merges else 0.0
        return float(below + self.heights[merges]) / 2

    def threshold_of_nmi(self) -> float:
        """Return the τ of the highest NMI, the lowest such τ if there are several."""
        self.truth.require_two_people()
        heights = np.unique(self.heights)
        # NMI changes at every height. Try a hundred of them, then all near the best of these.
        coarse = heights[np.unique(np.linspace(0, len(heights) - 1, 100).astype(int))]
        place = int(np.searchsorted(heights, self._best(coarse)))
        step = max(1, len(heights) // 100)
        best = self._best(heights[max(0, place - step) : place + step + 1])
        upper = heights[min(int(np.searchsorted(heights, best)) + 1, len(heights) - 1)]
        return float(best + upper) / 2

    def _best(self, thresholds: NDArray[np.float64]) -> float:
        return float(thresholds[np.argmax([self.nmi(one) for one in thresholds.tolist()])])
