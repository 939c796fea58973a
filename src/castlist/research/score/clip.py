"""Score one clip against its ground truth, and summarise several clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.io.truth import Truth
from castlist.research.score.faces import NEAR, TrackTruth, match_faces, seen_faces, truth_of_tracks
from castlist.research.score.people import CrossTable
from castlist.tracks import TrackSet

#: Upper ends of the bins of face width, in pixels of the video.
WIDTHS = (25.0, 40.0, 80.0)
_INTERVAL = 0.2  # seconds between faces, if the truth has only one time


@dataclass(frozen=True)
class WidthScore:
    """Figures of one bin of face width.

    Attributes
    ----------
    low, high : float or None
        Widths in pixels, from ``low`` up to but not including ``high``; None for the last bin.
    tracks, wrong, false : int
        Tracks that show a person, those of them in another person's character, and tracks that
        show no face, by the median width of their faces.
    faces, seen : int
        Faces of the truth of this width, and those of them that were found.
    """

    low: float
    high: float | None
    tracks: int
    wrong: int
    false: int
    faces: int
    seen: int


@dataclass(frozen=True)
class PersonScore:
    """Figures of one person: seconds in the truth, tracks, and number of characters owned."""

    who: str
    seconds: float
    tracks: int
    characters: int


@dataclass(frozen=True)
class CharacterScore:
    """Figures of one character with a track that shows a person.

    Attributes
    ----------
    label : int
        Its label.
    tracks : int
        Number of its tracks that show a person.
    pure : bool
        Whether these tracks all show one person, and none is mixed.
    whole : bool
        Whether it has all tracks of its owner.
    """

    label: int
    tracks: int
    pure: bool
    whole: bool


@dataclass(frozen=True)
class ClipScore:
    """All figures of one clip; fractions, not percent.

    Attributes
    ----------
    people, covered, lost : int
        People in the truth, those that a track shows, and those who own no character.
    tracks, characters : int
        Tracks that show a person, and characters with such tracks.
    nmi, wcp, accuracy : float
        As of :class:`~castlist.research.score.people.CrossTable`.
    wrong, pieces : int
        Tracks in another person's character, and characters beyond the first of each person.
    mixed, false, unlabelled : int
        Tracks that show two people, tracks that show no face of the truth, and those false tracks
        that are where a visible face has no row in the truth (None if not known).
    false_characters : int
        Characters with false tracks and without a track that shows a person.
    seen : float
        Share of the truth's faces that were found.
    person_seconds : float
        Screen time in the truth, summed over people.
    by_width, by_person, by_character : tuple
        Figures per bin of face width, per person and per character.
    """

    people: int
    covered: int
    lost: int
    tracks: int
    characters: int
    nmi: float
    wcp: float
    accuracy: float
    wrong: int
    pieces: int
    mixed: int
    false: int
    unlabelled: int | None
    false_characters: int
    seen: float
    person_seconds: float
    by_width: tuple[WidthScore, ...]
    by_person: tuple[PersonScore, ...]
    by_character: tuple[CharacterScore, ...]

    @property
    def tracks_per_minute(self) -> float:
        """Tracks per minute of a person's screen time: higher if people are split into more."""
        return 60 * self.tracks / self.person_seconds if self.person_seconds else 0.0


@dataclass(frozen=True)
class Summary:
    """Figures of several clips: means of fractions, and sums of counts.

    ``number_off`` is the mean of ``|characters − people| / people``; ``repairs`` is the number of
    wrong tracks and pieces.
    """

    nmi: float
    wcp: float
    accuracy: float
    seen: float
    number_off: float
    tracks: int
    repairs: int
    repair_share: float
    mixed: int
    false: int


def score_clip(
    tracks: TrackSet,
    labels: NDArray[np.int64],
    truth: Truth,
    missed: NDArray[np.float64] | None = None,
) -> ClipScore:
    """Return all figures of one clip.

    Parameters
    ----------
    tracks : TrackSet
        The tracks found, with times and boxes.
    labels : ndarray of int, shape (n_tracks,)
        The character of each track; -1 for tracks without one.
    truth : Truth
        The person of each face.
    missed : ndarray of float, shape (n, 2), optional
        Intervals in seconds in which a visible face has no row in the truth.
    """
    matched = match_faces(tracks.time, tracks.box, truth.time, truth.box)
    shown = truth_of_tracks(tracks.offsets, matched, truth.who)
    table = CrossTable(shown.who[shown.scored], labels[shown.scored])
    wrong = np.zeros(len(tracks), bool)
    wrong[shown.scored] = table.wrong
    seen = seen_faces(matched, len(truth.who)) & truth.scored
    by_person = _by_person(truth, table)
    false_labels = np.setdiff1d(labels[shown.false], table.characters)
    return ClipScore(
        people=len(by_person),
        covered=len(table.people),
        lost=sum(not one.characters for one in by_person),
        tracks=len(table.who),
        characters=len(table.characters),
        nmi=table.nmi,
        wcp=table.wcp,
        accuracy=table.accuracy,
        wrong=int(wrong.sum()),
        pieces=table.pieces,
        mixed=int(shown.mixed.sum()),
        false=int(shown.false.sum()),
        unlabelled=None if missed is None else int(_within(tracks, shown, missed).sum()),
        false_characters=int((false_labels >= 0).sum()),
        seen=float(seen.sum() / max(truth.scored.sum(), 1)),
        person_seconds=sum(one.seconds for one in by_person),
        by_width=_by_width(tracks, shown, wrong, truth, seen),
        by_person=by_person,
        by_character=_by_character(table, labels, shown),
    )


