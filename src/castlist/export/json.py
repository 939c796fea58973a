"""Write JSON: the whole cast, as described by ``cast.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from castlist.export.timeline import Person, Timeline, one_line

FORMAT = 1


def json_lines(timelines: Sequence[Timeline]) -> Iterator[str]:
    """Yield the cast with the appearances and tracks of its characters."""
    value = {
        "format": "castlist",
        "version": FORMAT,
        "videos": [_video(one) for one in timelines],
        "characters": _characters(timelines),
    }
    yield json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    text = files(__package__).joinpath("cast.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _video(one: Timeline) -> dict[str, Any]:
    rate = one.known_rate
    return {
        "name": one.video,
        "duration": round(one.duration, 3),
        "rate": None if rate is None else [rate.numerator, rate.denominator],
        "size": None if one.size is None else list(one.size),
    }


def _characters(timelines: Sequence[Timeline]) -> list[dict[str, Any]]:
    """Return the characters of all videos, most screen time first and background last."""
    found: dict[int, list[tuple[Timeline, Person]]] = {}
    for one in timelines:
        for person in one.people:
            found.setdefault(person.character.number, []).append((one, person))
    everybody = [_character(parts) for parts in found.values()]
    return sorted(everybody, key=lambda one: (one["background"], -one["seconds"], one["number"]))


def _character(parts: list[tuple[Timeline, Person]]) -> dict[str, Any]:
    person = parts[0][1]
    character = person.character
    return {
        "number": character.number,
        "name": one_line(character.name),
        "label": person.label,
        "background": character.background,
        "reviewed": character.reviewed,
        "confidence": person.confidence,
        "small": character.small,
        "seconds": round(character.seconds, 3),
        "appearances": [
            {"video": line.video, "start": round(seen.start, 3), "end": round(seen.end, 3)}
            for line, one in parts
            for seen in one.appearances
        ],
        "tracks": [
            {
                "id": str(line.tracks.ids[track]),
                "video": line.video,
                "start": round(float(line.start[track]), 3),
                "end": round(float(line.end[track]), 3),
                "confidence": round(sure, 4),
            }
            for line, one in parts
            for track, sure in zip(one.tracks.tolist(), one.track_confidence, strict=True)
        ],
    }
