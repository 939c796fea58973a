"""Watch and Find: when people are seen, where their faces are, and the scenes they share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Query
from fastapi import Path as PathParameter
from starlette.responses import Response

from castlist.cast.corrections import Corrections
from castlist.errors import InputError
from castlist.export.timecode import can_drop
from castlist.export.timeline import Person, Timeline, one_line, timelines
from castlist.handover.scenes import Scene, SceneSettings, find_scenes
from castlist.io.files import printable
from castlist.review.files import SafeJSONResponse
from castlist.review.schemas import NAMED, Number

#: Longest window of boxes in seconds; most people to look for, and most videos.
_WINDOW, _PEOPLE, _VIDEOS = 600.0, 100, 10**6

Video = Annotated[int, PathParameter(ge=0, le=_VIDEOS)]
Seconds = Annotated[float, Query(ge=0, le=10**7, allow_inf_nan=False)]


def watch_routes(
    corrections: Corrections, videos: Sequence[Path | None], wrong: Sequence[str] = ()
) -> APIRouter:
    """Return the routes of Watch and Find.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    videos : sequence of Path or None
        The video files to play; None for each that was not found.
    wrong : sequence of str
        For each video, why the file in its place is not played.
    """
    router = APIRouter()
    made: tuple[int, list[Timeline]] = (-1, [])

    def lines() -> list[Timeline]:
        """Return the timelines of the cast as it is now."""
        nonlocal made
        if made[0] != corrections.version:
            made = corrections.version, timelines(corrections)
        return made[1]

    def line(number: int) -> Timeline:
        """Return the timeline of one video; the others are not computed for it."""
        if number >= max(1, len(corrections.tracks.videos)):
            raise HTTPException(404)
        if len(corrections.tracks.videos) < 2 or made[0] == corrections.version:
            return lines()[number]
        return timelines(corrections, video=number)[0]

    @router.get("/api/timeline/{video}", responses=NAMED, response_model=dict[str, Any])
    def timeline(video: Video) -> Response:
        with corrections.fresh():
            view = timeline_view(corrections, line(video), video)
        view["playable"] = video < len(videos) and videos[video] is not None
        view["wrong"] = printable(wrong[video]) if video < len(wrong) else ""
        return SafeJSONResponse(view)

    @router.get("/api/boxes/{video}", responses=NAMED, response_model=dict[str, Any])
    def boxes(video: Video, start: Seconds, end: Seconds) -> Response:
        with corrections.fresh():
            return SafeJSONResponse(boxes_view(corrections, line(video), start, end))

    @router.get("/api/find", responses=NAMED, response_model=dict[str, Any])
    def found(
        people: Annotated[list[Number], Query(min_length=1, max_length=_PEOPLE)],
        mode: Literal["together", "any"] = "together",
        without: Annotated[list[Number], Query(max_length=_PEOPLE)] = [],  # noqa: B006
        gap: Seconds = 0.0,
        shortest: Seconds = 0.0,
        video: Annotated[int | None, Query(ge=0, le=_VIDEOS)] = None,
    ) -> Response:
        settings = SceneSettings(gap=gap, shortest=shortest)
        with corrections.fresh():
            every = lines()
            if video is not None and video >= len(every):
                raise HTTPException(404)
            among = every if video is None else [every[video]]
            scenes = find_scenes(
                corrections, people, mode, without=without, settings=settings, among=among
            )
            view = find_view(corrections, scenes, people, every)
            words = ["--together" if mode == "together" else "--any"]
            words += [word for one in without for word in ("--without", _word(corrections, one))]
            words += [f"--gap={gap:g}"] if gap else []
            words += [f"--shortest={shortest:g}"] if shortest else []
            words += [] if video is None else [f"--video={among[0].video}"]
            who = [_word(corrections, one) for one in people]
            folder = str(corrections.folder.resolve())
            view["command"] = shlex.join(["castlist", "find", folder, *who, *words])
        return SafeJSONResponse(view)

    return router


def timeline_view(corrections: Corrections, line: Timeline, number: int) -> dict[str, Any]:
    """Return when each character is seen in one video, those seen longest first.

    An appearance is its start, its end, and its first track that has a picture. ``frames`` are the
    frames that were kept as pictures: the time and the track of each.
    """
    cast = corrections.cast
    lengths = np.diff([*cast.starts, cast.duration]).tolist()
    names = cast.tracks.videos or ("",)
    known = len(lengths) == len(names)
    rows = [_row(corrections, line, person) for person in line.people]
    covers = corrections.covers
    shown = np.concatenate([np.empty(0, np.int64), *(one.tracks for one in line.people)])
    kept = [name for name in line.tracks.ids[shown].tolist() if name in covers]
    return {
        "last": corrections.version,
        "video": number,
        "name": line.video,
        "duration": round(line.duration, 3),
        **_rate(line),
        "size": line.size,
        "delay": line.delay,
        "videos": [
            {"name": one_line(name), "duration": round(lengths[k], 2) if known else None}
            for k, name in enumerate(names)
        ],
        "characters": sorted(rows, key=lambda row: (row["background"], -row["seconds"])),
        "frames": sorted([round(covers[name].time, 3), name] for name in kept),
    }


def _row(corrections: Corrections, line: Timeline, person: Person) -> dict[str, Any]:
    """Return one character of a video with its appearances."""
    order = person.tracks[np.argsort(line.start[person.tracks], kind="stable")]
    pictured = corrections.pictures
    names = [name if name in pictured else None for name in line.tracks.ids[order].tolist()]
    bounds = np.cumsum([0, *(one.n_tracks for one in person.appearances)]).tolist()
    spans = [
        [round(one.start, 3), round(one.end, 3), next(filter(None, names[first:free]), None)]
        for one, first, free in zip(person.appearances, bounds, bounds[1:], strict=False)
    ]
    return {
        "number": person.character.number,
        "title": person.label,
        "background": person.character.background,
        "seconds": round(sum(one.end - one.start for one in person.appearances), 2),
        "face": next((track for _, _, track in spans if track), None),
        "spans": spans,
    }


def boxes_view(
    corrections: Corrections, line: Timeline, start: float, end: float
) -> dict[str, Any]:
    """Return the boxes of one video from ``start`` to ``end``, by track.

    A box is its time, left, top, width and height, in pixels of the frame as shown. The nearest
    box before and after the window are included, so that boxes can be interpolated.
    """
    if not start < end <= start + _WINDOW:
        raise InputError(f"the end must be after the start, and at most {_WINDOW:g} s after it")
    tracks, there = line.tracks, (line.start < end) & (line.end >= start)
    owner = np.zeros(len(tracks), np.int64)
    for person in line.people:
        owner[person.tracks] = person.character.number
    found = []
    for row in np.flatnonzero(there & (owner > 0)).tolist():
        first, free = tracks.offsets[row], tracks.offsets[row + 1]
        low, high = np.searchsorted(tracks.time[first:free], [start, end])
        faces = slice(first + max(low - 1, 0), min(first + high + 1, free))
        boxes = np.column_stack([tracks.time[faces], tracks.box[faces].astype(float).round(1)])
        found.append({
            "character": int(owner[row]),
            "start": round(float(line.start[row]), 3),
            "end": round(float(line.end[row]), 3),
            "boxes": boxes[np.isfinite(boxes).all(axis=1)].round(3).tolist(),
        })  # fmt: skip
    return {"last": corrections.version, "start": start, "end": end, "tracks": found}


def _word(corrections: Corrections, number: int) -> str:
    """Return a character as the command line takes it: its name, if no other has it."""
    name = corrections.character(number).name
    try:
        unique = corrections.character(name).number == number
    except InputError:
        return str(number)
    return name if unique and not name.startswith("-") else str(number)


def find_view(
    corrections: Corrections, scenes: Iterable[Scene], people: Iterable[int],
    every: Sequence[Timeline],
) -> dict[str, Any]:  # fmt: skip
    """Return scenes, each with the number of its video and a track of every wanted person."""
    place = {line.video: k for k, line in enumerate(every)}
    faces = _Faces(corrections, set(people))
    films = [(one, place[one.video]) for one in scenes]
    return {
        "last": corrections.version,
        "videos": [{"name": line.video, **_rate(line)} for line in every],
        "scenes": [one.to_json() | {"film": k, "faces": faces.of(one, k)} for one, k in films],
    }


def _rate(line: Timeline) -> dict[str, Any]:
    """Return the frame rate as a fraction, and whether its timecode is drop-frame."""
    rate = line.known_rate
    if rate is None:
        return {"rate": None, "drop": False}
    return {"rate": [rate.numerator, rate.denominator], "drop": can_drop(rate)}


class _Faces:
    """Tracks with pictures of some characters, to be found by video and time."""

    def __init__(self, corrections: Corrections, people: Iterable[int]) -> None:
        tracks = corrections.tracks
        own = [(row, number) for number in people for row in corrections.character(number).tracks]
        rows, self.who = np.array(own, np.int64).reshape(-1, 2).T
        pictures = corrections.pictures
        pictured = np.array([name in pictures for name in tracks.ids[rows].tolist()], bool)
        rows, self.who = rows[pictured], self.who[pictured]
        order = np.lexsort([tracks.spans[rows, 0], tracks.video[rows]])
        rows, self.who = rows[order], self.who[order]
        self.ids = tracks.ids[rows].tolist()
        self.video, (self.start, self.end) = tracks.video[rows], tracks.spans[rows].T

    def of(self, scene: Scene, film: int) -> list[list[Any]]:
        """Return the number and the first track of each person who is seen in a scene."""
        low, high = np.searchsorted(self.video, [film, film + 1])
        seen = (self.start[low:high] < scene.end) & (self.end[low:high] > scene.start)
        rows = low + np.flatnonzero(seen)
        first: dict[int, str] = {}
        for row, number in zip(rows.tolist(), self.who[rows].tolist(), strict=True):
            first.setdefault(number, self.ids[row])
        return [[number, track] for number, track in sorted(first.items())]
