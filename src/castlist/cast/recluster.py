"""Cluster again with what was said: same → must-link, different → cannot-link."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist.cast.balls import Balls
from castlist.cast.corrections import Corrections
from castlist.cast.log import ChangedMeanwhile
from castlist.cast.replay import State
from castlist.cast.waivers import not_waived
from castlist.cluster.linkage import complete_linkage
from castlist.cluster.tracks import cluster_points, embed_tracks
from castlist.errors import InputError, NumberError, counted
from castlist.learn.finetune import finetune
from castlist.learn.model import BallModel
from castlist.learn.model_file import load_model
from castlist.learn.shipped import shipped_model
from castlist.progress import Progress, silent

Rows = NDArray[np.int64]
#: Tracks that stand for a character where it is kept apart from another.
_WITNESSES = 8


@dataclass(frozen=True)
class Change:
    """Tracks that would go from one character to another."""

    before: int
    after: int
    tracks: Rows


@dataclass(frozen=True)
class Proposal:
    """Another clustering, not yet taken.

    Attributes
    ----------
    labels : ndarray of int
        The number of each track's character; a character that is mostly the same keeps its own.
    points : ndarray of float32
        What was clustered.
    changes : tuple of Change
        What would be different, the largest first.
    names : dict
        Names of characters, as they would be.
    after : int
        Number of the last event it knows of.
    basis : str
        The scan and clustering it comes after.
    n_characters : int
        How many characters it has, as clustered.
    given_up : ndarray of int, shape (m, 2)
        Tracks that share a frame and would be one character: the number that the scan was asked
        for needs it.
    """

    labels: Rows
    points: NDArray[np.float32]
    changes: tuple[Change, ...]
    names: dict[int, str]
    after: int
    basis: str
    n_characters: int = 0
    given_up: Rows = field(default_factory=lambda: np.empty((0, 2), np.int64))


def propose(
    corrections: Corrections, tuned: bool = False, *, progress: Progress = silent
) -> Proposal:
    """Cluster again with what was said; nothing changes until :func:`accept`.

    The number of characters that the scan was asked for still counts: tracks that share a frame
    come together where it needs that, and what was said is not given up for it.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    tuned : bool
        Fine-tune the model first, with the pairs that were said.
    progress : callable
        Told how far it is.
    """
    with corrections.lock:
        after, state, scanned = corrections.refresh(), corrections.state, corrections.scanned
        points, tracks = corrections.points, corrections.tracks
        must, cannot, avoid = links_said(state, corrections.overlaps)
        owner = state.owner.copy()
        face = np.flatnonzero(~state.not_face)
        kept = [number for number, name in state.names.items() if name]
    if not len(face):
        return Proposal(owner, points, (), {}, after, scanned.basis)
    if tuned and scanned.joined:
        raise InputError("a cast of several videos is not fine-tuned; its videos are")
    if tuned:
        start = model_of(corrections)
        chosen = tracks[face]
        to = np.full(len(tracks), -1)
        to[face] = np.arange(len(face))
        shared = avoid[owner[avoid[:, 0]] != owner[avoid[:, 1]]]
        two = np.unique(np.concatenate([cannot, shared]), axis=0)
        model = finetune(start, chosen, same=to[must], different=to[two], progress=progress)
        points = points.copy()
        points[face] = embed_tracks(chosen, model)
    asked = scanned.run.get("settings", {})
    wanted = asked.get("characters")
    links = {
        "must_link": np.searchsorted(face, must),
        "cannot_link": np.searchsorted(face, cannot),
        "avoid_link": np.searchsorted(face, avoid),
    }
    given_up = avoid[:0]
    if scanned.joined:
        # Of several videos, characters are put together, and not taken apart.
        unit = np.unique(owner[face], return_inverse=True)[1]
        made = regrouped(points[face], unit, scanned.threshold, **links)
    else:
        try:
            found = cluster_points(
                points[face], scanned.threshold, n_clusters=wanted and min(wanted, len(face)),
                at_least=asked.get("min_characters"), at_most=asked.get("max_characters"),
                progress=progress, **links,
            )  # fmt: skip
        except NumberError as error:
            raise _refusal(corrections.folder, error) from error
        made, given_up = found.labels, face[found.given_up]
    labels = owner.copy()
    labels[face] = _keep_numbers(made, owner[face], kept)
    with corrections.lock:
        then = corrections.state_on(labels)
    changes = _changes(owner, then.owner, face)
    return Proposal(
        labels, points, changes, dict(then.names), after, scanned.basis,
        len(np.unique(made)), given_up,
    )  # fmt: skip


def _refusal(folder: Path, error: NumberError) -> InputError:
    """Say that the number that a scan was asked for and what was said do not go together."""
    bound = "at least" if error.asked < error.possible else "at most"
    return InputError(
        f"{folder} was scanned for {counted(error.asked, 'character')}, and what was said since "
        f"makes them {bound} {error.possible}; scan again with another number, or undo some of it"
    )


def accept(corrections: Corrections, proposal: Proposal, *, after: int | None = None) -> None:
    """Take another clustering; it can be undone as everything else."""
    with corrections.lock:
        basis = corrections.scanned.basis
        if basis != proposal.basis:
            raise ChangedMeanwhile("the video was scanned again since this clustering was made")
        seen = proposal.after if after is None else after
        made = (basis, proposal.labels, proposal.points)
        corrections.log.append_clustering(*made, seen, corrections.who)
        corrections.refresh()


def regrouped(
    points: NDArray[np.floating],
    unit: Rows,
    threshold: float,
    must_link: Rows,
    cannot_link: Rows,
    avoid_link: Rows,
) -> Rows:
    """Return the group of each track: complete linkage of the middles of units at τ."""
    cannot = unit[np.concatenate([cannot_link, avoid_link])]
    cannot = cannot[cannot[:, 0] != cannot[:, 1]]
    made = complete_linkage(
        Balls.of(points, unit).middles, threshold, must_link=unit[must_link], cannot_link=cannot
    )
    return np.asarray(made.labels[unit])


def links_said(state: State, overlaps: Rows) -> tuple[Rows, Rows, Rows]:
    """Return must-links and cannot-links of what was said and still holds, and avoid-links.

    The last are of tracks that share a frame, also of one character: it may be one only because
    the scan was asked for so few.

    What was said later wins: two tracks that were called one person and then taken apart are no
    must-link, and the other way round.
    """
    owner, face = state.owner, ~state.not_face
    must: list[tuple[int, int]] = []
    for rows in state.same:
        rows = rows[face[rows]]
        for number in np.unique(owner[rows]).tolist():
            own = rows[owner[rows] == number].tolist()
            must += pairwise(own)
    apart: list[tuple[int, int]] = []
    for a, b in state.two_people():
        apart += product(a[:_WITNESSES].tolist(), b[:_WITNESSES].tolist())
    named = [number for number, name in sorted(state.names.items()) if name]
    for one, other in combinations(named, 2):
        if state.names[one] != state.names[other]:
            apart += product(
                state.members(one)[:_WITNESSES].tolist(), state.members(other)[:_WITNESSES].tolist()
            )
    cannot, avoid = _pairs(apart), not_waived(overlaps, state.waived)
    cannot = cannot[owner[cannot[:, 0]] != owner[cannot[:, 1]]]
    return _pairs(must), cannot[face[cannot].all(axis=1)], avoid[face[avoid].all(axis=1)]


def _pairs(pairs: list[tuple[int, int]]) -> Rows:
    return np.unique(np.array(pairs, np.int64).reshape(-1, 2), axis=0)


def _keep_numbers(labels: Rows, before: Rows, named: list[int]) -> Rows:
    """Call each new cluster by the number of the character it shares most tracks with.

    Named characters choose first: theirs is the cluster that has most of their tracks.
    """
    pairs, counts = np.unique(np.stack([labels, before]), axis=1, return_counts=True)
    first = np.isin(pairs[1], named)
    number: dict[int, int] = {}
    taken: set[int] = set()
    for k in np.lexsort((np.arange(len(counts)), -counts, ~first)).tolist():
        cluster, old = pairs[:, k].tolist()
        if cluster not in number and old not in taken:
            number[cluster] = old
            taken.add(old)
    last = int(before.max(initial=0))
    for cluster in np.unique(labels).tolist():
        if cluster not in number:
            last += 1
            number[cluster] = last
    return np.array([number[c] for c in labels.tolist()], np.int64)


def _changes(before: Rows, after: Rows, face: Rows) -> tuple[Change, ...]:
    moved = face[before[face] != after[face]]
    pairs, code = np.unique(np.stack([before[moved], after[moved]]), axis=1, return_inverse=True)
    found = [
        Change(int(pairs[0, k]), int(pairs[1, k]), moved[np.ravel(code) == k])
        for k in range(pairs.shape[1])
    ]
    return tuple(sorted(found, key=lambda change: -len(change.tracks)))


def model_of(corrections: Corrections) -> BallModel:
    """Return the model that the scan began with."""
    noted = corrections.scanned.run.get("settings", {})
    name = str(noted.get("model", "shipped"))
    if name == "shipped":
        return shipped_model(corrections.tracks.describer or "SFace-TV")
    path = Path(name)
    model = load_model(path)
    wanted = noted.get("model_print")  # not noted by a castlist of old
    if wanted and hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
        raise InputError(
            f"{path}: not the model that {corrections.scanned.folder} was scanned with; put that "
            "one back, or scan the video again"
        )
    return model
