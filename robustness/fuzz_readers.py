"""The readers that ``fuzz.py`` attacks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from castlist import Corrections, TrackSet, load_model, read_tracks
from castlist.cast.cast_file import RUN
from castlist.cast.episodes import BALLS
from castlist.cast.matching import Balls
from castlist.export.write import FORMATS, export_cast
from castlist.handover.voices import match_voices, named_subtitles, read_rttm
from castlist.io.box_tracks import read_given
from castlist.pipeline.run_manifest import read_manifest
from castlist.report.page import report_folder
from castlist.research import read_plan
from castlist.research.training.run_folder import Run
from castlist.review.views import cast_view, character_view, history_view, questions_view
from castlist.video.checkpoint import Checkpoint
from castlist.video.describe import open_describer
from castlist.video.detect import open_detector
from castlist.video.frames import open_video
from castlist.video.images import face_in
from castlist.video.sampling import ResumePoint, sampled
from castlist.video.vggface2 import load_vggface2
from robustness import fuzz_files as files
from robustness.fuzz_media import pictures, videos


@dataclass(frozen=True)
class Reader:
    """One reader.

    Attributes
    ----------
    make : callable
        Writes valid files into a folder; returns those that are attacked, one at a time.
    read : callable
        Reads the folder with one of them replaced, and uses what was read.
    valid : bool
        Whether the files are taken as they are. Whole weights of VGGFace2 are too large to try.
    """

    make: Callable[[Path], list[Path]]
    read: Callable[[Path, Path], object]
    valid: bool = True


def _use(tracks: TrackSet) -> None:
    tracks.overlaps()
    if tracks.features is not None:
        tracks.mean_features()
    str([tracks.name(row) for row in range(min(len(tracks), 3))])


def _read_model(_: Path, path: Path) -> object:
    model = load_model(path)
    model.embed(np.eye(6, dtype=np.float32)[:, : model.dims[0]])
    return model.threshold


def _read_cast(home: Path, path: Path) -> None:
    folder = home / "all" if (home / "all").is_dir() else home
    read_manifest(folder / RUN)
    with Corrections(folder) as found:
        _show(found)
    if path.name == BALLS:
        Balls.load(path).nearest(np.eye(128, dtype=np.float32)[:1], 0.3)


def _show(found: Corrections) -> None:
    """Do with a cast what people do: look at its pages, and take it elsewhere."""
    found.cast.labels()
    views = [cast_view(found), questions_view(found, [], 5), history_view(found)]
    views += [character_view(found, one.number) for one in found.cast.characters[:2]]
    json.dumps(views, allow_nan=False).encode()
    report_folder(found)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as out:
        for to in FORMATS:
            export_cast(found, to, out)


def _read_parts(home: Path, path: Path) -> None:
    kept = {file: file.read_bytes() for file in path.parent.glob("*.npz") if file != path}
    try:  # what cannot be read is removed, for it is watched again
        _use(Checkpoint.resume(home / "parts").join("film", "SFace"))
    finally:
        for file, data in kept.items():
            file.write_bytes(data)


@cache
def _detector() -> Any:
    return open_detector()


def _read_onnx(_: Path, path: Path) -> object:
    face = np.zeros((112, 112, 3), np.uint8)
    return open_describer(str(path)).describe([face, face])


def _read_video(_: Path, path: Path) -> None:
    with open_video(path) as video:
        for look in sampled(video, 5.0, ResumePoint(), ()):
            str(look.time)
        next(video.frames(0.3, 7), None)
        next(video.frames(1e7, 7), None)
        str((video.size, video.duration, video.rate))


def _read_speech(home: Path, _: Path) -> None:
    speech = read_rttm(home / "talk.rttm")
    with Corrections(home / "film.cast") as cast:
        voices = match_voices(cast, speech)
    for name in ("in.srt", "in.vtt"):
        named_subtitles(home / name, voices, next(iter(speech.values()))).encode()


READERS = {
    "parquet": Reader(files.parquet, lambda _, path: _use(read_tracks(path))),
    "ids": Reader(files.authors("ids/bbt_s01e01.ids"), lambda home, _: _use(read_tracks(home))),
    "mat": Reader(
        files.authors("tracks/bbt_s01e01.facetracks.mat"), lambda home, _: _use(read_tracks(home))
    ),
    "npy": Reader(
        files.authors("features/bbt_s01e01/14.npy"),
        lambda home, _: _use(read_tracks(home, boxes=False)),
    ),
    "model": Reader(files.model, _read_model),
    "state": Reader(files.state, lambda home, _: Run.open(home, files.FINGERPRINT).load()),
    "checkpoint": Reader(files.checkpoint, _read_model),
    "vggface2": Reader(
        files.vggface2, lambda _, path: load_vggface2(path, "SE-ResNet50-256"), False
    ),
    "onnx": Reader(files.describer, _read_onnx),
    "plan": Reader(files.plan, lambda _, path: read_plan(path).quick()),
    "mot": Reader(files.mot, lambda _, path: _use(read_given(path).tracks)),
    "cvat": Reader(files.cvat, lambda _, path: _use(read_given(path).tracks)),
    "speech": Reader(files.speech, _read_speech),
    "cast": Reader(files.cast, _read_cast),
    "log": Reader(files.log, _read_cast),
    "joined": Reader(files.joined, _read_cast),
    "parts": Reader(files.parts, _read_parts),
    "picture": Reader(pictures, lambda _, path: face_in(path, _detector())),
    "video": Reader(videos, _read_video),
}
