"""Match found faces and tracks with the people of the ground truth, by time and overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.geometry import iou
from castlist.io.truth import NOTFACE, UNSURE

#: Largest difference in seconds between a found face and a face of the truth.
NEAR = 0.15
#: Least overlap (IoU, less the cost of time) of two faces that are the same.
SAME = 0.3
#: Overlap subtracted per second between two faces, so that of equal boxes the nearest in time wins.
COST_OF_TIME = 0.2
#: A track is mixed if more than this share of its faces shows another person.
MIXED = 0.2

_NONE = -1


@dataclass(frozen=True)
class TrackTruth:
    """The ground truth of each found track.

    Attributes
    ----------
    who : ndarray of str, shape (n_tracks,)
        The person that most faces of the track show; empty if no face shows a person.
    mixed : ndarray of bool, shape (n_tracks,)
        Whether more than a fifth of the faces that show a person show another one.
    unmatched : ndarray of bool, shape (n_tracks,)
        Whether the track shows no person, and most of its faces have no row in the truth.
    notface : ndarray of bool, shape (n_tracks,)
        Whether the track shows no person, and is not a face according to the truth.
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
        """Which tracks show no face of the truth."""
        return self.unmatched | self.notface


def match_faces(
    time: NDArray[np.floating],
    box: NDArray[np.floating],
    truth_time: NDArray[np.floating],
    truth_box: NDArray[np.floating],
) -> NDArray[np.int64]:
    """Return the row of the truth that matches each found face; -1 if there is none.

    Candidates are at most 0.15 s away. The score of a candidate is its overlap (IoU) less 0.2 per
    second between the two faces; the best one is taken if its score is at least 0.3. Several
    found faces may match one row. Of equal candidates, the last in time is taken, then the last
    row.

    Parameters
    ----------
    time, truth_time : ndarray of shape (n,) and (m,)
        Seconds.
    box, truth_box : ndarray of shape (n, 4) and (m, 4)
        x, y, width, height. NaN matches nothing.
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
    found = np.full(len(time), _NONE, np.int64)
    found[face[last]] = candidate[last]
    return found


def truth_of_tracks(
    offsets: NDArray[np.int64], matched: NDArray[np.int64], who: NDArray[np.str_]
) -> TrackTruth:
    """Return the ground truth of each track: the person that most of its faces show.

    If several people have equally many faces, the one seen first is taken.

    Parameters
    ----------
    offsets : ndarray of int, shape (n_tracks + 1,)
        Where each track's faces begin.
    matched : ndarray of int, shape (n_faces,)
        The result of :func:`match_faces`.
    who : ndarray of str, shape (n_truth,)
        The person of each face of the truth.
    """
    n = len(offsets) - 1
    track = np.repeat(np.arange(n), np.diff(offsets))
    names, code = np.unique(who, return_inverse=True)
    shown = np.full(len(matched), _NONE)
    shown[matched >= 0] = code[matched[matched >= 0]]
    skipped = np.flatnonzero(np.isin(names, (NOTFACE, UNSURE)))
    person = (shown != _NONE) & ~np.isin(shown, skipped)
    total = np.bincount(track[person], minlength=n)
    main, most = _most_frequent(track[person], shown[person], n)
    other, _ = _most_frequent(track[~person], shown[~person], n)
    scored = total > 0
    # The empty name, of tracks that show no person, comes last.
    label = np.append(names, "")[np.where(scored, main, len(names))]
    return TrackTruth(
        who=label,
        mixed=total - most > MIXED * total,
        unmatched=~scored & (other == _NONE),
        notface=~scored & np.isin(other, np.flatnonzero(names == NOTFACE)),
    )


def seen_faces(matched: NDArray[np.int64], n_truth: int) -> NDArray[np.bool_]:
    """Return which faces of the truth were found: those that at least one found face matches."""
    seen = np.zeros(n_truth, bool)
    seen[matched[matched >= 0]] = True
    return seen


def _most_frequent(
    track: NDArray[np.int64], value: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each track's most frequent value, the first of equals, and its number of faces."""
    pairs, first, count = np.unique(
        np.stack([track, value], axis=1), axis=0, return_index=True, return_counts=True
    )
    # The most frequent value of each track comes last, so that it is the one kept.
    order = np.lexsort((-first, count, pairs[:, 0]))
    last = order[_last_of_each(pairs[order, 0])]
    main, most = np.zeros(n, np.int64), np.zeros(n, np.int64)
    main[pairs[last, 0]], most[pairs[last, 0]] = pairs[last, 1], count[last]
    return main, most


def _last_of_each(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each run of equal keys ends."""
    return np.flatnonzero(keys != np.append(keys[1:], -1))