def summarise(scores: Sequence[ClipScore]) -> Summary:
    """Return means and sums over clips; ``number_off`` leaves out clips without people."""

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values)) if len(values) else 0.0

    tracks = sum(one.tracks for one in scores)
    repairs = sum(one.wrong + one.pieces for one in scores)
    return Summary(
        nmi=mean([one.nmi for one in scores]),
        wcp=mean([one.wcp for one in scores]),
        accuracy=mean([one.accuracy for one in scores]),
        seen=mean([one.seen for one in scores]),
        number_off=mean(
            [abs(one.characters - one.people) / one.people for one in scores if one.people]
        ),
        tracks=tracks,
        repairs=repairs,
        repair_share=repairs / max(tracks, 1),
        mixed=sum(one.mixed for one in scores),
        false=sum(one.false for one in scores),
    )


def add_widths(scores: Sequence[ClipScore]) -> list[WidthScore]:
    """Return the figures per bin of face width, summed over clips."""
    return [
        WidthScore(
            bins[0].low, bins[0].high, sum(one.tracks for one in bins),
            sum(one.wrong for one in bins), sum(one.false for one in bins),
            sum(one.faces for one in bins), sum(one.seen for one in bins),
        )
        for bins in zip(*(one.by_width for one in scores), strict=True)
    ]  # fmt: skip


def seconds_of_samples(times: NDArray[np.float64], interval: float) -> float:
    """Return the screen time of a person who is seen at these times.

    Each sample lasts until the next, and at most ``interval`` seconds.
    """
    moments = np.unique(times)
    return float(np.minimum(np.diff(moments), interval).sum() + interval) if len(moments) else 0.0


def _by_person(truth: Truth, table: CrossTable) -> tuple[PersonScore, ...]:
    moments = np.unique(truth.time)
    interval = float(np.median(np.diff(moments))) if len(moments) > 1 else _INTERVAL
    owned = dict(zip(table.people.tolist(), table.owned.tolist(), strict=True))
    return tuple(
        PersonScore(
            who, seconds_of_samples(truth.time[truth.who == who], interval),
            int((table.who == who).sum()), owned.get(who, 0),
        )
        for who in np.unique(truth.who[truth.scored]).tolist()
    )  # fmt: skip


def _by_character(
    table: CrossTable, labels: NDArray[np.int64], shown: TrackTruth
) -> tuple[CharacterScore, ...]:
    pure = table.pure & ~np.isin(table.characters, labels[shown.mixed])
    columns = (table.characters, table.counts.sum(axis=0), pure, table.whole)
    return tuple(
        CharacterScore(*values)
        for values in zip(*(column.tolist() for column in columns), strict=True)
        if values[0] >= 0
    )


def _by_width(
    tracks: TrackSet, shown: TrackTruth, wrong: NDArray[np.bool_], truth: Truth,
    seen: NDArray[np.bool_],
) -> tuple[WidthScore, ...]:  # fmt: skip
    parts = np.split(tracks.box[:, 2], tracks.offsets[1:-1]) if len(tracks) else []
    of_track = np.searchsorted(WIDTHS, [float(np.median(part)) for part in parts], "right")
    of_face = np.searchsorted(WIDTHS, truth.box[:, 2], "right")
    lows, highs = (0.0, *WIDTHS), (*WIDTHS, None)
    return tuple(
        WidthScore(
            lows[k], highs[k], int((shown.scored & (of_track == k)).sum()),
            int((wrong & (of_track == k)).sum()), int((shown.false & (of_track == k)).sum()),
            int((truth.scored & (of_face == k)).sum()), int((seen & (of_face == k)).sum()),
        )
        for k in range(len(WIDTHS) + 1)
    )  # fmt: skip


def _within(tracks: TrackSet, shown: TrackTruth, missed: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which unmatched tracks have at least half of their faces in a missed interval."""
    time = tracks.time[:, None]
    inside = ((time >= missed[:, 0] - NEAR) & (time <= missed[:, 1] + NEAR)).any(axis=1)
    share = np.bincount(tracks.track_of_face, inside, len(tracks)) / tracks.face_counts
    return shown.unmatched & (share >= 0.5)
