"""From tracks to characters: mean feature, embedding, complete linkage at τ (paper, sec. 4)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.errors import InputError, counted
from castlist.geometry import iou_matrix
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet


class Embeds(Protocol):
    """What clustering needs of a model; ``BallModel`` is one."""

    describer: str

    @property
    def threshold(self) -> float:
        """τ = 4b."""

    @property
    def takes_evidence(self) -> bool:
        """Whether it takes evidence of pairs of tracks besides their features."""

    def embed(
        self,
        features: ArrayLike,
        sets: ArrayLike | None = None,
        *,
        together: ArrayLike | None = None,
        apart: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Map features to embeddings.

        ``sets`` says which belong to one video, ``together`` and ``apart`` which pairs are one
        person or two by other evidence.
        """


def embed_tracks(tracks: TrackSet, model: Embeds | None = None) -> NDArray[np.float32]:
    """Return one embedding per track: of its mean feature, or without a model that feature."""
    known = {tracks.describer, "" if model is None else model.describer} - {""}
    if len(known) > 1 and model is not None:
        raise InputError(
            f"this model takes features of {model.describer}, and the tracks have features of "
            f"{tracks.describer}"
        )
    means = tracks.mean_features()
    if model is None:
        return means
    # Neighbours are summed up in this order too: the last digit of a sum depends on it.
    order = by_content(tracks, means)
    place = np.argsort(order)
    evidence = {}
    if model.takes_evidence:
        evidence = {"together": place[same_place(tracks)], "apart": place[tracks.overlaps()]}
    return model.embed(means[order], tracks.video[order], **evidence)[place]


def by_content(tracks: TrackSet, means: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the tracks in an order that does not depend on how they are given or called.

    It is that of their first faces, in time and across the picture; then that of their features.
    Tracks of a scan are in this order already. What draws or breaks a tie by a track's place does
    it in this order, so that the same tracks in another order are the same characters.

    Parameters
    ----------
    tracks : TrackSet
        The tracks.
    means : ndarray of shape (n_tracks, dim)
        Their mean features.
    """
    rows = np.ascontiguousarray(means)
    alike = np.argsort(rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(), kind="stable")
    first = tracks.offsets[:-1][alike]
    keys = (*tracks.box[first].T[::-1], tracks.frame[first], tracks.time[first])
    return np.asarray(alike[np.lexsort(keys)])


def cluster_tracks(
    tracks: TrackSet,
    model: Embeds | None = None,
    *,
    threshold: float | None = None,
    n_clusters: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    overlaps: bool | None = None,
    points: NDArray[np.float32] | None = None,
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
    at_least, at_most : int, optional
        Bounds of the number of characters: where τ makes fewer or more, another cut is made.
    overlaps : bool, optional
        Keep tracks that share a frame apart. If not given, models of our recipe do, and those of
        the paper's do not. Where there would be more characters than ``n_clusters`` or
        ``at_most``, some come together all the same, and ``given_up`` of the result says which.
    points : ndarray of shape (n_tracks, dim), optional
        What :func:`embed_tracks` gave, if it was called already.
    progress : callable
        Told how far it is.
    """
    if threshold is None and n_clusters is None:
        if model is None:
            raise InputError("give a model, a threshold or a number of characters")
        threshold = model.threshold
    if threshold is not None and n_clusters is not None:
        raise InputError("give a threshold or a number of clusters, not both")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise InputError(f"at least {at_least} and at most {at_most} characters cannot be")
    check_number(tracks, n_clusters, at_least)
    points = embed_tracks(tracks, model) if points is None else points
    order = by_content(tracks, tracks.mean_features())
    place = np.argsort(order)
    if overlaps is None:
        overlaps = model is not None and model.takes_evidence
    made = cluster_points(
        points[order], threshold, n_clusters=n_clusters, at_least=at_least, at_most=at_most,
        avoid_link=place[tracks.overlaps()] if overlaps else None, progress=progress,
    )  # fmt: skip
    return made.of_rows(order)


def check_number(tracks: TrackSet, n_clusters: int | None, at_least: int | None) -> None:
    """Refuse to make more characters than there are tracks; of no tracks, there is no character."""
    for wanted, option in ((n_clusters, "--characters"), (at_least, "--min-characters")):
        if wanted is not None and wanted > len(tracks) > 0:
            one = len(tracks.videos) == 1
            whose = f"{tracks.videos[0]} has" if one else "the videos together have"
            most = counted(len(tracks), "character")
            raise InputError(
                f"{whose} {counted(len(tracks), 'track')}, so {most} at most; "
                f"give a smaller {option}"
            )


def cluster_points(
    points: NDArray[np.floating],
    threshold: float | None,
    *,
    n_clusters: int | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    avoid_link: ArrayLike | None = None,
    progress: Progress = silent,
) -> Linkage:
    """Group embeddings as :func:`cluster_tracks` groups tracks; a number goes before τ."""

    def link(tau: float | None, count: int | None) -> Linkage:
        return complete_linkage(
            points, tau, n_clusters=count, must_link=must_link, cannot_link=cannot_link,
            avoid_link=avoid_link, progress=progress,
        )  # fmt: skip

    made = link(threshold if n_clusters is None else None, n_clusters)
    if at_least is not None and made.n_clusters < min(at_least, len(points)):
        return link(None, min(at_least, len(points)))
    if at_most is not None and made.n_clusters > at_most:
        return link(None, at_most)
    return made


#: The least overlap (intersection over union) of two faces that are at one place.
_SAME_PLACE = 0.1
_ROWS = 1024  # tracks of one set-up that are compared at once


def same_place(tracks: TrackSet) -> NDArray[np.int64]:
    """Find the pairs of tracks of which one begins where the other ended, as rows (i, j), i < j.

    That is: the last face of the earlier track and the first face of the later one are seen in one
    camera set-up, and overlap. They show one person, nearly always.
    """
    first, last = tracks.offsets[:-1], tracks.offsets[1:] - 1
    width = int(tracks.setup.max(initial=0)) + 1
    begins, ends = (_setup_of(tracks, faces, width) for faces in (first, last))
    found = [np.empty((0, 2), np.int64)]
    for setup in np.intersect1d(begins[begins >= 0], ends):
        earlier, later = np.flatnonzero(ends == setup), np.flatnonzero(begins == setup)
        for start in range(0, len(earlier), _ROWS):
            rows = earlier[start : start + _ROWS]
            overlap = iou_matrix(tracks.box[last[rows]], tracks.box[first[later]])
            before = tracks.time[last[rows], None] < tracks.time[first[later]]
            i, j = np.nonzero((overlap >= _SAME_PLACE) & before)
            found.append(np.stack([rows[i], later[j]], axis=1))
    return np.unique(np.sort(np.concatenate(found), axis=1), axis=0)


def _setup_of(tracks: TrackSet, faces: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return the set-up of one face per track, another number in each video; -1 if not known."""
    setup = tracks.setup[faces].astype(np.int64)
    return np.where(setup < 0, -1, setup + width * tracks.video)
