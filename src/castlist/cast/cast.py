"""The cast: the characters of a video, by screen time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from castlist.cast.certainty import certainty, track_certainty
from castlist.cast.state import State
from castlist.extras import require
from castlist.tracks import TrackSet

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: A character is background if its screen time is below this share of the leading character's, and
#: below this number of seconds. Background characters are shown after the others.
BACKGROUND_SHARE, BACKGROUND_SECONDS = 0.05, 10.0
#: Width of a face in pixels below which it cannot be recognised (docs/research/describer.md).
SMALL_FACE = 20.0


@dataclass(frozen=True)
class Character:
    """One person of a video.

    Attributes
    ----------
    number : int
        Its id, which never changes and is never reused. A first scan numbers by screen time.
    name : str
        Its name; empty until you give one.
    background : bool
        Whether it is on screen only briefly, or was marked as background.
    tracks : ndarray of int
        Its tracks, as rows of the TrackSet, in order of time.
    seconds : float
        Screen time: for how long at least one of its tracks is visible.
    sure : float
        The probability that these tracks show one person; for a single track, that it is the only
        track of its person.
    reviewed : bool
        Whether it was named or marked as background.
    small : bool
        Whether all of its faces are too small to recognise, and it was not reviewed.
    track_sure : tuple of float
        The probability that each of its tracks belongs to it, estimated from faces.
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
        """The name, or else the kind and number."""
        kind = "Background" if self.background else "Character"
        return self.name or f"{kind} {self.number}"

    @property
    def group(self) -> str:
        """Where it is listed: ``main``, ``background`` or ``small``. Counts are by this too."""
        return "small" if self.small else "background" if self.background else "main"

    @property
    def state(self) -> str:
        """``named``, ``background``, ``small``, or ``unreviewed`` for the others."""
        return "named" if self.name else self.group if self.group != "main" else "unreviewed"


@dataclass(frozen=True)
class Cast:
    """All characters of a video, or of several.

    Attributes
    ----------
    tracks : TrackSet
        The face tracks.
    characters : tuple of Character
        By screen time. Background characters come after the others, and characters whose faces are
        all too small to recognise come last.
    duration : float
        Seconds of video; the sum if there are several videos.
    starts : tuple of float
        Start of each video, if they are played one after another.
    folder : Path, optional
        The cast's folder, which has pictures of faces; None for a cast that was not read from one.
    """

    tracks: TrackSet
    characters: tuple[Character, ...]
    duration: float
    starts: tuple[float, ...] = (0.0,)
    folder: Path | None = None

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """Start and end of each track, on one timeline if there are several videos."""
        return timeline(self.tracks, self.starts)

    def labels(self) -> NDArray[np.int64]:
        """Return the position in ``characters`` of each track's character; -1 for none."""
        labels = np.full(len(self.tracks), -1)
        for place, character in enumerate(self.characters):
            labels[character.tracks] = place
        return labels

    def to_arrow(self) -> pa.Table:
        """Return the cast as a table with one row per track.

        Rows are in the order of ``characters``, and by time within each. Tracks that belong to no
        character, because they were marked as not a face, are left out.

        Returns
        -------
        pyarrow.Table
            With the columns ``character`` (id), ``name``, ``background``, ``track`` (id),
            ``video``, ``start`` and ``end`` (seconds from the start of its video), ``faces``
            (number of faces) and ``certainty`` (probability that the track belongs to the
            character).
        """
        import pyarrow as pa

        tracks, people = self.tracks, self.characters
        sizes = [len(one.tracks) for one in people]
        rows = np.concatenate([np.empty(0, np.int64), *(one.tracks for one in people)])
        spans = tracks.spans[rows]
        sure = [s for one in people for s in one.track_sure or (None,) * len(one.tracks)]
        per_track = np.repeat(np.arange(len(people)), sizes).tolist()
        return pa.table(
            {
                "character": pa.array([people[k].number for k in per_track], pa.int64()),
                "name": pa.array([people[k].name for k in per_track], pa.string()),
                "background": pa.array([people[k].background for k in per_track], pa.bool_()),
                "track": pa.array(tracks.ids[rows].tolist(), pa.string()),
                "video": pa.array([tracks.videos[k] for k in tracks.video[rows]], pa.string()),
                "start": pa.array(spans[:, 0], pa.float64()),
                "end": pa.array(spans[:, 1], pa.float64()),
                "faces": pa.array(tracks.face_counts[rows], pa.int64()),
                "certainty": pa.array(sure, pa.float64()),
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return :meth:`to_arrow` as a pandas DataFrame; pandas must be installed."""
        require("pandas", "Cast.to_pandas")
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        """Return one card per character, for notebooks."""
        from castlist.cast.cards import cast_html

        return cast_html(self)


def make_cast(
    tracks: TrackSet,
    labels: NDArray[np.int64],
    features: NDArray[np.floating],
    duration: float,
    state: State | None = None,
    starts: Sequence[float] = (0.0,),
) -> Cast:
    """Return a cast with one character per cluster.

    Parameters
    ----------
    tracks : TrackSet
        Tracks of one or more videos.
    labels : ndarray of int, shape (n_tracks,)
        The cluster of each track; -1 for tracks that belong to no character.
    features : ndarray of shape (n_tracks, dim)
        Mean features of the tracks, from which certainty is estimated.
    duration : float
        Seconds of video; the sum if there are several videos.
    state : State, optional
        Names and background marks of a corrected cast; ``labels`` are then ids of characters.
    starts : sequence of float
        Start of each video, if they are played one after another.
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
    """Return the start and end of each track, with the videos one after another.

    If ``starts`` does not have one value per video, each video ends with its last track.
    """
    spans = tracks.spans
    if len(starts) != len(tracks.videos):
        lengths = np.zeros(len(tracks.videos))
        np.fmax.at(lengths, tracks.video, spans[:, 1])
        starts = (np.cumsum(lengths) - lengths).tolist()
    return np.asarray(spans + np.asarray(starts, float)[tracks.video, None])


@dataclass(frozen=True)
class Appearance:
    """An interval in which a character is visible, in seconds, and its number of tracks."""

    start: float
    end: float
    n_tracks: int


def appearances(spans: NDArray[np.float64], gap: float = 0.0) -> list[Appearance]:
    """Return the union of some tracks' intervals, in order of time.

    Parameters
    ----------
    spans : ndarray of float, shape (n_tracks, 2)
        Start and end of each track, in the time of one video or of one timeline. Tracks without
        times (NaN) are left out.
    gap : float
        Seconds. Intervals that overlap, touch or are at most this far apart are merged.
    """
    spans = spans[np.isfinite(spans).all(axis=1)]
    if len(spans) < 2:  # most characters of a series have one track in a video
        return [Appearance(start, end, 1) for start, end in spans.tolist()]
    starts, ends = spans[np.argsort(spans[:, 0], kind="stable")].T
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate([[True], starts[1:] > reached[:-1] + gap]))
    last = np.concatenate([first[1:], [len(starts)]])
    return [
        Appearance(float(starts[i]), float(reached[j - 1]), j - i)
        for i, j in zip(first.tolist(), last.tolist(), strict=True)
    ]


def screen_time(spans: NDArray[np.float64]) -> float:
    """Return for how many seconds at least one of the tracks is visible."""
    return sum(one.end - one.start for one in appearances(spans))
