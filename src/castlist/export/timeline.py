"""The people of one video and their appearances, prepared for export."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist.cast.cast import Appearance, Cast, Character, appearances
from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.timecode import exact_rate, frame_at
from castlist.geometry import pixel_scale
from castlist.io.files import printable
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class Person:
    """A character in one video.

    Attributes
    ----------
    character : Character
        The character in the whole cast.
    label : str
        Its title: one line, unique in the cast.
    tracks : ndarray of int
        Its tracks in this video, as rows of the timeline's tracks.
    appearances : tuple of Appearance
        The union of its tracks: those that overlap or touch are one appearance.
    track_confidence : tuple of float
        Confidence that each track belongs to it, 0 to 1.
    """

    character: Character
    label: str
    tracks: NDArray[np.int64]
    appearances: tuple[Appearance, ...]
    track_confidence: tuple[float, ...] = ()

    @property
    def confidence(self) -> float:
        """Confidence in this character, 0 to 1."""
        return round(self.character.sure, 4)


@dataclass(frozen=True)
class Timeline:
    """One video of a cast.

    Attributes
    ----------
    video : str
        Its name.
    known_rate : Fraction or None
        Frames per second.
    size : (int, int) or None
        Width and height as shown, in square pixels, as the boxes of the tracks are.
    duration : float
        Seconds. All times of a cast are counted from the first frame.
    tracks : TrackSet
        Its face tracks.
    start, end : ndarray of float, shape (n_tracks,)
        Start and end of each track in seconds.
    people : tuple of Person
        The people in it, in the order of the cast.
    stored_size : (int, int) or None
        Width and height of stored frames, turned upright, as other tools read them.
    delay : float
        Seconds by which the first frame comes later than the file begins, as with longer sound.
    """

    video: str
    known_rate: Fraction | None
    size: tuple[int, int] | None
    duration: float
    tracks: TrackSet
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    people: tuple[Person, ...]
    stored_size: tuple[int, int] | None = None
    delay: float = 0.0

    @property
    def rate(self) -> Fraction:
        """Frames per second; an InputError if unknown."""
        if self.known_rate is None:
            raise InputError(
                f"{self.video}: the frame rate is unknown, and this format counts frames; "
                "give the rate"
            )
        return self.known_rate

    def frames(self, one: Appearance) -> tuple[int, int]:
        """Return an appearance's first frame, and the one after its last."""
        first = frame_at(one.start, self.rate)
        return first, max(first + 1, frame_at(one.end, self.rate))

    def played(self, time: float) -> float:
        """Return the time at which players show what is at a time of the cast, in seconds."""
        return time + self.delay

    def in_order(self) -> list[tuple[Appearance, Person]]:
        """Return all appearances by time; at the same time, the leading character's first."""
        every = [(one, person) for person in self.people for one in person.appearances]
        return sorted(every, key=lambda pair: pair[0].start)

    def coloured(self, colours: Sequence[str]) -> dict[str, str]:
        """Return a colour per label: the first for the leading character, then in turn."""
        return {one.label: colours[k % len(colours)] for k, one in enumerate(self.people)}

    def stored_boxes(self) -> NDArray[np.float64]:
        """Return the box of each face in stored pixels, which other tools count."""
        return self.tracks.box / pixel_scale(self.size, self.stored_size)

    def face_frames(self) -> NDArray[np.int64]:
        """Return the frame of each face, computed from its time if the number is unknown."""
        frame = self.tracks.frame.copy()
        for face in np.flatnonzero(frame < 0).tolist():
            frame[face] = frame_at(float(self.tracks.time[face]), self.rate)
        return frame


