"""Who found faces and tracks show, by the truth: matched by time and overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.geometry import iou
from castlist.io.truth import NOTFACE, UNSURE

#: Seconds that a found face and a truth face may be apart.
NEAR = 0.15
#: Overlap (intersection over union, less the cost of time) that makes two faces the same.
SAME = 0.3
#: What a second between two faces costs in overlap: of equal boxes the nearest in time is taken.
COST_OF_TIME = 0.2
#: A track is mixed if more than this share of its faces shows somebody else.
MIXED = 0.2

_NOBODY = -1


@dataclass(frozen=True)
class TrackTruth:
    """What the truth says of each found track.

    Attributes
    ----------
    who : ndarray of str, shape (n_tracks,)
        The person most of its faces show; empty where none of them shows a person.
    mixed : ndarray of bool, shape (n_tracks,)
        Whether more than a fifth of its faces that show a person show another one.
    unmatched : ndarray of bool, shape (n_tracks,)
        Whether it shows no person, and most of its faces have no row in the truth.
    notface : ndarray of bool, shape (n_tracks,)
        Whether it shows no person, and the truth says that it is no face.
    """

    who: NDArray[np.str_]
    mixed: NDArray[np.bool_]
    unmatched: NDArray[np.bool_]
    notface: NDArray[np.bool_]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which tracks show a person."""
        return np.asarray(self.who != "")

    @property
    def false(self) -> NDArray[np.bool_]:
        """Which tracks show no face that the truth has."""
        return self.unmatched | self.notface


def match_faces(
    time: NDArray[np.floating],
    box: NDArray[np.floating],
    truth_time: NDArray[np.floating],
    truth_box: NDArray[np.floating],
) -> NDArray[np.int64]:
    """Return the truth face that each found face is, as a row of the truth; -1 where none is.

    Candidates are at most 0.15 s away. The one with the largest overlap is taken, less 0.2 for
    every second between, if that is 0.3 or more. Several found faces may be one truth face. Of
    equal candidates, the last in time is taken, and of those the last row.

    Parameters
    ----------
    time, truth_time : ndarray of shape (n,) and (m,)
        Seconds.
    box, truth_box : ndarray of shape (n, 4) and (m, 4)
        x, y, width, height. What is NaN matches nothing.
    """
    time, truth_time = np.asarray(time, np.float64), np.asarray(truth_time, np.float64)
    by_time = np.argsort(truth_time, kind="stable")
    first = np.searchsorted(truth_time[by_time], time - NEAR, "left")
    count = np.searchsorted(truth_time[by_time], time + NEAR, "right") - first
    face = np.repeat(np.arange(len(time)), count)
    begin = np.cumsum(count) - count
    candidate = by_time[np.repeat(first - begin, count) + np.arange(len(face))]
    overlap = iou(np.asarray(box)[face], np.asarray(truth_box)[candidate])
    overlap = overlap - COST_OF_TIME * np.abs(truth_time[candidate] - time[face])
    kept = overlap >= SAME
    face, candidate, overlap = face[kept], candidate[kept], overlap[kept]
    order = np.lexsort((overlap, face))  # stable: the last of equals stays last
    last = order[_last_of_each(face[order])]
    found = np.full(len(time), _NOBODY, np.int64)
    found[face[last]] = candidate[last]
    return found


def truth_of_tracks(
    offsets: NDArray[np.int64], matched: NDArray[np.int64], who: NDArray[np.str_]
) -> TrackTruth:
    """Return what the truth says of each track: who most of its faces show.

    Of people with equally many faces of a track, the one seen first is taken.

    Parameters
    ----------
    offsets : ndarray of int, shape (n_tracks + 1,)
        Where each track's faces begin.
    matched : ndarray of int, shape (n_faces,)
        What :func:`match_faces` returned for all of them.
    who : ndarray of str, shape (n_truth,)
        Who each truth face is.
    """
    n = len(offsets) - 1
    track = np.repeat(np.arange(n), np.diff(offsets))
    names, code = np.unique(who, return_inverse=True)
    shown = np.full(len(matched), _NOBODY)
    shown[matched >= 0] = code[matched[matched >= 0]]
    skipped = np.flatnonzero(np.isin(names, (NOTFACE, UNSURE)))
    person = (shown != _NOBODY) & ~np.isin(shown, skipped)
    total = np.bincount(track[person], minlength=n)
    main, most = _commonest(track[person], shown[person], n)
    other, _ = _commonest(track[~person], shown[~person], n)
    scored = total > 0
    # The empty name comes last: of tracks that show nobody.
    label = np.append(names, "")[np.where(scored, main, len(names))]
    return TrackTruth(
        who=label,
        mixed=total - most > MIXED * total,
        unmatched=~scored & (other == _NOBODY),
        notface=~scored & np.isin(other, np.flatnonzero(names == NOTFACE)),
    )


def seen_faces(matched: NDArray[np.int64], n_truth: int) -> NDArray[np.bool_]:
    """Return which truth faces were found: at least one found face matches them."""
    seen = np.zeros(n_truth, bool)
    seen[matched[matched >= 0]] = True
    return seen


def _commonest(
    track: NDArray[np.int64], value: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each track's most frequent value, of equals the first, and how often it occurs."""
    pairs, first, count = np.unique(
        np.stack([track, value], axis=1), axis=0, return_index=True, return_counts=True
    )
    # The leading pair of each track comes last, so that it is the one that stays.
    order = np.lexsort((-first, count, pairs[:, 0]))
    last = order[_last_of_each(pairs[order, 0])]
    main, most = np.zeros(n, np.int64), np.zeros(n, np.int64)
    main[pairs[last, 0]], most[pairs[last, 0]] = pairs[last, 1], count[last]
    return main, most


def _last_of_each(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each run of equal keys ends."""
    return np.flatnonzero(keys != np.append(keys[1:], -1))
