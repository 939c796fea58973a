"""Cluster the tracks without corrections around those that a person assigned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.current import CurrentCast
from castlist.cast.links import Links
from castlist.cast.log import Clustering, ConflictError
from castlist.cast.matching import Balls
from castlist.cast.state import Change, changes
from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import cluster_points
from castlist.errors import InputError, NumberError, counted
from castlist.progress import Progress, silent

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Proposal:
    """A new clustering that is not accepted yet.

    Attributes
    ----------
    labels : ndarray of int
        The id that clustering assigns to each track; unchanged for pinned ones.
    changes : tuple of Change
        The tracks that would move, the largest group first.
    names : dict
        Names of characters.
    after : int
        Number of the last event that it includes.
    new : tuple of int
        Ids of new characters.
    basis : str
        Hash of the scan and clustering that it is based on.
    n_characters : int
        Number of characters, as clustered.
    given_up : ndarray of int, shape (m, 2)
        Pairs of tracks that share a frame and would be one character, because the requested number
        of characters requires it.
    """

    labels: Rows
    changes: tuple[Change, ...]
    names: dict[int, str]
    after: int
    basis: str
    new: tuple[int, ...] = ()
    n_characters: int = 0
    given_up: Rows = field(default_factory=lambda: np.empty((0, 2), np.int64))


def propose(cast: CurrentCast, *, progress: Progress = silent) -> Proposal:
    """Return a new clustering that respects all corrections; :func:`accept` applies it.

    The number of characters that was requested for the scan still applies: tracks that share a
    frame are merged if it requires that. Corrections are never given up for it.

    Parameters
    ----------
    cast : Corrections
        The cast.
    progress : callable
        Called with the stage, the number of items done and the total.
    """
    with cast.lock:
        after, scanned = cast.refresh(), cast.scanned
        points = cast.points
        corrected = Links.of(cast.state, cast.overlaps)
        owner, base, pin = cast.state.owner, cast.state.base.copy(), cast.state.pin.copy()
        face = np.flatnonzero(~cast.state.not_face)
        names, corrected_ids = dict(cast.state.names), cast.state.corrected_ids()
        next_id = cast.log.next_id(cast.next_id)
    if not len(face):
        return Proposal(base, (), {}, after, scanned.basis)
    asked = scanned.run.get("settings", {})
    given_up = corrected.avoid[:0]
    if scanned.joined:
        # In a joined cast, characters are merged and never split.
        links, rows = corrected, corrected.rows
        unit = np.unique(owner[rows], return_inverse=True)[1]
        made = regrouped(points[rows], unit, scanned.threshold, **links.among())
    else:
        with cast.lock:
            links = links_around(cast, points, scanned.threshold, asked, owner)
        rows = links.rows
        made, given_up = cluster_around(
            cast.folder, points[rows], scanned.threshold, asked, links.among(), progress
        )
        given_up = rows[given_up]
    labels = base.copy()
    ids, new = ids_of_clusters(links, made, pin, owner, corrected_ids, lambda count: next_id)
    loose = pin[rows] == 0
    labels[rows[loose]] = ids[loose]
    then = np.where(pin > 0, pin, labels)
    there = set(then[face].tolist())
    names = {number: name for number, name in names.items() if number in there}
    return Proposal(
        labels, changes(owner, then), names, after, scanned.basis, new,
        len(np.unique(then[face])), given_up,
    )  # fmt: skip


def links_around(
    cast: CurrentCast,
    points: NDArray[np.floating],
    threshold: float,
    asked: dict[str, Any],
    members: Rows,
) -> Links:
    """Return the links for clustering around corrections.

    If a number of characters is requested, all tracks pinned to one character are must-linked, so
    that clusters are characters.
    """
    if any(asked.get(key) for key in ("n_characters", "min_characters", "max_characters")):
        return Links.of(cast.state, cast.overlaps)

    def balls(rows: Rows) -> Rows:
        return complete_linkage(points[rows], threshold).labels

    return Links.around(cast.state, cast.overlaps, members, balls)


def cluster_around(
    folder: Path, points: NDArray[np.floating], threshold: float, asked: dict[str, Any],
    links: dict[str, Rows], progress: Progress,
) -> tuple[Rows, Rows]:  # fmt: skip
    """Cluster points as requested for a scan; return labels, and avoid-links that were given up."""
    wanted = asked.get("n_characters")
    try:
        found = cluster_points(
            points, threshold, n_clusters=wanted and min(wanted, len(points)),
            min_clusters=asked.get("min_characters"), max_clusters=asked.get("max_characters"),
            progress=progress, **links,
        )  # fmt: skip
    except NumberError as error:
        bound = "at least" if error.asked < error.possible else "at most"
        raise InputError(
            f"{folder} was scanned for {counted(error.asked, 'character')}, but corrections "
            f"require {bound} {error.possible}; scan again with another number, or undo some "
            "corrections"
        ) from error
    return found.labels, found.given_up


def accept(cast: CurrentCast, proposal: Proposal, *, after: int | None = None) -> None:
    """Accept a new clustering, as an event that can be undone."""
    with cast.lock:
        if cast.scanned.basis != proposal.basis:
            raise ConflictError("the video was scanned again since this clustering was computed")
        labels = proposal.labels.copy()
        first = cast.log.next_id(cast.next_id)  # others may have created characters
        new = range(first, first + len(proposal.new))
        for number, before in zip(new, proposal.new, strict=True):
            labels[proposal.labels == before] = number
        cast.log.append_clustering(
            Clustering(cast.keys(), labels, cast.points[:0]),
            proposal.after if after is None else after, cast.who, new,
        )  # fmt: skip
        cast.refresh()


def ids_of_clusters(
    links: Links,
    clusters: Rows,
    pin: Rows,
    before: Rows,
    corrected: set[int],
    reserve: Callable[[int], int],
) -> tuple[Rows, tuple[int, ...]]:
    """Return the id of each clustered track's character, and the ids that are new.

    A cluster with pinned tracks has their id. Any other cluster keeps the id of the character that
    it shares most tracks with, if that has no corrections; otherwise it gets a new id. If most
    tracks of a corrected character are not pinned, the cluster with more than half of its tracks
    keeps its id too. So several clusters may have one id. No track comes to it in this way that is
    kept apart from another of it.

    Parameters
    ----------
    links : Links
        The links, and the tracks that were clustered.
    clusters : ndarray of int
        The cluster of each of these tracks; none has tracks pinned to two ids.
    pin, before : ndarray of int, shape (n_tracks,)
        The id that each track is pinned to, and that of its character before; 0 for none.
    corrected : set of int
        The ids that have corrections.
    reserve : callable
        Reserves a number of new ids, and returns the first.
    """
    cluster = np.full(len(pin), -1)
    cluster[links.rows] = clusters
    ids = np.zeros(len(pin), np.int64)  # of each cluster; there are no more than tracks
    pinned = links.rows[pin[links.rows] > 0]
    ids[cluster[pinned]] = pin[pinned]
    _part_clusters(links, cluster, ids, pin)
    taken = set(ids[ids > 0].tolist())
    loose = links.rows[ids[cluster[links.rows]] == 0]
    pairs, counts = np.unique(np.stack([cluster[loose], before[loose]]), axis=1, return_counts=True)
    for k in np.argsort(-counts, kind="stable").tolist():
        one, old = pairs[:, k].tolist()
        if not old or ids[one]:
            continue
        if old not in corrected and old not in taken:
            ids[one] = old
            taken.add(old)
        elif old in corrected and 2 * counts[k] > (before == old).sum():
            theirs = (np.where(pin > 0, pin, ids[cluster]) == old)[links.apart]
            if not ((cluster[links.apart] == one) & theirs[:, ::-1]).any():
                ids[one] = old
    clusters = cluster[links.rows]
    new = np.unique(clusters[ids[clusters] == 0])
    if len(new):
        first = reserve(len(new))
        ids[new] = np.arange(first, first + len(new))
    return ids[clusters], tuple(ids[new].tolist())


def _part_clusters(links: Links, cluster: Rows, ids: Rows, pin: Rows) -> None:
    """Let tracks leave their cluster that are kept apart from another cluster of its id.

    The larger cluster keeps its tracks. Those that leave a cluster are one of their own.
    """
    sizes = np.bincount(cluster[links.rows], minlength=len(ids))
    last = int(cluster.max(initial=-1))
    numbers, counts = np.unique(ids[ids > 0], return_counts=True)
    for number in numbers[counts > 1].tolist():
        several = np.flatnonzero(ids == number)
        inside = np.zeros(len(pin), bool)
        for one in several[np.argsort(-sizes[several], kind="stable")].tolist():
            own = (cluster == one) & (pin == 0)
            leaves = np.unique(links.apart[own[links.apart] & inside[links.apart][:, ::-1]])
            if len(leaves):
                last += 1
                cluster[leaves] = last
            inside |= cluster == one


def regrouped(
    points: NDArray[np.floating],
    unit: Rows,
    threshold: float,
    must_link: Rows,
    cannot_link: Rows,
    avoid_link: Rows,
) -> Rows:
    """Return the group of each track: complete linkage of the centres of characters at τ."""
    cannot = unit[np.concatenate([cannot_link, avoid_link])]
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    made = complete_linkage(
        Balls.of(points, unit).centres, threshold, must_link=unit[must_link], cannot_link=cannot
    )
    return np.asarray(made.labels[unit])
