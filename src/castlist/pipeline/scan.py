"""Scanning a video: track faces, group the tracks into characters, write the report."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from castlist.cast.cast import Cast, make_cast
from castlist.cast.cast_file import RUN, digest, save_cast
from castlist.cast.corrections import Corrections
from castlist.cast.database import set_aside
from castlist.cast.folder import (
    CAST,
    CORRECTIONS,
    FACES,
    NEXT_CAST,
    POINTS,
    REPORT,
    TRACKS,
    Scanned,
    read_scanned,
    write_points,
)
from castlist.cast.links import not_waived, overlap_summary
from castlist.cast.rescan import next_id, regroup, was_scanned
from castlist.cast.state import State
from castlist.cluster.tracks import check_number, cluster_tracks, embed_tracks
from castlist.errors import InputError
from castlist.io.box_tracks import read_given
from castlist.io.files import printable, replacing
from castlist.io.lock import locked
from castlist.io.output_guard import check_for_scan
from castlist.io.parquet import write_tracks
from castlist.io.track_files import read_tracks
from castlist.model.ball_model import BallModel
from castlist.model.model_file import load_model
from castlist.model.shipped import shipped_model
from castlist.pipeline.run_manifest import (
    GROUPING,
    REPORTING,
    TRACKING,
    RunManifest,
    read_manifest,
)
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent
from castlist.report.page import report_folder
from castlist.tracks import TrackSet
from castlist.video.checkpoint import Checkpoint
from castlist.video.describe import SFACE, Describer, open_describer
from castlist.video.detect import Detector, open_detector, smallest_face
from castlist.video.external_tracks import ExternalBoxes, track_given_boxes
from castlist.video.frames import Video, open_video
from castlist.video.shot_tracking import TrackedShot, track_shots
from castlist.video.tracking_settings import TrackingSettings
from castlist.video.weights import REGISTRY

SUFFIX = ".cast"
PARTS = "parts"
_SECONDS_PER_PART = 5.0  # between two writes of the checkpoint


class OtherVideoError(InputError):
    """The folder holds the cast of another video."""


class Networks:
    """Detectors and describers, opened on first use and kept for the next video."""

    def __init__(self) -> None:
        self._detectors: dict[tuple[str, str], Detector] = {}
        self._describers: dict[tuple[str, str], Describer] = {}

    def detector(self, choice: str, device: str) -> Detector:
        """Return a detector, chosen as in :func:`castlist.open_detector`."""
        if (choice, device) not in self._detectors:
            self._detectors[choice, device] = open_detector(choice, device)
        return self._detectors[choice, device]

    def describer(self, choice: str, device: str, progress: Progress = silent) -> Describer:
        """Return a describer, chosen as in :func:`castlist.open_describer`."""
        if (choice, device) not in self._describers:
            self._describers[choice, device] = open_describer(choice, device, progress)
        return self._describers[choice, device]


@dataclass(frozen=True)
class Scan:
    """A finished scan.

    Attributes
    ----------
    folder : Path
        The cast folder.
    cast : Cast
        The characters of the video, with all corrections.
    run : dict
        Settings, versions, timings and counts, as in ``run.json``.
    set_aside : Path or None
        File with the corrections of another video's cast, if this scan replaced it.
    lost : int
        Number of tracks of corrections that were not found in this scan, or not as a whole, or that
        have a different face; ``Corrections.lost`` lists them.
    """

    folder: Path
    cast: Cast
    run: dict[str, Any]
    set_aside: Path | None = None
    lost: int = 0

    @property
    def report(self) -> Path:
        """Path of the HTML report."""
        return self.folder / REPORT


def scan(
    video: str | Path,
    folder: str | Path | None = None,
    settings: ScanSettings | None = None,
    *,
    replace: bool = False,
    networks: Networks | None = None,
    lock_timeout: float = 0.0,
    progress: Progress = silent,
) -> Scan:
    """Find the characters of a video and write a cast folder.

    Parameters
    ----------
    video : path
        A video file.
    folder : path, optional
        The cast folder; by default ``<video>.cast`` beside the video. An interrupted scan resumes
        from this folder. A stage that is done is repeated only if a setting it depends on has
        changed.
    settings : ScanSettings, optional
        Settings; the defaults if not given.
    replace : bool
        Whether to replace the cast of another video in the folder. Its corrections are moved to a
        dated file in the folder and are not applied to this video.
    networks : Networks, optional
        Opened networks, to load them only once for many videos.
    lock_timeout : float
        Seconds to wait if another process has locked the folder.
    progress : callable
        Called with the stage, the number of items done and the total.

    Raises
    ------
    OtherVideoError
        The folder holds the cast of another video. Videos are compared by content, not by name.
    """
    path, settings = Path(video), settings or ScanSettings()
    if not path.is_file():
        raise InputError(f"{path}: no such video file")
    if settings.tracks is not None and not settings.tracks.is_file():
        raise InputError(f"{settings.tracks}: no such file")
    folder = Path(folder) if folder is not None else cast_folder(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, not a folder")
    check_for_scan(folder)  # before the lock file is created in it
    with ExitStack() as held:
        with open_video(path) as opened:
            model = _open_model(settings)
            held.enter_context(locked(folder, lock_timeout))
            check_for_scan(folder)  # again, under the lock
            manifest = RunManifest.open(folder, opened, settings)
            if manifest.other is not None and not replace:
                raise OtherVideoError(
                    f"{folder} holds the cast of another video, {manifest.other.name}; {path} "
                    f"differs: {manifest.other.difference}. Scan it into another folder, or "
                    "replace that cast"
                )
            tracks, publish = _track(
                manifest, settings, opened, model, networks or Networks(), progress
            )
            end, about = manifest.video_end, manifest.content["video"]
            about["duration"] = max(opened.duration, end)
            if opened.cut_short(end):
                about["read_until"] = round(end, 3)
        scanned = _group(manifest, settings, tracks, model, publish, progress)
        with Corrections(folder, scanned=scanned) as corrections:
            manifest.content["given_up"] = _given_up(corrections)
            _report(manifest, corrections)
            if read_manifest(folder / RUN).get("video") != manifest.content["video"]:
                manifest.write()  # nothing was repeated, but more is known of the video
            return Scan(
                folder, corrections.cast, manifest.content, manifest.set_aside,
                len(corrections.lost),
            )  # fmt: skip


def cast_folder(video: Path, out: Path | None = None, alone: bool = True) -> Path:
    """Return the cast folder of a video, beside it or in another folder.

    Parameters
    ----------
    video : Path
        The video.
    out : Path, optional
        Parent of the cast folder; by default the folder of the video.
    alone : bool
        Whether no other video there has the same name but for its suffix.
    """
    place = video.parent if out is None else out
    short, whole = place / f"{video.stem}{SUFFIX}", place / f"{video.name}{SUFFIX}"
    if _scanned_video(whole) == printable(video.name):
        return whole
    return short if alone or _scanned_video(short) == printable(video.name) else whole


def _scanned_video(folder: Path) -> str:
    """Return the name of the video in a cast folder, as it was when scanned."""
    video = read_manifest(folder / RUN).get("video")
    return str(video.get("name", "")) if isinstance(video, dict) else ""


def _track(
    manifest: RunManifest, settings: ScanSettings, video: Video, model: BallModel,
    networks: Networks, progress: Progress,
) -> tuple[TrackSet, Callable[[], None] | None]:  # fmt: skip
    """Return the tracks of the video, from the folder if they are there already.

    Returns
    -------
    tracks : TrackSet
        The tracks, with features.
    publish : callable or None
        Replaces the tracks of an earlier scan by these, which nothing has changed until then.
        None if these are in place already.
    """
    path = manifest.folder / TRACKS
    if manifest.done(TRACKING, TRACKS):
        with suppress(InputError):  # damaged since then: repeat the stage
            tracks = read_tracks(path)
            Checkpoint(manifest.folder / PARTS).clear()  # if it was killed before it did
            return tracks, None
    describer = networks.describer(settings.describer, settings.device, progress)
    if model.describer not in ("", describer.name):  # fail before tracking, not after it
        raise InputError(
            f"the model needs features of {model.describer}, but the describer is {describer.name}"
        )
    detector = networks.detector(settings.detector, settings.device)
    given = None if settings.tracks is None else ExternalBoxes(read_given(settings.tracks), video)
    began, checkpoint = time.perf_counter(), _open_checkpoint(manifest)
    resumed_at = checkpoint.end
    if not (manifest.folder / RUN).is_file():
        manifest.write()  # marks the folder as a scan's, should this one be interrupted
    if checkpoint.resume_point is not None:
        _track_into(checkpoint, video, detector, describer, settings.tracking, given, progress)
    tracks = checkpoint.join(printable(video.path.name), describer.name)
    elapsed = time.perf_counter() - began
    counts = {
        "pictures": checkpoint.n_frames, "damaged_packets": checkpoint.damaged,
        "tracks": len(tracks),
        "faces": tracks.n_faces, "shots": checkpoint.shots,
        "smallest_face": smallest_face(video.size, settings.tracking),
    }  # fmt: skip
    if given is not None:
        counts["given_tracks"] = len(given)

    def publish() -> None:
        if manifest.other is not None:  # before the manifest says that this is another video
            manifest.set_aside = set_aside(manifest.folder / CORRECTIONS)
        with manifest.stage(TRACKING, time.perf_counter() - elapsed) as entry:
            write_tracks(path, tracks)
            checkpoint.publish(manifest.folder / FACES)
            entry |= {"resumed_at": resumed_at, "end": checkpoint.end}
            manifest.content["counts"] |= counts
        checkpoint.clear()

    manifest.content["stages"][TRACKING] = {"end": checkpoint.end}
    return tracks, publish


def _track_into(
    checkpoint: Checkpoint, video: Video, detector: Detector, describer: Describer,
    settings: TrackingSettings, given: ExternalBoxes | None, progress: Progress,
) -> None:  # fmt: skip
    """Track the rest of a video, and write the checkpoint every few seconds."""
    total = max(1, round(video.duration))
    unwritten: list[TrackedShot] = []
    written, damaged = time.monotonic(), 0

    def report(moment: float) -> None:
        progress(TRACKING, min(round(moment), total), total)

    report(checkpoint.end)
    how = (detector, describer, settings, checkpoint.resume_point, report)
    tracked = track_shots(video, *how) if given is None else track_given_boxes(video, given, *how)
    with closing(tracked) as shots:
        for shot in shots:
            unwritten.append(shot)
            due = shot.cut and time.monotonic() - written > _SECONDS_PER_PART
            if shot.next is None or due:
                checkpoint.add(unwritten, video.damaged - damaged)
                unwritten, written, damaged = [], time.monotonic(), video.damaged
    report(total)


def _open_checkpoint(manifest: RunManifest) -> Checkpoint:
    """Return the checkpoint of an interrupted scan with the same settings, or an empty one."""
    folder = manifest.folder / PARTS
    settings, fingerprint = folder / "settings.json", manifest.fingerprints[TRACKING]
    if read_manifest(settings).get("fingerprint") != fingerprint:
        if folder.exists():
            shutil.rmtree(folder)
        with replacing(settings) as partial:
            partial.write_text(json.dumps({"fingerprint": fingerprint}), "utf-8")
    return Checkpoint.resume(folder)


def _group(
    manifest: RunManifest, settings: ScanSettings, tracks: TrackSet, model: BallModel,
    publish: Callable[[], None] | None, progress: Progress,
) -> Scanned:  # fmt: skip
    """Group the tracks into characters, and replace the files of an earlier scan."""
    if publish is None and manifest.done(GROUPING, CAST, POINTS):
        with suppress(InputError):  # damaged since then: repeat the stage
            return read_scanned(manifest.folder)
    # Before the files of an earlier scan are replaced.
    check_number(tracks, settings.n_characters, settings.min_characters)
    began = time.perf_counter()
    again = manifest.other is None and was_scanned(manifest.folder)
    duration = manifest.content["video"]["duration"]
    about: dict[str, Any] = {}
    cast, points = Cast(tracks, (), duration), np.empty((0, 0), np.float32)
    if len(tracks):
        points = embed_tracks(tracks, model)
        if again:
            made = regroup(
                manifest.folder,
                tracks,
                points,
                model.threshold,
                asdict(settings),
                video=manifest.content["video"],
                progress=progress,
            )
            labels, state = made.labels, State.of(made.labels)
            about |= {"next": made.next_id, "taken": made.taken}
        else:
            state = None
            labels = cluster_tracks(
                tracks, model, n_characters=settings.n_characters,
                min_characters=settings.min_characters, max_characters=settings.max_characters,
                points=points, progress=progress,
            ).labels  # fmt: skip
        cast = make_cast(tracks, labels, tracks.mean_features(), duration, state)
    elif again:
        about["next"] = next_id(manifest.folder)
    about |= {"threshold": model.threshold, "points": digest(points.tobytes())}
    # If the scan is killed from here on, the earlier cast is unreadable: its ids are in this file.
    save_cast(cast, manifest.folder / NEXT_CAST, about)
    if publish is not None:  # until here the earlier scan is intact
        publish()
    with manifest.stage(GROUPING, began):
        write_points(manifest.folder, points)
        # Last: the cast names the tracks and points that belong to it.
        os.replace(manifest.folder / NEXT_CAST, manifest.folder / CAST)
        manifest.content["counts"]["characters"] = len(cast.characters)
    return Scanned.of(cast, points, {"next": 1, **about}, manifest.folder, manifest.content)


def _given_up(corrections: Corrections) -> dict[str, Any]:
    """Return the tracks that share a frame, but had to be grouped for the number of characters."""
    pairs = not_waived(corrections.overlaps, corrections.state.waived)
    one, other = corrections.state.owner[pairs].T
    return overlap_summary(corrections.tracks, pairs[one == other])


def _report(manifest: RunManifest, corrections: Corrections) -> None:
    """Write the report, with all corrections."""
    known = manifest.content["stages"].get(REPORTING, {}).get("events")
    if manifest.done(REPORTING, REPORT) and known == corrections.last:
        return
    with manifest.stage(REPORTING) as entry:
        entry["events"] = corrections.last
        report_folder(corrections)


def _open_model(settings: ScanSettings) -> BallModel:
    """Return the model of the settings, or the one shipped for their describer."""
    if settings.model is not None:
        return load_model(settings.model)
    if settings.describer not in REGISTRY:
        open_describer(settings.describer, settings.device)  # raises if there is none
    return shipped_model(SFACE.get(settings.describer, settings.describer))
