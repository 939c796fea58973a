"""Casts to export: of a few people with awkward names, at any frame rate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from castlist import TrackSet, read_tracks, write_tracks
from castlist.cast.cast_file import RUN, scan_digest
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CAST, TRACKS
from castlist.export.timecode import exact_rate
from castlist.export.timeline import Timeline, timelines
from datasets.synthetic_casts import write_folder

#: What names and files may be called, and formats stumble over.
AWKWARD = 'Zoë "Zed" <Lee> & Söhne, |1| --> 100 %'
VIDEO = 'Folge 1 é <a&b>,\n"x".mp4'
SPANS = [(0.0, 2.0, 0), (2.2, 4.0, 0), (0.0, 1.0, 1), (10.0, 12.0, 0), (599.8, 661.4, 1)]


def made_cast(
    folder: Path, rate: float | None = 25.0, video: str = VIDEO, size=(640, 360), spans=SPANS,
    duration: float | None = None,
) -> Corrections:  # fmt: skip
    """Make a cast of (start, last, person) spans: a track each, looked at every 0.2 s."""
    columns: dict[str, list] = {k: [] for k in ("track", "end", "time", "frame", "box", "feature")}
    for number, (start, last, person) in enumerate(spans):
        for time in np.arange(start, last + 1e-6, 0.2):
            columns["track"].append(f"{number + 1:05d}")
            columns["end"].append(last + 0.2)
            columns["time"].append(time)
            columns["frame"].append(round(time * exact_rate(rate or 25)))
            columns["box"].append([600 - 300 * person, 20 + time / 100, 80, 90])
            columns["feature"].append(np.eye(8)[person])
    tracks = TrackSet.from_faces(
        columns.pop("track"), video=video, describer="SFace", **columns
    )  # fmt: skip
    write_folder(folder, tracks, [person for _, _, person in spans], duration=duration)
    about = {"name": video, "size": list(size), "rate": rate}
    note_video(folder, **{name: value for name, value in about.items() if value is not None})
    return Corrections(folder)


def made_timeline(folder: Path, rate: float | None = 25.0, **about) -> Timeline:
    """Return the timeline of such a cast: its last person has an awkward name."""
    cast = made_cast(folder, rate, **about)
    cast.name(cast.cast.characters[-1].number, AWKWARD)
    (one,) = timelines(cast)
    return one


def nobody(folder: Path) -> Timeline:
    """Return the timeline of a cast whose only track was no face."""
    cast = made_cast(folder, spans=SPANS[:1])
    cast.not_face(["00001"])
    (one,) = timelines(cast)
    return one


def two_videos(folder: Path) -> Corrections:
    """Make a cast of two videos; both of its people are in both."""
    tracks = made_cast(folder / "all").tracks
    split = [TrackSet.join([replace(tracks[part], videos=(name,))])
             for part, name in ((slice(0, 3), "a.mp4"), (slice(3, 5), "b.mp4"))]  # fmt: skip
    (folder / "all" / TRACKS).unlink()
    write_tracks(folder / "several", TrackSet.join(split))
    (folder / "several").rename(folder / "all" / TRACKS)
    about = json.loads((folder / "all" / CAST).read_text("utf-8"))
    about["scan"] = scan_digest(read_tracks(folder / "all" / TRACKS))
    (folder / "all" / CAST).write_text(json.dumps(about), "utf-8")
    return Corrections(folder / "all")


def note_video(folder: Path, **about) -> None:
    """Change what the scan noted of its video."""
    run = json.loads((folder / RUN).read_text("utf-8"))
    run["video"] |= about
    (folder / RUN).write_text(json.dumps(run), "utf-8")