def timelines(
    corrected: CurrentCast, rate: float | None = None, video: int | None = None
) -> list[Timeline]:
    """Return one timeline per video of a corrected cast, or that of one video.

    Parameters
    ----------
    corrected : CurrentCast
        The cast of a folder.
    rate : float, optional
        Frames per second, instead of the average that the scan recorded.
    video : int, optional
        Number of the only video, from 0; all videos if not given.
    """
    cast = corrected.cast
    labels, owner = unique_labels(cast), cast.labels()
    numbers = range(max(1, len(cast.tracks.videos))) if video is None else [video]
    return [_timeline(corrected, labels, owner, number, rate) for number in numbers]


def number_of(every: Sequence[Timeline], video: str, folder: Path) -> int:
    """Return the number of the video with a name; an InputError if there is none."""
    names = [one.video for one in every]
    if video not in names:
        raise InputError(f"{folder} has no video {video!r}; it has {', '.join(names)}")
    return names.index(video)


def unique_labels(cast: Cast) -> list[str]:
    """Return one label per character, one line each; equal titles get the character's number."""
    titles = [one_line(one.title) for one in cast.characters]
    numbered = [f"{t} ({one.number})" for t, one in zip(titles, cast.characters, strict=True)]
    times = Counter(titles)
    labels = [
        title if title and times[title] == 1 else with_number
        for title, with_number in zip(titles, numbered, strict=True)
    ]
    # A name may itself be "Anna (7)"; numbers are unique.
    return labels if len(set(labels)) == len(labels) else numbered


def one_line(text: str) -> str:
    """Return text as one line of any format: no line breaks, no control characters."""
    kept = "".join(" " if _breaks(letter) else letter for letter in printable(text))
    return " ".join(kept.split())


def _breaks(letter: str) -> bool:
    # The last two are not characters, and XML refuses them.
    return unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter in "\ufffe\uffff"


def _timeline(
    corrected: CurrentCast, labels: list[str], owner: NDArray[np.int64], number: int,
    rate: float | None,
) -> Timeline:  # fmt: skip
    cast, scanned = corrected.cast, corrected.scanned
    videos = cast.tracks.videos
    about = scanned.films[number if scanned.joined else 0]
    if not scanned.joined and len(videos) > 1 and about.get("name") != videos[number]:
        about = {}  # it describes another video
    rows = np.flatnonzero(cast.tracks.video == number)
    tracks = cast.tracks[rows] if len(videos) > 1 else cast.tracks
    video = videos[number] if videos else ""
    exact = _rate(tracks, rate if rate is not None else about.get("rate"))
    spans = tracks.spans
    lengths = np.diff([*cast.starts, cast.duration])
    known = len(lengths) == max(1, len(videos))  # otherwise only their sum is known
    duration = float(spans.max(initial=lengths[number] if known else 0.0))
    place = np.full(len(cast.tracks), -1)
    place[rows] = np.arange(len(rows))
    people = []
    here = owner[rows]
    for k in np.unique(here[here >= 0]).tolist():  # a series has many who are not in this video
        one = cast.characters[k]
        own = place[one.tracks]
        here = own >= 0
        sure = tuple(np.asarray(one.track_sure)[here].tolist())
        own = own[here]
        people.append(Person(one, labels[k], own, tuple(appearances(spans[own])), sure))
    return Timeline(
        one_line(video), exact, _size(about.get("size")), duration, tracks, spans[:, 0],
        spans[:, 1], tuple(people), _size(about.get("stored_size")),
        float(about.get("delay") or 0.0),
    )  # fmt: skip


def _size(noted: list[int] | None) -> tuple[int, int] | None:
    return (int(noted[0]), int(noted[1])) if noted else None


def _rate(tracks: TrackSet, noted: float | None) -> Fraction | None:
    """Return the recorded frame rate, or else the rate of the faces' frames and times."""
    if noted is not None:
        return exact_rate(float(noted))
    known = np.flatnonzero(tracks.frame >= 0)
    if not len(known) or not np.ptp(tracks.frame[known]):
        return None
    times = tracks.time[known]
    return exact_rate(float(np.ptp(tracks.frame[known]) / max(np.ptp(times), 1e-3)))
