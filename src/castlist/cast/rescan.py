"""A video that is scanned again: its tracks are others, and characters keep their ids."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import anchors_of, find_anchors
from castlist.cast.cast_file import load_cast, scan_digest
from castlist.cast.current import CurrentCast
from castlist.cast.events import live_events
from castlist.cast.folder import CAST, CORRECTIONS, NEXT_CAST, Scanned
from castlist.cast.log import Log
from castlist.cast.recluster import cluster_around, ids_of_clusters, links_around
from castlist.errors import InputError
from castlist.io.untrusted import read_json
from castlist.progress import Progress, silent
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Regrouped:
    """The characters of a new scan.

    Attributes
    ----------
    labels : ndarray of int
        The id of each track's character: of pinned ones, what it was before a person spoke.
    next_id : int
        The least id that nobody has.
    taken : list of int
        Events that took clusterings of earlier scans: they hold no longer.
    """

    labels: Rows
    next_id: int
    taken: list[int]


def was_scanned(folder: Path) -> bool:
    """Say whether there is an earlier scan in a folder, whole, or anything was said of one."""
    with closing(Log(folder / CORRECTIONS)) as log:
        if log.last > 0:
            return True
    with suppress(InputError), CurrentCast(folder):
        return True
    return False  # none, or so damaged that nobody knows its characters


def regroup(
    folder: Path,
    tracks: TrackSet,
    points: NDArray[np.float32],
    threshold: float,
    asked: dict[str, Any],
    *,
    progress: Progress = silent,
) -> Regrouped:
    """Cluster the tracks of a new scan around what was said of those of an earlier one.

    Parameters
    ----------
    folder : Path
        The folder, with the earlier scan.
    tracks : TrackSet
        The new tracks.
    points : ndarray of shape (n_tracks, dim)
        Their embeddings.
    threshold : float
        τ.
    asked : dict
        ``n_characters``, ``min_characters`` and ``max_characters``, if they are set.
    progress : callable
        Told how far it is.
    """
    with closing(Log(folder / CORRECTIONS)) as log:
        first = log.next_id(next_id(folder))
        live, _ = live_events(log.events())
    # Clusterings that were taken before it count no longer, also if its tracks are the same.
    taken = [event.number for event in live if event.kind == "recluster"]
    # Until they are clustered, every track is somebody else, and nobody who is there.
    alone = np.arange(first, first + len(tracks))
    new = Scanned(
        folder, tracks, alone, points, threshold, 0.0, {},
        (scan_digest(tracks),) * len(tracks.videos), first + len(tracks), frozenset(taken),
    )  # fmt: skip
    with CurrentCast(folder, scanned=new) as cast:
        owner, base = _before(folder, cast)
        state = cast.state
        links = links_around(cast, cast.points, threshold, asked, owner)
        rows = links.rows
        labels = np.where(state.pin > 0, np.where(base > 0, base, state.pin), owner)
        free = first
        if len(rows):
            given = (folder, cast.points[rows], threshold, asked, links.among(), progress)
            made, _ = cluster_around(*given)

            def reserve(count: int) -> int:
                nonlocal free
                begin = cast.log.reserve(count, first)
                free = max(free, begin + count)
                return begin

            ids, _ = ids_of_clusters(links, made, state.pin, owner, state.corrected_ids(), reserve)
            loose = state.pin[rows] == 0
            labels[rows[loose]] = ids[loose]
        nobody = np.flatnonzero(labels == 0)  # no faces, and new
        if len(nobody):
            begin = cast.log.reserve(len(nobody), free)
            labels[nobody] = np.arange(begin, begin + len(nobody))
        # A track that was cut is pinned in its parts: whose it is as a whole does not matter.
        whole = np.zeros(len(tracks), np.int64)
        whole[cast.cut_tracks.origin[::-1]] = labels[::-1]
        return Regrouped(whole, max(free, int(labels.max(initial=0)) + 1), taken)


def next_id(folder: Path) -> int:
    """Return the least id that no character of the folder has, as far as its file says."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return max(1, int(read_json(folder / CAST)["next"]))
    return 1


def _before(folder: Path, cast: CurrentCast) -> tuple[Rows, Rows]:
    """Return whose the tracks were in the earlier scan, and whose as clustered; 0 for nobody's."""
    owner, base = (np.zeros(len(cast.tracks), np.int64) for _ in range(2))
    try:
        earlier = CurrentCast(folder)
    except InputError:  # none, or damaged: what was said is in the log
        with suppress(InputError):  # or it was about to be replaced
            for one in load_cast(folder / NEXT_CAST, cast.scanned.tracks).characters:
                owner[np.isin(cast.cut_tracks.origin, one.tracks)] = one.number
        return owner, owner.copy()
    with earlier:
        anchors = anchors_of(
            earlier.tracks, range(len(earlier.tracks)), earlier.scanned.scans, earlier.looks
        )
        found = find_anchors(cast.tracks, anchors, cast.looks)
        for k, (rows, _) in enumerate(found):
            owner[rows] = earlier.state.owner[k]
            base[rows] = earlier.state.base[k]
    return owner, base
