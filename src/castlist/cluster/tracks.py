"""Group tracks into characters: mean feature, embedding, complete linkage at τ (paper, sec. 4)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from castlist.cluster.linkage import Linkage, complete_linkage
from castlist.errors import InputError, counted
from castlist.geometry import iou_matrix
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet

_SAME_PLACE = 0.1  # least overlap (IoU) of two faces at the same place
_ROWS = 1024  # tracks of one camera set-up that are compared at once


class Embeds(Protocol):
    """The interface of a model that clustering uses; ``BallModel`` has it."""

    describer: str

    @property
    def threshold(self) -> float:
        """τ = 4b."""

    @property
    def takes_evidence(self) -> bool:
        """Whether the model uses evidence about pairs of tracks besides their features."""

    def embed(
        self,
        features: ArrayLike,
        sets: ArrayLike | None = None,
        *,
        together: ArrayLike | None = None,
        apart: ArrayLike | None = None,
    ) -> NDArray[np.float32]:
        """Map features to embeddings.

        ``sets`` is the video of each row; ``together`` and ``apart`` are the pairs of rows that
        are one person, or two, by other evidence than features.
        """


def embed_tracks(tracks: TrackSet, model: Embeds | None = None) -> NDArray[np.float32]:
    """Return one embedding per track: the model's of its mean feature, or that feature itself."""
    known = {tracks.describer, "" if model is None else model.describer} - {""}
    if len(known) > 1 and model is not None:
        raise InputError(
            f"this model needs features of {model.describer}, but the tracks have features of "
            f"{tracks.describer}"
        )
    means = tracks.mean_features()
    if model is None:
        return means
    # Neighbours are summed in this order too: the last digit of a sum depends on it.
    order = by_content(tracks, means)
    place = np.argsort(order)
    evidence = {}
    if model.takes_evidence:
        evidence = {"together": place[same_place(tracks)], "apart": place[tracks.overlaps()]}
    return model.embed(means[order], tracks.video[order], **evidence)[place]


def by_content(tracks: TrackSet, means: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return an order of the tracks that depends on neither their ids nor their given order.

    Tracks are sorted by their first face, in time and across the frame, and then by their
    features. Tracks of a scan are in this order already. Random draws and ties follow this order,
    so that the same tracks in another order become the same characters.

    Parameters
    ----------
    tracks : TrackSet
        The tracks.
    means : ndarray of shape (n_tracks, dim)
        Their mean features.
    """
    rows = np.ascontiguousarray(means)
    by_feature = np.argsort(rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(), kind="stable")
    first = tracks.offsets[:-1][by_feature]
    keys = (*tracks.box[first].T[::-1], tracks.frame[first], tracks.time[first])
    return np.asarray(by_feature[np.lexsort(keys)])


def cluster_tracks(
    tracks: TrackSet,
    model: Embeds | None = None,
    *,
    threshold: float | None = None,
    n_characters: int | None = None,
    min_characters: int | None = None,
    max_characters: int | None = None,
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
        Embeds the tracks. Without it, mean features are clustered as they are.
    threshold : float, optional
        τ, instead of the model's.
    n_characters : int, optional
        Number of characters to make, instead of a threshold.
    min_characters, max_characters : int, optional
        Bounds of the number of characters. They apply if τ gives fewer or more.
    overlaps : bool, optional
        Whether to keep tracks that share a frame apart. By default, models of our recipe do, and
        models of the paper's do not. If there would be more than ``n_characters`` or
        ``max_characters`` otherwise, some of them are merged, and ``given_up`` lists these pairs.
    points : ndarray of shape (n_tracks, dim), optional
        The result of :func:`embed_tracks`, if it is already known.
    progress : callable
        Called with the stage, the number of items done and the total.

    Returns
    -------
    Linkage
        ``labels`` has the character of each track.
    """
    if threshold is None and n_characters is None:
        if model is None:
            raise InputError("give a model, a threshold or a number of characters")
        threshold = model.threshold
    if threshold is not None and n_characters is not None:
        raise InputError("give a threshold or a number of characters, not both")
    if min_characters is not None and min_characters > (max_characters or np.inf):
        raise InputError(
            f"the minimum number of characters, {min_characters}, is greater than the maximum, "
            f"{max_characters}"
        )
    check_number(tracks, n_characters, min_characters)
    points = embed_tracks(tracks, model) if points is None else points
    order = by_content(tracks, tracks.mean_features())
    place = np.argsort(order)
    if overlaps is None:
        overlaps = model is not None and model.takes_evidence
    made = cluster_points(
        points[order], threshold, n_clusters=n_characters, min_clusters=min_characters,
        max_clusters=max_characters, avoid_link=place[tracks.overlaps()] if overlaps else None,
        progress=progress,
    )  # fmt: skip
    return made.of_rows(order)


def check_number(tracks: TrackSet, n_characters: int | None, min_characters: int | None) -> None:
    """Refuse more characters than tracks. Without tracks any number is accepted, and none made."""
    for number, at_least in ((n_characters, ""), (min_characters, "at least ")):
        if number is not None and number > len(tracks) > 0:
            where = tracks.videos[0] if len(tracks.videos) == 1 else f"{len(tracks.videos)} videos"
            raise InputError(
                f"{where}: cannot make {at_least}{counted(number, 'character')} of "
                f"{counted(len(tracks), 'track')}; give at most {len(tracks)}"
            )


def cluster_points(
    points: NDArray[np.floating],
    threshold: float | None,
    *,
    n_clusters: int | None = None,
    min_clusters: int | None = None,
    max_clusters: int | None = None,
    must_link: ArrayLike | None = None,
    cannot_link: ArrayLike | None = None,
    avoid_link: ArrayLike | None = None,
    progress: Progress = silent,
) -> Linkage:
    """Cluster embeddings at τ, or to a number of clusters, which takes precedence.

    If τ gives fewer than ``min_clusters`` or more than ``max_clusters``, that number is made. The
    other parameters are those of :func:`castlist.complete_linkage`.
    """

    def link(tau: float | None, number: int | None) -> Linkage:
        return complete_linkage(
            points, tau, n_clusters=number, must_link=must_link, cannot_link=cannot_link,
            avoid_link=avoid_link, progress=progress,
        )  # fmt: skip

    made = link(threshold if n_clusters is None else None, n_clusters)
    if min_clusters is not None and made.n_clusters < min(min_clusters, len(points)):
        return link(None, min(min_clusters, len(points)))
    if max_clusters is not None and made.n_clusters > max_clusters:
        return link(None, max_clusters)
    return made


def same_place(tracks: TrackSet) -> NDArray[np.int64]:
    """Return the pairs of tracks of which one begins where the other ended, as rows (i, j), i < j.

    The last face of the earlier track and the first face of the later one are in the same camera
    set-up, and overlap. Such tracks nearly always show one person.
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
    """Return the set-up of one face per track, numbered over all videos; -1 if not known."""
    setup = tracks.setup[faces].astype(np.int64)
    return np.where(setup < 0, -1, setup + width * tracks.video)
