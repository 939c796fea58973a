"""From a video file to its cast, in a folder: watch, group, report."""

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
from castlist.extras import require
from castlist.io.files import printable, replacing
from castlist.io.lock import locked
from castlist.io.output_guard import check_for_scan
from castlist.io.parquet import write_tracks
from castlist.io.read import read_given, read_tracks
from castlist.learn.finetune import finetune
from castlist.learn.model import BallModel
from castlist.learn.model_file import load_model
from castlist.learn.shipped import shipped_model
from castlist.pipeline.networks import Networks
from castlist.pipeline.run_manifest import RunNotes, read_note
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent
from castlist.report.folder import report_folder
from castlist.tracks import TrackSet
from castlist.video.checkpoint import Parts
from castlist.video.describe import SFACE, Describer, open_describer
from castlist.video.detect import Detector, smallest_face
from castlist.video.external_tracks import GivenBoxes, watch_given
from castlist.video.frames import Video, open_video
from castlist.video.shot_tracking import WatchedShot, watch
from castlist.video.watch_settings import WatchSettings
from castlist.video.weights import REGISTRY

SUFFIX = ".cast"
PARTS = "parts"
_SECONDS_A_PART = 5.0


class OtherVideo(InputError):
    """The folder holds the cast of another video."""


@dataclass(frozen=True)
class Scan:
    """A finished scan.

    Attributes
    ----------
    folder : Path
        Where all of it is.
    cast : Cast
        Who is in the video, with what was corrected.
    run : dict
        Settings, versions, timings and counts, as in ``run.json``.
    set_aside : Path or None
        Where the corrections of another video's cast are now, if this one took its place.
    """

    folder: Path
    cast: Cast
    run: dict[str, Any]
    set_aside: Path | None = None

    @property
    def report(self) -> Path:
        """The page to look at."""
        return self.folder / REPORT


