"""What is exported: the people of one video, and when they are seen."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast import Appearance, Cast, Character, appearances
from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.timecode import exact_rate, frame_at
from castlist.io.files import printable
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class Person:
    """A character in one video.

    Attributes
    ----------
    character : Character
        Who it is in the whole cast.
    label : str
        Its title, in one line and nobody else's.
    tracks : ndarray of int
        Its tracks in this video, as rows of the timeline's.
    appearances : tuple of Appearance
        When it is seen: its tracks, put together where they overlap or touch.
    track_confidence : tuple of float
        How sure castlist is that each track belongs to it, 0 to 1.
    """

    character: Character
    label: str
    tracks: NDArray[np.int64]
    appearances: tuple[Appearance, ...]
    track_confidence: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """How sure castlist is of this character, 0 to 1."""
        return round(self.character.sure, 4)


@dataclass(frozen=True)
class Timeline:
    """One video of a cast.

    Attributes
    ----------
    video : str
        Its name.
    known_rate : Fraction or None
        Frames a second.
    size : (int, int) or None
        Width and height.
    duration : float
        Seconds.
    tracks : TrackSet
        Its face tracks.
    start, end : ndarray of float, shape (n_tracks,)
        When each is seen, seconds.
    people : tuple of Person
        Who is in it, in the order of the cast.
    """

    video: str
    known_rate: Fraction | None
    size: tuple[int, int] | None
    duration: float
    tracks: TrackSet
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    people: tuple[Person, ...]

    @property
    def rate(self) -> Fraction:
        """Frames a second, or say that it is not known."""
        if self.known_rate is None:
            raise InputError(
                f"{self.video}: its frame rate is not known, and this format counts frames; "
                "give it with --rate"
            )
        return self.known_rate

    def frames(self, one: Appearance) -> tuple[int, int]:
        """Return an appearance's first frame, and the one after its last."""
        first = frame_at(one.start, self.rate)
        return first, max(first + 1, frame_at(one.end, self.rate))

    def in_order(self) -> list[tuple[Appearance, Person]]:
        """All appearances by time; of those at once, the leading character's first."""
        every = [(one, person) for person in self.people for one in person.appearances]
        return sorted(every, key=lambda pair: pair[0].start)

    def coloured(self, colours: Sequence[str]) -> dict[str, str]:
        """Give everybody a colour, by label: the leading character the first, and around."""
        return {one.label: colours[k % len(colours)] for k, one in enumerate(self.people)}

    def face_frames(self) -> NDArray[np.int64]:
        """Return the frame of each face; by its time where the number is not known."""
        frame = self.tracks.frame.copy()
        for face in np.flatnonzero(frame < 0).tolist():
            frame[face] = frame_at(float(self.tracks.time[face]), self.rate)
        return frame


def timelines(corrected: CurrentCast, rate: float | None = None) -> list[Timeline]:
    """Prepare a cast, as corrected, for export: one timeline a video.

    Parameters
    ----------
    corrected : CurrentCast
        The cast of a folder.
    rate : float, optional
        Frames a second, where the scan did not note them or the average is not wanted.
    """
    cast, scanned = corrected.cast, corrected.scanned
    labels = unique_labels(cast)
    count = len(cast.tracks.videos)
    made = []
    for video in range(max(1, count)):
        about = scanned.films[video if scanned.joined else 0]
        if not scanned.joined and count > 1 and about.get("name") != cast.tracks.videos[video]:
            about = {}  # of another video
        made.append(_timeline(cast, labels, video, about, rate))
    return made


def unique_labels(cast: Cast) -> list[str]:
    """Return a title a character, one line each; who shares one is told apart by number."""
    titles = [one_line(one.title) for one in cast.characters]
    numbered = [f"{t} ({one.number})" for t, one in zip(titles, cast.characters, strict=True)]
    times = Counter(titles)
    labels = [
        title if title and times[title] == 1 else with_number
        for title, with_number in zip(titles, numbered, strict=True)
    ]
    # Somebody may be called "Anna (7)" by name; numbers at least are nobody else's.
    return labels if len(set(labels)) == len(labels) else numbered


def one_line(text: str) -> str:
    """Return text that fits into a line of any of the formats: no breaks, no control signs."""
    kept = "".join(" " if _breaks(letter) else letter for letter in printable(text))
    return " ".join(kept.split())


def _breaks(letter: str) -> bool:
    # The last two are no characters at all, and XML knows it.
    return unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter in "\ufffe\uffff"


def _timeline(
    cast: Cast, labels: list[str], number: int, about: dict[str, Any], rate: float | None
) -> Timeline:
    videos = cast.tracks.videos
    rows = np.flatnonzero(cast.tracks.video == number)
    tracks = cast.tracks[rows] if len(videos) > 1 else cast.tracks
    video = videos[number] if videos else ""
    exact = _rate(tracks, rate if rate is not None else about.get("rate"))
    spans = tracks.spans
    lengths = np.diff([*cast.starts, cast.duration])
    known = len(lengths) == max(1, len(videos))  # else only how long all are together
    duration = float(spans.max(initial=lengths[number] if known else 0.0))
    place = np.full(len(cast.tracks), -1)
    place[rows] = np.arange(len(rows))
    people = []
    for one, label in zip(cast.characters, labels, strict=True):
        own = place[one.tracks]
        here = own >= 0
        if here.any():
            sure = tuple(np.asarray(one.track_sure)[here].tolist())
            own = own[here]
            people.append(Person(one, label, own, tuple(appearances(spans[own])), sure))
    size = about.get("size")
    return Timeline(
        one_line(video), exact, (int(size[0]), int(size[1])) if size else None, duration, tracks,
        spans[:, 0], spans[:, 1], tuple(people),
    )  # fmt: skip


def _rate(tracks: TrackSet, noted: float | None) -> Fraction | None:
    """Return the frame rate that was noted, or that the frames and times of faces tell."""
    if noted is not None:
        return exact_rate(float(noted))
    known = np.flatnonzero(tracks.frame >= 0)
    if not len(known) or not np.ptp(tracks.frame[known]):
        return None
    times = tracks.time[known]
    return exact_rate(float(np.ptp(tracks.frame[known]) / max(np.ptp(times), 1e-3)))
