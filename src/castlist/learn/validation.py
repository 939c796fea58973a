"""Labelled tracks clustered, whole or each video apart, and scored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.errors import InputError
from castlist.score.metrics import nmi, wcp
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class Truth:
    """Who the tracks are: rows to cluster together, and the identity of each of them.

    Somebody who is in two videos that are clustered apart is a character in each.
    """

    rows: tuple[NDArray[np.int64], ...]
    identities: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, tracks: TrackSet, apart: bool = False) -> Truth:
        """Find the truth about tracks that are all labelled, of each video if ``apart``."""
        video = tracks.video if apart else np.zeros(len(tracks), np.int32)
        rows = tuple(np.flatnonzero(video == one) for one in np.unique(video))
        return cls(rows, tuple(np.unique(tracks.identity[r], return_inverse=True)[1] for r in rows))

    @property
    def n_characters(self) -> int:
        """Number of characters."""
        return sum(int(identity.max()) + 1 for identity in self.identities)

    @property
    def tells_a_threshold(self) -> bool:
        """Whether some video has two people, so that a threshold can be too high."""
        return self.n_characters > len(self.rows)

    def require_two(self) -> None:
        """Complain if no threshold can be chosen."""
        if not self.tells_a_threshold:
            raise InputError(
                "labelled tracks of two people at least are needed to choose a threshold"
                + (", in one video" if len(self.rows) > 1 else "")
            )

    def link(self, points: NDArray[np.float32], threshold: float | None = None) -> Linked:
        """Cluster embeddings, as far as the threshold or whole."""
        return Linked(self, tuple(complete_linkage(points[rows], threshold) for rows in self.rows))


@dataclass(frozen=True)
class Linked:
    """What clustering made of them."""

    truth: Truth
    linkages: tuple[Linkage, ...]

    @cached_property
    def heights(self) -> NDArray[np.float64]:
        """Heights of all merges, of all videos, from low to high."""
        return np.sort(np.concatenate([one.merges[:, 2] for one in self.linkages]))

    def scores(self, threshold: float) -> dict[str, Any]:
        """Score the cut at τ: the clusters of all videos together, mean NMI and WCP over videos."""
        return self._scores([one.cut(threshold) for one in self.linkages])

    def scores_at_counts(self) -> dict[str, Any]:
        """Score each video at its own true number of clusters, whatever τ that takes."""
        pairs = zip(self.linkages, self.truth.identities, strict=True)
        return self._scores([one.cut_to(int(truth.max()) + 1) for one, truth in pairs])

    def _scores(self, labels: list[NDArray[np.int64]]) -> dict[str, Any]:
        return {
            "n_clusters": sum(int(one.max()) + 1 for one in labels),
            "nmi": float(np.mean(list(map(nmi, self.truth.identities, labels)))),
            "wcp": float(np.mean(list(map(wcp, self.truth.identities, labels)))),
        }

    def nmi(self, threshold: float) -> float:
        """Score by NMI only."""
        labels = [one.cut(threshold) for one in self.linkages]
        return float(np.mean(list(map(nmi, self.truth.identities, labels))))

    def threshold_of_count(self) -> float:
        """Return the τ that makes as many clusters as there are characters."""
        self.truth.require_two()
        merges = sum(map(len, self.truth.rows)) - self.truth.n_characters
        below = self.heights[merges - 1] if merges else 0.0
        return float(below + self.heights[merges]) / 2

    def threshold_of_nmi(self) -> float:
        """Return the τ of the highest NMI, the lowest such where several are."""
        self.truth.require_two()
        heights = np.unique(self.heights)
        # Scores change at every height; a hundred show where the best is, then all about it.
        coarse = heights[np.unique(np.linspace(0, len(heights) - 1, 100).astype(int))]
        place = int(np.searchsorted(heights, self._best(coarse)))
        step = max(1, len(heights) // 100)
        best = self._best(heights[max(0, place - step) : place + step + 1])
        upper = heights[min(int(np.searchsorted(heights, best)) + 1, len(heights) - 1)]
        return float(best + upper) / 2

    def _best(self, thresholds: NDArray[np.float64]) -> float:
        return float(thresholds[np.argmax([self.nmi(one) for one in thresholds.tolist()])])


def better_apart(tracks: TrackSet) -> bool:
    """Whether there are several videos, and two people in one of them at least."""
    return len(np.unique(tracks.video)) > 1 and Truth.of(tracks, apart=True).tells_a_threshold
