"""``run.json``: what a scan did, with what, and which of its stages need not be done again."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from castlist._version import __version__
from castlist.cast.cast_file import RUN
from castlist.errors import CastlistError
from castlist.io.files import printable, replacing
from castlist.io.untrusted import read_json
from castlist.learn.shipped import shipped_print
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.describe import describer_file
from castlist.video.fingerprint import Fingerprint, difference_from, fingerprint
from castlist.video.frames import Video
from castlist.video.weights import DEFAULTS

#: Raised when watching gives other tracks than before: old tracks are then made again.
_WATCHING = 3


@dataclass(frozen=True)
class Other:
    """A video that is not the one to be scanned: what it was called, and how this one differs."""

    name: str
    difference: str


@dataclass
class RunNotes:
    """The notes of one scan.

    Attributes
    ----------
    folder : Path
        The cast's folder.
    prints : dict
        A fingerprint a stage, of all that matters for it, in the order of stages.
    value : dict
        What is in ``run.json``.
    other : Other or None
        The video of the cast that is in the folder, if that is another one.
    set_aside : Path or None
        Where the corrections of that cast went, once they did.
    """

    folder: Path
    prints: dict[str, str]
    value: dict[str, Any]
    other: Other | None = None
    set_aside: Path | None = None
    _place: tuple[int, int] = (0, 0)  # which folder it is, whatever is there by now

    @classmethod
    def open(cls, folder: Path, video: Video, settings: ScanSettings) -> RunNotes:
        """Begin a run, or take up what is there."""
        before = read_note(folder / RUN)
        seen, now, other = _identified(video, before.get("video"))
        if other is not None:
            before = {}
        watching = [_WATCHING, now.to_json(), asdict(settings.watching), DEFAULTS[0]]
        if settings.tracks is not None:
            watching.append(_content(settings.tracks))
        weights = _content(describer_file(settings.describer))
        prints = {"watch": _print(watching, settings.describer, weights)}
        bounds = [settings.n_characters, settings.min_characters, settings.max_characters]
        model = _content(settings.model) if settings.model else shipped_print()
        prints["group"] = _print(prints["watch"], bounds, model, settings.finetune, __version__)
        prints["report"] = _print(prints["group"])
        value = {
            "castlist": __version__,
            "video": {
                **seen, "path": _way(folder, video.path), "duration": video.duration,
                "size": list(video.size), "rate": video.rate, "fingerprint": now.to_json(),
            },
            "settings": {
                **asdict(settings), "describer": printable(settings.describer),
                "model": _model(settings.model), "model_print": settings.model and model,
                "tracks": settings.tracks and printable(os.path.abspath(settings.tracks)),
            },
            "versions": {
                "python": platform.python_version(),
                **{
                    name: _version(name)
                    for name in ("numpy", "torch", "av", "opencv-python-headless")
                },
            },
            "stages": _notes(before, "stages"),
            "counts": _notes(before, "counts"),
        }  # fmt: skip
        return cls(folder, prints, value, other, _place=_place(folder))

    def done(self, stage: str, *files: str) -> bool:
        """Say whether a stage was finished before, with the settings of now."""
        noted = self.value["stages"].get(stage, {}).get("print")
        return noted == self.prints[stage] and all((self.folder / f).is_file() for f in files)

    @property
    def watched(self) -> float:
        """When the video ended as it was watched, in seconds; 0 if that is not noted."""
        end = self.value["stages"].get("watch", {}).get("end")
        return float(end) if type(end) in (int, float) and 0 <= end < math.inf else 0.0

    @contextmanager
    def stage(self, name: str, began: float | None = None) -> Iterator[dict[str, Any]]:
        """Note how long a stage took, since it began if not now, and that it is done."""
        began = time.perf_counter() if began is None else began
        for later in list(self.prints)[list(self.prints).index(name) :]:
            self.value["stages"].pop(later, None)
        self.write()  # before a file of theirs is touched: nobody may take it for theirs again
        note: dict[str, Any] = {}
        yield note
        note |= {"print": self.prints[name], "seconds": round(time.perf_counter() - began, 3)}
        self.value["stages"][name] = note
        self.write()

    def write(self) -> None:
        """Write ``run.json``, unless the folder is another by now: what is noted is not in it."""
        if _place(self.folder) != self._place != (0, 0):
            raise CastlistError(f"{self.folder} was removed meanwhile; scan again")
        with replacing(self.folder / RUN) as partial:
            partial.write_text(json.dumps(self.value, indent=1, ensure_ascii=False), "utf-8")


def _identified(video: Video, noted: Any) -> tuple[dict[str, Any], Fingerprint, Other | None]:
    """Say which file and which video it is, and whose cast is there if it is another's."""
    stat = video.path.stat()
    seen = {
        "name": printable(video.path.name), "bytes": stat.st_size, "changed": stat.st_mtime_ns,
    }  # fmt: skip
    noted = noted if isinstance(noted, dict) else {}
    known = Fingerprint.from_json(noted.get("fingerprint"))
    if known is not None and all(noted.get(key) == value for key, value in seen.items()):
        return seen, known, None  # the very file
    now = fingerprint(video)
    differs = "" if known is None else difference_from(video, now, known)
    return seen, now, Other(str(noted.get("name", "")), differs) if differs else None


def _notes(before: dict[str, Any], what: str) -> dict[str, Any]:
    """Return what an earlier run noted, if that is what it looks like."""
    noted: Any = before.get(what, {})
    if not isinstance(noted, dict):
        return {}
    return {key: one for key, one in noted.items() if what == "counts" or isinstance(one, dict)}


def _place(folder: Path) -> tuple[int, int]:
    """Tell a folder from another of its name; (0, 0) if there is none."""
    try:
        stat = folder.stat()
    except OSError:
        return 0, 0
    return stat.st_dev, stat.st_ino


def _version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed, as PyTorch need not be."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _print(*values: Any) -> str:
    text = json.dumps(values, default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _way(folder: Path, video: Path) -> str:
    """Say where the video is, seen from the folder: they may be moved together."""
    try:
        return printable(os.path.relpath(video.resolve(), folder.resolve()))
    except ValueError:  # another drive
        return printable(str(video.resolve()))


def _model(path: Path | None) -> str:
    """Say which model it is, wherever the next command is given."""
    return "shipped" if path is None else printable(os.path.abspath(path))


def _content(path: Path | None) -> str:
    """Return a hash of a file, where there is one."""
    if path is None or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_note(path: Path) -> dict[str, Any]:
    """Read a note of ours; one that is not there or damaged says nothing."""
    try:
        value = read_json(path)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
