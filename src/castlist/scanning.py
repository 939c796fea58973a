"""From a video file to its cast, in a folder: watch, group, report; what is done stays done."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from castlist._version import __version__
from castlist.cast.cast import Cast, load_cast, make_cast, save_cast
from castlist.cluster.tracks import cluster_tracks, embed_tracks
from castlist.errors import InputError
from castlist.io.files import printable, replacing
from castlist.io.parquet import write_tracks
from castlist.io.read import read_tracks
from castlist.learn.model import BallModel
from castlist.learn.model_file import load_model
from castlist.learn.shipped import shipped_model
from castlist.progress import Progress, silent
from castlist.report.page import write_report
from castlist.tracks import TrackSet
from castlist.video.describe import DEFAULT_DESCRIBER, Describer, open_describer
from castlist.video.detect import open_detector
from castlist.video.frames import Video, open_video
from castlist.video.parts import Parts, pictures_of
from castlist.video.watch import WatchedShot, WatchSettings, watch
from castlist.video.weights import DEFAULTS, REGISTRY

SUFFIX = ".cast"
TRACKS, CAST, RUN, REPORT = "tracks.parquet", "cast.json", "run.json", "report.html"
FACES, PARTS = "faces", "parts"
#: Raised when watching gives other tracks than before: old tracks are then made again.
_WATCHING = 1
_SECONDS_A_PART = 5.0


@dataclass(frozen=True)
class ScanSettings:
    """What a scan depends on besides the video.

    Attributes
    ----------
    watching : WatchSettings
        How closely the video is looked at.
    describer : str
        As :func:`castlist.video.describe.open_describer` takes it.
    model : Path or None
        A trained model; the one that comes with castlist if not given.
    characters, min_characters, max_characters : int, optional
        The number of characters, or bounds of it, for who knows; nobody needs to.
    device : str
        ``cpu`` or ``cuda``.
    """

    watching: WatchSettings = field(default_factory=WatchSettings)
    describer: str = DEFAULT_DESCRIBER
    model: Path | None = None
    characters: int | None = None
    min_characters: int | None = None
    max_characters: int | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("characters", "min_characters", "max_characters"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if self.characters is not None and (self.min_characters or self.max_characters):
            raise InputError("give the number of characters or bounds of it, not both")
        if (self.min_characters or 0) > (self.max_characters or np.inf):
            raise InputError("min_characters is more than max_characters")
        if not 0 < self.watching.sample_rate <= 1000:
            raise InputError("the sample rate must be more than 0 pictures a second")


@dataclass(frozen=True)
class Scan:
    """A finished scan.

    Attributes
    ----------
    folder : Path
        Where all of it is.
    cast : Cast
        Who is in the video.
    run : dict
        Settings, versions, timings and counts, as in ``run.json``.
    """

    folder: Path
    cast: Cast
    run: dict[str, Any]

    @property
    def report(self) -> Path:
        """The page to look at."""
        return self.folder / REPORT


def scan(
    video: str | Path,
    folder: str | Path | None = None,
    settings: ScanSettings | None = None,
    *,
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
    settings : ScanSettings, optional
        How.
    progress : callable
        Told how far it is.
    """
    path, settings = Path(video), settings or ScanSettings()
    if not path.is_file():
        raise InputError(f"{path}: no such video file")
    folder = Path(folder) if folder is not None else cast_folder(path)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a cast needs a folder")
    with open_video(path) as opened:
        model = _model(settings)
        run = _Run.open(folder, opened, settings)
        tracks = run.watch(opened, model, progress)
    cast = run.group(tracks, model, progress)
    run.report(cast)
    return Scan(folder, cast, run.value)


def cast_folder(video: Path, out: Path | None = None) -> Path:
    """Return where the cast of a video goes: beside it, or into a folder."""
    return (video.parent if out is None else out) / f"{video.stem}{SUFFIX}"


