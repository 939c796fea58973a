"""Cluster a video that is scanned again: tracks are new, and characters keep their ids."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import anchors_of
from castlist.cast.cast_file import load_cast, scan_digest
from castlist.cast.current import CurrentCast
from castlist.cast.events import live_events
from castlist.cast.finder import found_in
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
        The id of each track's character; for pinned tracks, the one before corrections.
    next_id : int
        The least unused id.
    taken : list of int
        Events that accepted clusterings of earlier scans; they no longer apply.
    """

    labels: Rows
    next_id: int
    taken: list[int]


def was_scanned(folder: Path) -> bool:
    """Return whether a folder has a complete earlier scan, or corrections of one."""
    with closing(Log(folder / CORRECTIONS)) as log:
        if log.last > 0:
            return True
    with suppress(InputError), CurrentCast(folder):
        return True
    return False  # none, or damaged beyond use


def regroup(
    folder: Path,
    tracks: TrackSet,
    points: NDArray[np.float32],
    threshold: float,
    asked: dict[str, Any],
    *,
    video: dict[str, Any] | None = None,
    progress: Progress = silent,
) -> Regrouped:
    """Cluster the tracks of a new scan around the corrections of an earlier one.

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
        ``n_characters``, ``min_characters`` and ``max_characters``, if given.
    video : dict, optional
        The entry of the video in ``run.json``, with the size of its frames.
    progress : callable
        Called with the stage, the number of items done and the total.
    """
    with closing(Log(folder / CORRECTIONS)) as log:
        first = log.next_id(next_id(folder))
        live, _ = live_events(log.events())
    # Clusterings that were accepted before no longer apply, even if the tracks are the same.
    taken = [event.number for event in live if event.kind == "recluster"]
    # Until they are clustered, every track is a new character of its own.
    alone = np.arange(first, first + len(tracks))
    new = Scanned(
        folder, tracks, alone, points, threshold, 0.0, {"video": video or {}},
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
        unassigned = np.flatnonzero(labels == 0)  # not a face, and new
        if len(unassigned):
            begin = cast.log.reserve(len(unassigned), free)
            labels[unassigned] = np.arange(begin, begin + len(unassigned))
        # The parts of a cut track are pinned: the label of the whole track does not matter.
        whole = np.zeros(len(tracks), np.int64)
        whole[cast.cut_tracks.origin[::-1]] = labels[::-1]
        return Regrouped(whole, max(free, int(labels.max(initial=0)) + 1), taken)


def next_id(folder: Path) -> int:
    """Return the least unused id of a folder, according to ``cast.json``."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return max(1, int(read_json(folder / CAST)["next"]))
    return 1


def _before(folder: Path, cast: CurrentCast) -> tuple[Rows, Rows]:
    """Return the id of each track in the earlier scan, corrected and as clustered; 0 for none."""
    owner, base = (np.zeros(len(cast.tracks), np.int64) for _ in range(2))
    try:
        earlier = CurrentCast(folder)
    except InputError:  # none, or damaged: corrections are in the log
        with suppress(InputError):  # there may be a new cast that has not replaced it yet
            for one in load_cast(folder / NEXT_CAST, cast.scanned.tracks).characters:
                owner[np.isin(cast.cut_tracks.origin, one.tracks)] = one.number
        return owner, owner.copy()
    with earlier:
        tracks, scanned, looks = earlier.tracks, earlier.scanned, earlier.mean_features
        anchors = anchors_of(tracks, range(len(tracks)), scanned.scans, looks, scanned.sizes)
        found = found_in(cast.scanned, cast.tracks, anchors, cast.mean_features)
        for k, (rows, _) in enumerate(found):
            owner[rows] = earlier.state.owner[k]
            base[rows] = earlier.state.base[k]
    return owner, base
