"""Screen time and exported times of whole scans, against the truth of the videos scanned."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import webvtt

from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.series import join
from castlist.export.write import ExportSettings, export_cast
from castlist.pipeline.scan import scan
from castlist.pipeline.scan_settings import ScanSettings
from datasets.demo_video import _panel, read_portrait
from datasets.small_videos import write_video

SIZE = (320, 180)
#: Who is in each shot, and its part of the video.
SHOTS = [((0,), 0.22), ((1,), 0.17), ((0, 1), 0.23), ((2,), 0.18), ((0,), 0.2)]
NAMED = [
    "12", "23.976", "variable", "slideshow",
    *(pytest.param(rate, marks=pytest.mark.slow) for rate in ("1", "5", "29.97", "50")),
]  # fmt: skip


@dataclass(frozen=True)
class Film:
    """A made video, and when each person is in it: one interval per shot."""

    path: Path
    shown: dict[int, list[tuple[float, float]]]
    rate: float | None  # that frames are counted at, where the video has none for editors
    frame: float  # seconds

    def appearances(self, person: int) -> list[tuple[float, float]]:
        """Join the shots that follow one another."""
        joined: list[tuple[float, float]] = []
        for start, end in self.shown[person]:
            if joined and joined[-1][1] == start:
                start = joined.pop()[0]
            joined.append((start, end))
        return joined


@pytest.fixture(scope="module")
def images(pictures):
    return [read_portrait(path) for path in pictures]


@pytest.fixture(scope="module", params=NAMED)
def film(request, images, tmp_path_factory):
    """Make a video of about 6 s, at 1 frame per second of 15 s, and a slideshow of 25 s."""
    fps: Fraction | int = 25
    times = rate = None
    if request.param == "slideshow":
        fps, counts, rate = Fraction(1, 5), [1] * len(SHOTS), 25.0
    elif request.param == "variable":
        counts = [round(100 * part) for _, part in SHOTS]
        steps = np.random.default_rng(0).choice([0.01, 0.04, 0.1], sum(counts) - 1)
        times = np.concatenate([[0.0], np.cumsum(steps)]).round(3)
    else:
        # As a fraction: 23.976 is 24000/1001.
        near = round(float(request.param))
        fps = near if float(request.param) == near else Fraction(1000 * near, 1001)
        counts = [round(max(6 * fps, 15) * part) for _, part in SHOTS]
    path = tmp_path_factory.mktemp("made") / f"{request.param}.mp4"
    images = [
        np.hstack([_panel(*images[who], (SIZE[0] // len(people), SIZE[1]), 0.4, 0.0)
                   for who in people])
        for people, _ in SHOTS
    ]  # fmt: skip
    every = [image for image, n in zip(images, counts, strict=True) for _ in range(n)]
    write_video(path, every, fps, times=None if times is None else times.tolist())
    cuts = np.cumsum([0, *counts])
    if times is None:
        moments = [float(frame / Fraction(fps)) for frame in cuts.tolist()]
    else:
        moments = [*times[cuts[:-1]].tolist(), float(times[-1]) + 1 / 25]
    shown = defaultdict(list)
    for (people, _), start, end in zip(SHOTS, moments, moments[1:], strict=False):
        for who in people:
            shown[who].append((start, end))
    return Film(path, dict(shown), rate, min(float(1 / fps), 0.05))


@pytest.fixture(scope="module")
def cast(film):
    found = scan(film.path, settings=ScanSettings())
    assert found.run["counts"]["shots"] == len(SHOTS)
    with Corrections(found.folder) as cast:
        yield cast


def close(found, truth, film):
    """Say whether intervals are the same, to a frame."""
    return len(found) == len(truth) and np.allclose(found, truth, rtol=0, atol=film.frame)


def one_each(found: dict[str, list], film: Film, truth) -> None:
    """Check that each person is just one of those found."""
    assert len(found) == len(film.shown)
    for person in film.shown:
        matching = [who for who, spans in found.items() if close(spans, truth(person), film)]
        assert len(matching) == 1, (found, truth(person))


def test_screen_time_is_that_of_the_shots(film, cast):
    truth = sorted(sum(b - a for a, b in spans) for spans in film.shown.values())
    found = sorted(one.seconds for one in cast.cast.characters)
    np.testing.assert_allclose(found, truth, rtol=0, atol=film.frame)
    end = max(b for spans in film.shown.values() for _, b in spans)
    assert cast.cast.duration == pytest.approx(end, abs=film.frame)


@pytest.mark.parametrize("to", ["csv", "json", "otio", "edl", "rttm", "vtt"])
def test_exported_times_are_those_of_the_shots(film, cast, to, tmp_path):
    counts_frames = to in ("otio", "edl")
    settings = ExportSettings(
        rate=film.rate if counts_frames else None, drop_frame=False if to == "edl" else None
    )
    (path,) = export_cast(cast, to, tmp_path / f"film.{to}", settings)
    rate = float(film.rate or cast.scanned.films[0]["rate"])
    found = defaultdict(list)
    for who, start, end in READERS[to](path, rate):
        found[who].append((start, end))
    one_each(found, film, film.shown.get if to == "csv" else film.appearances)


def test_a_joined_cast_has_the_screen_time_of_both(film, cast, tmp_path):
    again = scan(film.path, tmp_path / "again.cast", ScanSettings())
    run = json.loads((again.folder / RUN).read_text("utf-8"))
    del run["video"]["fingerprint"]  # it is the same video, and would be refused
    (again.folder / RUN).write_text(json.dumps(run | {"video": run["video"] | {"name": "b.mp4"}}))
    join([cast.folder, again.folder], tmp_path / "both.cast")
    with Corrections(tmp_path / "both.cast") as both:
        found = sorted(one.seconds for one in both.cast.characters)
        assert both.cast.duration == pytest.approx(2 * cast.cast.duration)
    truth = sorted(2 * sum(b - a for a, b in spans) for spans in film.shown.values())
    np.testing.assert_allclose(found, truth, rtol=0, atol=2 * film.frame)


def read_csv(path, rate):
    for row in csv.DictReader(path.open(newline="")):
        yield row["character"], float(row["start"]), float(row["end"])


def read_json(path, rate):
    for one in json.loads(path.read_text())["characters"]:
        spans = [(seen["start"], seen["end"]) for seen in one["appearances"]]
        assert one["seconds"] == pytest.approx(sum(b - a for a, b in spans), abs=0.01)
        yield from ((one["label"], *span) for span in spans)


def read_otio(path, rate):
    opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14
    (clip,) = opentimelineio.adapters.read_from_file(str(path), "otio_json").find_clips()
    for marker in clip.markers:
        seen = marker.marked_range
        yield marker.name, seen.start_time.to_seconds(), seen.end_time_exclusive().to_seconds()


def read_edl(path, rate):
    nominal = round(rate)
    markers = re.findall(r"(\d+):(\d+):(\d+):(\d+)  \n.*?\|M:([^|]*) \|D:(\d+)", path.read_text())
    for hours, minutes, seconds, frames, name, length in markers:
        # That of the frame after the marker's, which is one frame long; from 01:00:00:00.
        after = (60 * (60 * (int(hours) - 1) + int(minutes)) + int(seconds)) * nominal + int(frames)
        yield name, (after - 1) / rate, (after - 1 + int(length)) / rate


def read_rttm(path, rate):
    for line in path.read_text().splitlines():
        words = line.split()
        yield words[7], float(words[3]), float(words[3]) + float(words[4])


def read_vtt(path, rate):
    for cue in webvtt.read(str(path)):
        times = [cue.start_time, cue.end_time]
        start, end = (60 * (60 * t.hours + t.minutes) + t.seconds + t.milliseconds / 1000
                      for t in times)  # fmt: skip
        yield cue.text, start, end


READERS = {"csv": read_csv, "json": read_json, "otio": read_otio, "edl": read_edl,
           "rttm": read_rttm, "vtt": read_vtt}  # fmt: skip
