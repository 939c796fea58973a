"""Find when people are seen: together, any of them, or without somebody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any

import numpy as np

from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.timeline import Timeline, timelines
from castlist.handover.intervals import Intervals, difference, intersection, padded, union


class Mode(StrEnum):
    """How several people are combined."""

    TOGETHER = "together"
    ANY = "any"


@dataclass(frozen=True)
class Scene:
    """An interval of one video.

    Attributes
    ----------
    video : str
        Name of the video.
    start, end : float
        Seconds.
    people : tuple of str
        Labels of all characters that are seen in it, in the order of the cast.
    """

    video: str
    start: float
    end: float
    people: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.end - self.start

    def to_json(self) -> dict[str, Any]:
        """Return the scene as a dict of JSON values, with times in milliseconds' precision."""
        return {
            "video": self.video, "start": round(self.start, 3), "end": round(self.end, 3),
            "people": list(self.people),
        }  # fmt: skip


@dataclass(frozen=True)
class SceneSettings:
    """How scenes are made of appearances.

    Attributes
    ----------
    gap : float
        Seconds. Appearances of one person that are at most this far apart count as one, so that
        people who are shown in turn (shot and reverse shot) are together.
    pad : float
        Seconds added at both ends of every scene.
    shortest : float
        Seconds. Shorter scenes are left out, before padding.
    """

    gap: float = 0.0
    pad: float = 0.0
    shortest: float = 0.0

    def __post_init__(self) -> None:
        for name in ("gap", "pad", "shortest"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name} must be a number of seconds from 0, not {value:g}")


def find_scenes(
    cast: CurrentCast,
    people: Sequence[int | str],
    mode: Mode | str = Mode.TOGETHER,
    *,
    without: Sequence[int | str] = (),
    settings: SceneSettings | None = None,
    among: Sequence[Timeline] | None = None,
) -> list[Scene]:
    """Return the scenes of a cast in which people are seen, by video and time.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    people : sequence of int or str
        Numbers or names of characters, at least one.
    mode : {"together", "any"}
        Whether all of them or at least one must be seen.
    without : sequence of int or str
        Characters who must not be seen.
    settings : SceneSettings, optional
        How scenes are made of appearances.
    among : sequence of Timeline, optional
        The videos to look in; all of the cast's if not given.
    """
    if not people:
        raise InputError("name at least one person to look for")
    if mode not in list(Mode):
        raise InputError(f"unknown mode {mode!r}; use {' or '.join(Mode)}")
    settings = settings or SceneSettings()
    wanted = list(dict.fromkeys(cast.character(one).number for one in people))
    unwanted = list(dict.fromkeys(cast.character(one).number for one in without))
    if both := sorted(set(wanted) & set(unwanted)):
        raise InputError(f"character {both[0]} is both wanted and not wanted")
    scenes = []
    for timeline in timelines(cast) if among is None else among:
        seen = appearances_by_number(timeline, settings.gap, wanted)
        none = np.empty((0, 2))
        found = combined([seen.get(number, none) for number in wanted], Mode(mode))
        if not len(found):
            continue
        # Somebody who must not be seen is not seen between two appearances either way.
        excluded = appearances_by_number(timeline, numbers=unwanted)
        if excluded:
            found = difference(found, combined(list(excluded.values()), Mode.ANY))
        found = found[found[:, 1] - found[:, 0] >= settings.shortest]
        found = padded(found, settings.pad, timeline.duration) if settings.pad else found
        always = set(wanted) if mode == Mode.TOGETHER else set()
        seen_in = _Seen(timeline, always)
        scenes += [
            Scene(timeline.video, start, end, seen_in.labels(start, end))
            for start, end in found.tolist()
        ]
    return scenes


def combined(sets: Sequence[Intervals], mode: Mode) -> Intervals:
    """Return the times that are in all sets of intervals, or in any of them."""
    if mode is Mode.ANY:
        return union(np.concatenate(sets))
    return reduce(intersection, sets)


def appearances_by_number(
    timeline: Timeline, gap: float = 0.0, numbers: Sequence[int] | None = None
) -> dict[int, Intervals]:
    """Return when characters are seen, by number; nearby appearances count as one.

    Parameters
    ----------
    timeline : Timeline
        A video.
    gap : float
        Seconds. Appearances at most this far apart count as one.
    numbers : sequence of int, optional
        The characters; all if not given. Those who are not in the video are left out.
    """
    return {
        person.character.number: union([(one.start, one.end) for one in person.appearances], gap)
        for person in timeline.people
        if numbers is None or person.character.number in numbers
    }


class _Seen:
    """Who is seen in intervals of a video."""

    def __init__(self, timeline: Timeline, always: set[int]) -> None:
        people = timeline.people
        self.names = [person.label for person in people]
        self.always = np.array([person.character.number in always for person in people], bool)
        every = [(k, one) for k, person in enumerate(people) for one in person.appearances]
        self.who = np.array([k for k, _ in every], np.int64)
        self.start = np.array([one.start for _, one in every])
        self.end = np.array([one.end for _, one in every])

    def labels(self, start: float, end: float) -> tuple[str, ...]:
        """Return the labels of those who are seen in an interval, or who count as seen."""
        seen = self.always.copy()
        seen[self.who[(self.start < end) & (self.end > start)]] = True
        return tuple(self.names[k] for k in np.flatnonzero(seen).tolist())
