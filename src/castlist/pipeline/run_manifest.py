"""The manifest of a scan, ``run.json``: video, settings, versions, and the stages that are done.

Each stage has a fingerprint of everything it depends on. A stage whose fingerprint has not changed
is not repeated.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from castlist._version import __version__
from castlist.cast.cast_file import RUN
from castlist.cast.video_files import file_facts
from castlist.errors import CastlistError, InputError
from castlist.io.cast_files import is_own_file
from castlist.io.files import printable, replacing
from castlist.io.untrusted import read_json
from castlist.model.shipped import shipped_print
from castlist.pipeline.scan_settings import ScanSettings
from castlist.plugins import version_of
from castlist.video.describe import describer_file
from castlist.video.fingerprint import Fingerprint, difference_from, fingerprint
from castlist.video.frames import Video
from castlist.video.orientation import AS_STORED
from castlist.video.tracking_settings import TrackingSettings
from castlist.video.weights import REGISTRY

# The stages, by their names in ``run.json`` and in progress lines.
TRACKING = "tracking faces"
GROUPING = "grouping"
REPORTING = "writing the report"

#: Increase it if a change of the code gives other tracks: then existing ones are made again.
_TRACKING_VERSION = 3


@dataclass(frozen=True)
class OtherVideo:
    """The video of an existing cast: its name, and how the video to scan differs from it."""

    name: str
    difference: str


@dataclass
class RunManifest:
    """The manifest of one scan.

    Attributes
    ----------
    folder : Path
        The cast folder.
    fingerprints : dict
        Fingerprint of everything that each stage depends on, in the order of stages.
    content : dict
        Content of ``run.json``.
    other : OtherVideo or None
        The video of the cast in the folder, if it is not the video to scan.
    set_aside : Path or None
        File to which the corrections of that cast were moved.
    """

    folder: Path
    fingerprints: dict[str, str]
    content: dict[str, Any]
    other: OtherVideo | None = None
    set_aside: Path | None = None
    _inode: tuple[int, int] = (0, 0)  # identifies the folder, should another take its place

    @classmethod
    def open(cls, folder: Path, video: Video, settings: ScanSettings) -> RunManifest:
        """Return the manifest of a scan, with the stages of an earlier scan in the folder."""
        before = read_manifest(folder / RUN)
        seen, now, other = _identify(video, before.get("video"))
        if other is not None:
            before = {}
        tracking = [_TRACKING_VERSION, now.to_json(), asdict(settings.tracking), settings.detector]
        if video.orientation != AS_STORED:  # the rest of the fingerprint does not depend on it
            tracking.append(asdict(video.orientation))
        if settings.detector not in REGISTRY:
            tracking.append(version_of("detectors", settings.detector))
        if settings.tracks is not None:
            tracking.append(_file_digest(settings.tracks))
            if video.size != video.stored_size:
                tracking.append("boxes in stored pixels")
        weights = _file_digest(describer_file(settings.describer))
        if settings.describer not in REGISTRY:
            weights = weights or version_of("describers", settings.describer)
        prints = {TRACKING: _digest(tracking, settings.describer, weights)}
        bounds = [settings.n_characters, settings.min_characters, settings.max_characters]
        model = _file_digest(settings.model) if settings.model else shipped_print()
        prints[GROUPING] = _digest(prints[TRACKING], bounds, model, __version__)
        prints[REPORTING] = _digest(prints[GROUPING])
        content = {
            "castlist": __version__,
            "video": {
                **seen, "path": _relative_path(folder, video.path), "duration": video.duration,
                "size": list(video.size), "stored_size": list(video.stored_size),
                "rate": video.rate, "delay": round(video.delay, 4), "fingerprint": now.to_json(),
            },
            "settings": {
                **asdict(settings), "describer": printable(settings.describer),
                "model": _model_name(settings.model), "model_print": settings.model and model,
                "tracks": settings.tracks and printable(os.path.abspath(settings.tracks)),
            },
            "versions": {
                "python": platform.python_version(),
                **{
                    name: _version(name)
                    for name in ("numpy", "torch", "av", "opencv-python-headless")
                },
            },
            "stages": _entries(before, "stages"),
            "counts": _entries(before, "counts"),
        }  # fmt: skip
        return cls(folder, prints, content, other, _inode=_inode(folder))

    def done(self, stage: str, *files: str) -> bool:
        """Return whether a stage is done with the present settings, and its files exist."""
        known = self.content["stages"].get(stage, {}).get("fingerprint")
        unchanged = known == self.fingerprints[stage]
        return unchanged and all((self.folder / file).is_file() for file in files)

    @property
    def video_end(self) -> float:
        """End of the video in seconds, as found by tracking; 0 if unknown."""
        end = self.content["stages"].get(TRACKING, {}).get("end")
        return float(end) if type(end) in (int, float) and 0 <= end < math.inf else 0.0

    @contextmanager
    def stage(self, name: str, began: float | None = None) -> Iterator[dict[str, Any]]:
        """Run a stage, and record that it is done and how long it took.

        Yields the entry of the stage, to add values to. ``began`` is the time at which the stage
        began, by ``time.perf_counter``, if it is not now.
        """
        began = time.perf_counter() if began is None else began
        names = list(self.fingerprints)
        for later in names[names.index(name) :]:
            self.content["stages"].pop(later, None)
        self.write()  # before a file changes: a killed stage must not count as done
        entry: dict[str, Any] = {}
        yield entry
        entry["fingerprint"] = self.fingerprints[name]
        entry["seconds"] = round(time.perf_counter() - began, 3)
        self.content["stages"][name] = entry
        self.write()

    def write(self) -> None:
        """Write ``run.json``; raise a CastlistError if the folder was removed or replaced."""
        if _inode(self.folder) != self._inode != (0, 0):
            raise CastlistError(f"{self.folder} was removed during the scan; scan again")
        with replacing(self.folder / RUN) as partial:
            partial.write_text(json.dumps(self.content, indent=1, ensure_ascii=False), "utf-8")


def _identify(
    video: Video, known_video: Any
) -> tuple[dict[str, Any], Fingerprint, OtherVideo | None]:
    """Return data of the file, the video's fingerprint, and the known video if it is another."""
    seen = file_facts(video.path)
    before = known_video if isinstance(known_video, dict) else {}
    known = Fingerprint.from_json(before.get("fingerprint"))
    if known is not None and all(before.get(key) == value for key, value in seen.items()):
        return seen, known, None  # the same file
    now = fingerprint(video)
    differs = "" if known is None else difference_from(video, now, known)
    return seen, now, OtherVideo(str(before.get("name", "")), differs) if differs else None