def scan(
    video: str | Path,
    folder: str | Path | None = None,
    settings: ScanSettings | None = None,
    *,
    replace: bool = False,
    networks: Networks | None = None,
    patience: float = 0.0,
    progress: Progress = silent,
) -> Scan:
    """Find out who is in a video.

    Parameters
    ----------
    video : path
        A video file.
    folder : path, optional
        Where to put the result; ``<video>.cast`` beside the video if not given. A scan that was
        cut off goes on from there, and what is done is done again only if a setting that matters
        for it changed.
    replace : bool
        Whether the cast of another video in that folder may be replaced. What people said of it is
        moved to a dated file in the folder, and is not applied to this video.
    settings : ScanSettings, optional
        How.
    networks : Networks, optional
        Detector and describer, for who scans many videos and would load them once.
    patience : float
        Seconds to wait for who else is at work on the folder.
    progress : callable
        Told how far it is.

    Raises
    ------
    OtherVideo
        The folder holds the cast of another video, by its content and not by its name.
    """
    path, settings = Path(video), settings or ScanSettings()
    if not path.is_file():
        raise InputError(f"{path}: no such video file")
    if settings.tracks is not None and not settings.tracks.is_file():
        raise InputError(f"{settings.tracks}: no such file of tracks")
    folder = Path(folder) if folder is not None else cast_folder(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a cast needs a folder")
    check_for_scan(folder)  # before a lock is put there
    if settings.finetune:
        require("torch", "fine-tuning")  # now, and not after an hour of watching
    with ExitStack() as held:
        with open_video(path) as opened:
            model = _model(settings)
            held.enter_context(locked(folder, patience))
            check_for_scan(folder)  # while nobody changes it
            notes = RunNotes.open(folder, opened, settings)
            if notes.other is not None and not replace:
                raise OtherVideo(
                    f"{folder} holds the cast of another video, {notes.other.name}: {path} is not "
                    f"that one, as {notes.other.difference}; scan it into another folder, or "
                    "replace that cast"
                )
            how = (model, networks or Networks(), progress)
            tracks, publish = _watched(notes, settings, opened, *how)
            notes.value["video"]["duration"] = max(opened.duration, notes.watched)
        scanned = _group(notes, settings, tracks, model, publish, progress)
        with Corrections(folder, scanned=scanned) as corrections:
            notes.value["given_up"] = _given_up(corrections)
            _report(notes, corrections)
            return Scan(folder, corrections.cast, notes.value, notes.set_aside)


def cast_folder(video: Path, out: Path | None = None, alone: bool = True) -> Path:
    """Return where the cast of a video goes: beside it, or into a folder.

    Parameters
    ----------
    video : Path
        The video.
    out : Path, optional
        The folder that the cast's own folder goes into.
    alone : bool
        Whether no other video goes there that is called the same but for its suffix.
    """
    place = video.parent if out is None else out
    short, whole = place / f"{video.stem}{SUFFIX}", place / f"{video.name}{SUFFIX}"
    if _video_noted(whole) == printable(video.name):
        return whole
    return short if alone or _video_noted(short) == printable(video.name) else whole


def _video_noted(folder: Path) -> str:
    """Return what the video of a cast was called when it was scanned."""
    video = read_note(folder / RUN).get("video")
    return str(video.get("name", "")) if isinstance(video, dict) else ""


def _watched(
    notes: RunNotes, settings: ScanSettings, video: Video, model: BallModel, networks: Networks,
    progress: Progress,
) -> tuple[TrackSet, Callable[[], None] | None]:  # fmt: skip
    """Find and describe the tracks of the video.

    Returns
    -------
    tracks : TrackSet
        The tracks.
    publish : callable or None
        Puts them in the place of an earlier scan's, which is as it was until then; None if they
        are there already.
    """
    path = notes.folder / TRACKS
    if notes.done("watch", TRACKS):
        with suppress(InputError):  # damaged since: made again
            tracks = read_tracks(path)
            Parts(notes.folder / PARTS).clear()  # killed before it did
            return tracks, None
    describer = networks.describer(settings.describer, settings.device, progress)
    if model.describer not in ("", describer.name):  # now, and not after an hour of watching
        raise InputError(
            f"this model takes features of {model.describer}, and the describer is {describer.name}"
        )
    given = None if settings.tracks is None else GivenBoxes(read_given(settings.tracks), video)
    began, parts = time.perf_counter(), _parts(notes)
    resumed = parts.end
    if not (notes.folder / RUN).is_file():
        notes.write()  # says whose the folder is, should this be cut off
    if parts.place is not None:
        detector = networks.detector(settings.device)
        _watch_into(parts, video, detector, describer, settings.watching, given, progress)
    tracks = parts.join(printable(video.path.name), describer.name)
    watched = time.perf_counter() - began
    counts = {
        "pictures": parts.looks, "damaged_packets": parts.damaged, "tracks": len(tracks),
        "faces": tracks.n_faces, "shots": parts.shots,
        "smallest_face": smallest_face(video.size, settings.watching),
    }  # fmt: skip
    if given is not None:
        counts["given_tracks"] = len(given)

    def publish() -> None:
        if notes.other is not None:  # before it is noted that this is another video
            notes.set_aside = set_aside(notes.folder / CORRECTIONS)
        with notes.stage("watch", time.perf_counter() - watched) as note:
            write_tracks(path, tracks)
            parts.publish(notes.folder / FACES)
            note |= {"resumed_at": resumed, "end": parts.end}
            notes.value["counts"] |= counts
        parts.clear()

    notes.value["stages"]["watch"] = {"end": parts.end}
    return tracks, publish


def _watch_into(
    parts: Parts, video: Video, detector: Detector, describer: Describer,
    settings: WatchSettings, given: GivenBoxes | None, progress: Progress,
) -> None:  # fmt: skip
    """Watch what is not watched yet, and write it down every few seconds."""
    total = max(1, round(video.duration))
    waiting: list[WatchedShot] = []
    written, damaged = time.monotonic(), 0

    def at(moment: float) -> None:
        progress("finding faces", min(round(moment), total), total)

    at(parts.end)
    how = (detector, describer, settings, parts.place, at)
    watching = watch(video, *how) if given is None else watch_given(video, given, *how)
    with closing(watching) as shots:
        for shot in shots:
            waiting.append(shot)
            due = shot.cut and time.monotonic() - written > _SECONDS_A_PART
            if shot.next is None or due:
                parts.add(waiting, video.damaged - damaged)
                waiting, written, damaged = [], time.monotonic(), video.damaged
    at(total)


def _parts(notes: RunNotes) -> Parts:
    """Take up the parts of a run that was cut off, if it had the settings of now."""
    folder = notes.folder / PARTS
    mark = folder / "settings.json"
    if read_note(mark).get("watch") != notes.prints["watch"]:
        if folder.exists():
            shutil.rmtree(folder)
        with replacing(mark) as partial:
            partial.write_text(json.dumps({"watch": notes.prints["watch"]}), "utf-8")
    return Parts.resume(folder)


def _group(
    notes: RunNotes, settings: ScanSettings, tracks: TrackSet, model: BallModel,
    publish: Callable[[], None] | None, progress: Progress,
) -> Scanned:  # fmt: skip
    """Group the tracks into characters, and put all in the place of an earlier scan."""
    if publish is None and notes.done("group", CAST, POINTS):
        with suppress(InputError):  # damaged since: made again
            return read_scanned(notes.folder)
    # Before what an earlier scan made of them is forgotten.
    check_number(tracks, settings.n_characters, settings.min_characters)
    began = time.perf_counter()
    again = notes.other is None and was_scanned(notes.folder)
    duration = notes.value["video"]["duration"]
    about: dict[str, Any] = {}
    cast, points = Cast(tracks, (), duration), np.empty((0, 0), np.float32)
    if len(tracks):
        if settings.finetune:
            model = finetune(model, tracks, progress=progress)
        points = embed_tracks(tracks, model)
        if again:
            made = regroup(
                notes.folder, tracks, points, model.threshold, asdict(settings), progress=progress
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
        about["next"] = next_id(notes.folder)
    about |= {"threshold": model.threshold, "points": digest(points.tobytes())}
    # If the scan is killed from here on, the ids are in it: the earlier cast cannot be read then.
    save_cast(cast, notes.folder / NEXT_CAST, about)
    if publish is not None:  # the earlier scan is whole until here
        publish()
    with notes.stage("group", began):
        write_points(notes.folder, points)
        # The last of all: it says which tracks and points are its own.
        os.replace(notes.folder / NEXT_CAST, notes.folder / CAST)
        notes.value["counts"]["characters"] = len(cast.characters)
    return Scanned.of(cast, points, {"next": 1, **about}, notes.folder, notes.value)


def _given_up(corrections: Corrections) -> dict[str, Any]:
    """Say which tracks share a frame, and were put together for the number of characters."""
    pairs = not_waived(corrections.overlaps, corrections.state.waived)
    one, other = corrections.state.owner[pairs].T
    return overlap_summary(corrections.tracks, pairs[one == other])


def _report(notes: RunNotes, corrections: Corrections) -> None:
    """Write the page, with what was corrected."""
    known = notes.value["stages"].get("report", {}).get("events")
    if notes.done("report", REPORT) and known == corrections.last:
        return
    with notes.stage("report") as note:
        note["events"] = corrections.last
        report_folder(corrections)


def _model(settings: ScanSettings) -> BallModel:
    if settings.model is not None:
        return load_model(settings.model)
    if settings.describer not in REGISTRY:
        open_describer(settings.describer, settings.device)  # says so if there is none
    return shipped_model(SFACE.get(settings.describer, settings.describer))
