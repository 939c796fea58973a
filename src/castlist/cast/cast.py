"""The cast: the characters of a video, by screen time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from castlist.cast.certainty import certainty, track_certainty
from castlist.cast.state import State
from castlist.tracks import TrackSet

#: Who is on screen for less than this part of what the leading character is, and less than these
#: seconds, is background: shown after the others.
BACKGROUND_SHARE, BACKGROUND_SECONDS = 0.05, 10.0
#: Pixels of a face's width, below which nobody can be told by it (docs/research/describer.md).
SMALL_FACE = 20.0


@dataclass(frozen=True)
class Character:
    """One person of a video.

    Attributes
    ----------
    number : int
        Its id: never another's, and never changed. A first scan numbers by screen time.
    name : str
        Empty until somebody gives one.
    background : bool
        Whether it is on screen for a moment only, or a person said that it is background.
    tracks : ndarray of int
        Its tracks, as rows of the TrackSet, in order of time.
    seconds : float
        Screen time: for how long at least one of its tracks is seen.
    sure : float
        The probability that these tracks are one person; of a single track, that it is all there
        is of one.
    reviewed : bool
        Whether a person gave it a name, or said that it is background.
    small : bool
        Whether all of its faces are too small to tell who it is, and no person has said it.
    track_sure : tuple of float
        The probability that each of its tracks belongs to it, as far as faces tell.
    """

    number: int
    name: str
    background: bool
    tracks: NDArray[np.int64]
    seconds: float
    sure: float
    reviewed: bool = False
    small: bool = False
    track_sure: tuple[float, ...] = ()

    @property
    def title(self) -> str:
        """The name, or a number."""
        kind = "Background" if self.background else "Character"
        return self.name or f"{kind} {self.number}"

    @property
    def state(self) -> str:
        """``unreviewed``, ``named`` or ``background``."""
        return "named" if self.name else "background" if self.reviewed else "unreviewed"


@dataclass(frozen=True)
class Cast:
    """All characters of a video.

    Attributes
    ----------
    tracks : TrackSet
        The face tracks.
    characters : tuple of Character
        By screen time; background characters come after the others, those too small to tell last.
    duration : float
        Seconds of video; of several, all together.
    starts : tuple of float
        When each video begins, if they are seen one after another.
    """

    tracks: TrackSet
    characters: tuple[Character, ...]
    duration: float
    starts: tuple[float, ...] = (0.0,)

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """When each track begins and ends, of several videos one after another."""
        return timeline(self.tracks, self.starts)

    def labels(self) -> NDArray[np.int64]:
        """Return the character of each track, by its place in ``characters``."""
        labels = np.full(len(self.tracks), -1)
        for place, character in enumerate(self.characters):
            labels[character.tracks] = place
        return labels


def make_cast(
    tracks: TrackSet,
    labels: NDArray[np.int64],
    features: NDArray[np.floating],
    duration: float,
    state: State | None = None,
    starts: Sequence[float] = (0.0,),
) -> Cast:
    """Make characters of clusters.

    Parameters
    ----------
    tracks : TrackSet
        Tracks of one or more videos.
    labels : ndarray of int, shape (n_tracks,)
        The cluster of each; -1 for tracks that are nobody's.
    features : ndarray of shape (n_tracks, dim)
        Mean features of the tracks, to tell how sure each character is.
    duration : float
        Seconds of video; of several, all together.
    state : State, optional
        Names and what is background; labels are then the numbers of characters.
    starts : sequence of float
        When each video begins, if they are seen one after another.
    """
    spans = timeline(tracks, starts)
    kept = labels >= 0
    clusters = np.unique(labels[kept])
    total = np.array([screen_time(spans[labels == c]) for c in clusters])
    sure = certainty(features[kept], labels[kept])
    track_sure = np.zeros(len(tracks))
    track_sure[kept] = track_certainty(features[kept], labels[kept])
    widest = np.fmax.reduceat(tracks.box[:, 2], tracks.offsets[:-1]) if len(tracks) else np.empty(0)
    small = np.array([np.max(widest[labels == c]) < SMALL_FACE for c in clusters], bool)
    limit = min(BACKGROUND_SHARE * float(total.max(initial=0.0)), BACKGROUND_SECONDS)
    background = total < limit
    names: dict[int, str] = {}
    marked: dict[int, bool] = {}
    if state is not None:
        names, marked = state.names, state.background
        for k, cluster in enumerate(clusters.tolist()):
            background[k] = marked.get(cluster, background[k] and not names.get(cluster))
            small[k] &= cluster not in marked and not names.get(cluster)
    begins = spans[:, 0]
    first = np.array([begins[labels == c].min() for c in clusters])
    order = np.lexsort((first, -total, background, small))
    characters = []
    for number, k in enumerate(order.tolist(), 1):
        own = np.flatnonzero(labels == clusters[k])
        own = own[np.argsort(begins[own], kind="stable")]
        cluster = int(clusters[k])
        characters.append(
            Character(
                number if state is None else cluster, names.get(cluster, ""), bool(background[k]),
                own, float(total[k]), float(sure[k]),
                bool(names.get(cluster)) or marked.get(cluster, False), bool(small[k]),
                tuple(track_sure[own].tolist()),
            )
        )  # fmt: skip
    return Cast(tracks, tuple(characters), duration, tuple(starts))


def timeline(tracks: TrackSet, starts: Sequence[float]) -> NDArray[np.float64]:
    """Return when each track begins and ends, of several videos one after another.

    If ``starts`` does not say when each video begins, each lasts until its last track ends.
    """
    spans = tracks.spans
    if len(starts) != len(tracks.videos):
        lengths = np.zeros(len(tracks.videos))
        np.fmax.at(lengths, tracks.video, spans[:, 1])
        starts = (np.cumsum(lengths) - lengths).tolist()
    return np.asarray(spans + np.asarray(starts, float)[tracks.video, None])


@dataclass(frozen=True)
class Appearance:
    """An interval in which a character is seen, in seconds, and how many tracks are in it."""

    start: float
    end: float
    n_tracks: int


def appearances(spans: NDArray[np.float64], gap: float = 0.0) -> list[Appearance]:
    """Return the union of some tracks' intervals, in order of time.

    Parameters
    ----------
    spans : ndarray of float, shape (n_tracks, 2)
        When each track begins and ends, all in the time of one video or of one timeline. A track
        without times (NaN) is left out.
    gap : float
        Seconds. Intervals that overlap, touch or are no farther apart than this are one.
    """
    spans = spans[np.isfinite(spans).all(axis=1)]
    if not len(spans):
        return []
    starts, ends = spans[np.argsort(spans[:, 0], kind="stable")].T
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate([[True], starts[1:] > reached[:-1] + gap]))
    last = np.concatenate([first[1:], [len(starts)]])
    return [
        Appearance(float(starts[i]), float(reached[j - 1]), j - i)
        for i, j in zip(first.tolist(), last.tolist(), strict=True)
    ]


def screen_time(spans: NDArray[np.float64]) -> float:
    """Return for how many seconds at least one of some tracks is seen."""
    return sum(one.end - one.start for one in appearances(spans))