def _entries(before: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the stages or counts of an earlier manifest, without malformed ones."""
    found: Any = before.get(key, {})
    if not isinstance(found, dict):
        return {}
    return {name: one for name, one in found.items() if key == "counts" or isinstance(one, dict)}


def _inode(folder: Path) -> tuple[int, int]:
    """Return device and inode of a folder; (0, 0) if there is none."""
    try:
        stat = folder.stat()
    except OSError:
        return 0, 0
    return stat.st_dev, stat.st_ino


def _version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _digest(*values: Any) -> str:
    """Return a short hash of values."""
    text = json.dumps(values, default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _relative_path(folder: Path, video: Path) -> str:
    """Return the path of the video relative to the folder, so that both can be moved together."""
    try:
        return printable(os.path.relpath(video.resolve(), folder.resolve()))
    except ValueError:  # on another drive
        return printable(str(video.resolve()))


def _model_name(path: Path | None) -> str:
    """Return the absolute path of a model, or "shipped"."""
    return "shipped" if path is None else printable(os.path.abspath(path))


def _file_digest(path: Path | None) -> str:
    """Return the SHA-256 of a file; empty if there is none."""
    if path is None or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a manifest; empty if it is missing, damaged or a link."""
    try:
        value = read_json(path) if is_own_file(path) else {}
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def settings_of(
    run: dict[str, Any], folder: Path, named: Mapping[str, Any] | None = None
) -> ScanSettings:
    """Return the settings in a manifest.

    Parameters
    ----------
    run : dict
        Content of ``run.json``.
    folder : Path
        The cast folder, for error messages.
    named : mapping, optional
        The ``describer``, ``model`` and ``tracks`` that the user names. They take precedence.

    Raises
    ------
    InputError
        Settings are invalid, or name a file that the user does not name: the folder may come from a
        stranger.
    """
    recorded = run.get("settings", {})
    given = {name: value for name, value in (named or {}).items() if value is not None}
    try:
        recorded = {**recorded, **given}
        tracking, model = recorded.get("tracking", {}), recorded.get("model", "shipped")
        settings = ScanSettings(
            tracking=TrackingSettings(**_known_fields(TrackingSettings, tracking)),
            model=None if model == "shipped" else Path(model),
            tracks=None if recorded.get("tracks") is None else Path(recorded["tracks"]),
            **{
                name: value
                for name, value in _known_fields(ScanSettings, recorded).items()
                if name not in ("tracking", "model", "tracks")
            },
        )
        describer = describer_file(settings.describer)
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{folder / RUN}: no valid settings of a scan ({error}); scan again"
        ) from error
    files = {"describer": describer, "model": settings.model, "tracks": settings.tracks}
    for name, file in files.items():
        if file is not None and name not in given:
            raise InputError(
                f"{folder} was scanned with a file as its {name}, {printable(str(file))}; give "
                "that file again, as a file that only a cast names is not opened"
            )
    return settings


def _known_fields(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that are fields of a dataclass."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