class _Run:
    """The folder of one scan, and its ``run.json``."""

    def __init__(
        self, folder: Path, settings: ScanSettings, prints: dict[str, str], value: dict[str, Any]
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.prints = prints
        self.value = value

    @classmethod
    def open(cls, folder: Path, video: Video, settings: ScanSettings) -> _Run:
        """Begin a run, or take up what is there."""
        stat = video.path.stat()
        seen = {
            "name": printable(video.path.name),
            "bytes": stat.st_size,
            "changed": stat.st_mtime_ns,
        }
        watching = [_WATCHING, seen, asdict(settings.watching), DEFAULTS[0]]
        kind, _, path = settings.describer.partition(":")
        weights = Path(path if kind in ("SE-ResNet50-256", "ResNet50") else settings.describer)
        prints = {"watch": _print(watching, settings.describer, _content(weights))}
        bounds = [settings.characters, settings.min_characters, settings.max_characters]
        prints["group"] = _print(prints["watch"], bounds, _content(settings.model), __version__)
        prints["report"] = _print(prints["group"])
        before = _read_json(folder / RUN)
        value = {
            "castlist": __version__,
            "video": {
                **seen, "duration": video.duration, "size": list(video.size), "rate": video.rate,
            },
            "settings": {**asdict(settings), "model": str(settings.model or "shipped")},
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "torch", "av", "scenedetect-headless",
                                                    "opencv-python-headless")},
            },
            "stages": before.get("stages", {}),
            "counts": before.get("counts", {}),
        }  # fmt: skip
        return cls(folder, settings, prints, value)

    def done(self, stage: str, *files: str) -> bool:
        """Say whether a stage was finished before, with the settings of now."""
        noted = self.value["stages"].get(stage, {}).get("print")
        return noted == self.prints[stage] and all((self.folder / f).is_file() for f in files)

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Note how long a stage took, and that it is done."""
        began = time.perf_counter()
        for later in list(self.prints)[list(self.prints).index(name) :]:
            self.value["stages"].pop(later, None)
        self._write()  # before a file of theirs is touched: nobody may take it for theirs again
        note: dict[str, Any] = {}
        yield note
        note |= {"print": self.prints[name], "seconds": round(time.perf_counter() - began, 3)}
        self.value["stages"][name] = note
        self._write()

    def _write(self) -> None:
        with replacing(self.folder / RUN) as partial:
            partial.write_text(json.dumps(self.value, indent=1, ensure_ascii=False), "utf-8")

    def watch(self, video: Video, model: BallModel, progress: Progress) -> TrackSet:
        """Find and describe the tracks of the video."""
        path = self.folder / TRACKS
        if self.done("watch", TRACKS):
            with suppress(InputError):  # damaged since: made again
                return read_tracks(path)
        describer = open_describer(self.settings.describer, self.settings.device, progress)
        if model.describer not in ("", describer.name):  # now, and not after an hour of watching
            raise InputError(
                f"this model takes features of {model.describer}, and the describer is "
                f"{describer.name}"
            )
        with self.stage("watch") as note:
            parts = self._parts()
            resumed = parts.end
            _watch_into(parts, video, describer, self.settings.watching, progress)
            tracks = parts.join(printable(video.path.name), describer.name)
            write_tracks(path, tracks)
            note["resumed_at"] = resumed
            self.value["counts"] |= {
                "pictures": parts.looks, "damaged_packets": parts.damaged, "tracks": len(tracks),
                "faces": tracks.n_faces, "shots": parts.shots,
            }  # fmt: skip
        parts.clear()
        return tracks

    def _parts(self) -> Parts:
        """Take up the parts of a run that was cut off, if it had the settings of now."""
        folder, faces = self.folder / PARTS, self.folder / FACES
        mark = folder / "settings.json"
        if _read_json(mark).get("watch") != self.prints["watch"]:
            for old in [*folder.glob("*.npz"), *faces.glob("*.jpg")]:
                old.unlink()
            with replacing(mark) as partial:
                partial.write_text(json.dumps({"watch": self.prints["watch"]}), "utf-8")
        return Parts.resume(folder, faces)

    def group(self, tracks: TrackSet, model: BallModel, progress: Progress) -> Cast:
        """Group the tracks into characters."""
        path = self.folder / CAST
        if self.done("group", CAST):
            with suppress(InputError):
                return load_cast(path, tracks)
        settings = self.settings
        with self.stage("group"):
            duration = max(self.value["video"]["duration"], float(tracks.time.max(initial=0.0)))
            pause = 1 / settings.watching.sample_rate
            if len(tracks):
                made = cluster_tracks(
                    tracks, model, n_clusters=settings.characters, overlaps=True,
                    at_least=settings.min_characters, at_most=settings.max_characters,
                    progress=progress,
                )  # fmt: skip
                points = embed_tracks(tracks, model)
                # Two faces of one ball are 2b apart on average, and τ is 4b.
                cast = make_cast(tracks, made.labels, points, duration, pause, model.threshold / 2)
            else:
                cast = Cast(tracks, (), duration)
            save_cast(cast, path, {"threshold": model.threshold})
            self.value["counts"]["characters"] = len(cast.characters)
        return cast

    def report(self, cast: Cast) -> None:
        """Write the page."""
        if self.done("report", REPORT):
            return
        with self.stage("report"):

            def crops(track: int) -> list[bytes]:
                paths = pictures_of(self.folder / FACES, str(cast.tracks.ids[track]))
                return [path.read_bytes() for path in paths]

            about = {name: self.value[name] for name in ("castlist", "settings", "counts")}
            write_report(cast, crops, self.folder / REPORT, about)


def _watch_into(
    parts: Parts, video: Video, describer: Describer, settings: WatchSettings, progress: Progress
) -> None:
    """Watch what is not watched yet, and write it down every few seconds."""
    if parts.place is None:
        return
    detector = open_detector(progress)
    total = max(1, round(video.duration))
    waiting: list[WatchedShot] = []
    written, damaged = time.monotonic(), 0

    def at(moment: float) -> None:
        progress("finding faces", min(round(moment), total), total)

    at(parts.end)
    with closing(watch(video, detector, describer, settings, parts.place, at)) as shots:
        for shot in shots:
            waiting.append(shot)
            if shot.next is None or time.monotonic() - written > _SECONDS_A_PART:
                parts.add(waiting, video.damaged - damaged)
                waiting, written, damaged = [], time.monotonic(), video.damaged
    at(total)


def _model(settings: ScanSettings) -> BallModel:
    if settings.model is not None:
        return load_model(settings.model)
    sface = settings.describer in ("sface", "sface-int8")
    if not sface and settings.describer not in REGISTRY:
        open_describer(settings.describer, settings.device)  # says so if there is none
    return shipped_model("SFace" if sface else settings.describer)


def _print(*values: Any) -> str:
    text = json.dumps(values, default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _content(path: Path | None) -> str:
    """Return a hash of a file, where there is one."""
    if path is None or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    """Read a note of ours; one that is not there or damaged says nothing."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
