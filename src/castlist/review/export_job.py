"""Exports in a background thread: one at a time, written beside the cast folder."""

from __future__ import annotations

import atexit
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Annotated

from pydantic import ConfigDict, Field

from castlist.cast.corrections import Corrections
from castlist.cast.folder import check_name
from castlist.errors import CastlistError, InputError, counted
from castlist.export.write import FORMATS, ExportSettings, To, export_cast
from castlist.format import clock, clock_in_tenths
from castlist.handover.blur import Cover, write_blurred
from castlist.handover.edit_list import EDIT_LISTS
from castlist.handover.output import GRAPHS, seconds_before, write_graph, write_reel_of
from castlist.handover.scenes import SceneSettings
from castlist.io.output_guard import is_cast
from castlist.progress import Progress
from castlist.review.schemas import Number, Request

FILMS = (".mp4", ".mkv", ".mov")
#: Films and pictures that the page offers besides ``FORMATS``, and the suffixes of their files.
HANDOVER = {
    "reel": (*FILMS, *(suffix for suffix, _ in EDIT_LISTS.values())),
    "blur": FILMS,
    "graph": tuple(GRAPHS),
}
_EDITORS = {suffix: to for to, (suffix, _) in EDIT_LISTS.items()}
_SECONDS = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]
_MOST_NOTES = 200
_SECONDS_TO_END = 20.0  # that a server which is stopped waits for its export to clean up


class ExistsError(InputError):
    """A file of this name exists already."""


class ExportRequest(Request):
    """What to export: a format of ``FORMATS`` or ``HANDOVER``, its options, and the file name."""

    model_config = ConfigDict(strict=False)
    what: Annotated[str, Field(max_length=20)]
    name: Annotated[str, Field(min_length=1, max_length=255)]
    replace: bool = False
    by: Annotated[str, Field(max_length=20)] | None = None
    drop_frame: bool | None = None
    rate: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = None
    kind: Annotated[str, Field(max_length=20)] | None = None
    people: list[Number] = Field(default_factory=list, max_length=100, fail_fast=True)
    without: list[Number] = Field(default_factory=list, max_length=100, fail_fast=True)
    pad: _SECONDS = 0.0
    gap: _SECONDS = 0.0
    exact: bool = False
    cover: Cover = Cover.SOLID
    video: Annotated[str, Field(max_length=1000)] | None = None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes that its file may have."""
        return (FORMATS[To(self.what)].suffix,) if self.what in list(To) else HANDOVER[self.what]


@dataclass(frozen=True)
class Made:
    """An export that is done: its files, and what is to be said about it."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


@dataclass
class _Run:
    stage: str = "starting"
    share: float = 0.0
    cancelled: bool = False
    thread: Thread | None = field(default=None, repr=False)


class _Cancelled(CastlistError):
    pass


class Exporting:
    """Runs one export at a time, and remembers the files it made.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    """

    def __init__(self, corrections: Corrections) -> None:
        self._corrections = corrections
        self._lock = Lock()
        self._run = _Run()
        self.error = ""
        self.made: list[Made] = []

    @property
    def home(self) -> Path:
        """The folder that files are written to."""
        return self._corrections.folder.resolve().parent

    @property
    def running(self) -> bool:
        """Whether an export is running."""
        return self._run.thread is not None and self._run.thread.is_alive()

    @property
    def stage(self) -> str:
        """What it is doing."""
        return self._run.stage

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""
        return self._run.share

    def one_file_per_video(self, what: str) -> bool:
        """Return whether an export is a folder with one file per video."""
        several = len(self._corrections.tracks.videos) > 1
        return several and what in list(To) and FORMATS[To(what)].of_all is None

    def start(self, wanted: ExportRequest) -> None:
        """Start an export; raise InputError if it cannot be, or if one is running."""
        out = self._checked(wanted)
        with self._lock:
            if self.running:
                raise InputError("an export is running; wait until it is done, or cancel it")
            self.error, self._run = "", _Run()
            self._run.thread = Thread(target=self._work, args=(self._run, wanted, out), daemon=True)
            # However the server ends, and also if the page of this cast was closed before.
            atexit.register(self._end)
            self._run.thread.start()

    def cancel(self) -> None:
        """Stop the export that is running; its file is not written."""
        self._run.cancelled = True

    def _end(self) -> None:
        """Stop the export that is running and wait until its temporary file is removed."""
        self.cancel()
        if self._run.thread is not None:
            self._run.thread.join(_SECONDS_TO_END)

    def _checked(self, wanted: ExportRequest) -> Path:
        """Return the path to write to."""
        if wanted.what not in (*To, *HANDOVER):
            raise InputError(f"unknown format {wanted.what!r}")
        out = self.home / check_name(wanted.name)
        if is_cast(out):
            raise InputError(f"{wanted.name} is a cast; choose another name")
        several = self.one_file_per_video(wanted.what)
        if not several and not wanted.name.lower().endswith(wanted.suffixes):
            raise InputError(f"{wanted.name}: the name must end in {' or '.join(wanted.suffixes)}")
        if wanted.what == "reel" and not wanted.people:
            raise InputError("choose at least one person")
        ours = any(out in made.files for made in self.made)
        if out.exists() and out.suffix.lower() in FILMS and not ours:  # perhaps somebody's video
            raise InputError(f"{wanted.name} exists already in {self.home}; choose another name")
        if out.exists() and not wanted.replace:
            raise ExistsError(f"{wanted.name} exists already in {self.home}")
        return out

    def _work(self, run: _Run, wanted: ExportRequest, out: Path) -> None:
        def report(stage: str, done: int, total: int) -> None:
            run.stage, run.share = stage, done / max(total, 1)
            if run.cancelled:
                raise _Cancelled("cancelled")

        try:
            # Its own copy of the cast: corrections go on meanwhile.
            with Corrections(self._corrections.folder) as cast:
                self.made.append(_export(cast, wanted, out, report))
        except _Cancelled:
            self.error = "The export was cancelled. Nothing was written."
        except CastlistError as error:
            self.error = str(error)
        except Exception as error:  # the page shows it; a thread cannot raise it to anyone
            self.error = f"{type(error).__name__}: {error}"
        finally:
            atexit.unregister(self._end)


def _export(cast: Corrections, wanted: ExportRequest, out: Path, report: Progress) -> Made:
    report("writing", 0, 1)
    if wanted.what == "graph":
        found = write_graph(cast, out, wanted.gap)
        return Made((out,), (f"{counted(len(found.shared), 'pair')} seen together",))
    if wanted.what == "blur":
        unsure = write_blurred(
            cast, out, visible=wanted.people, video=wanted.video, cover=wanted.cover,
            progress=report,
        )  # fmt: skip
        notes = [
            f"{clock_in_tenths(one.start)} to {clock_in_tenths(one.end)}: {one.why}"
            for one in unsure
        ]
        more = [f"and {len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else []
        said = "A face that was not found is not covered." + (" Check:" if notes else "")
        return Made((out,), (said, *notes[:_MOST_NOTES], *more))
    if wanted.what == "reel":
        scenes, seconds = write_reel_of(
            cast, wanted.people, out, without=wanted.without,
            settings=SceneSettings(gap=wanted.gap, pad=wanted.pad),
            to=_EDITORS.get(out.suffix.lower()), exact=wanted.exact, progress=report,
        )  # fmt: skip
        about = [f"{counted(len(scenes), 'scene')}, {clock(seconds)}"]
        if not wanted.exact and (before := seconds_before(scenes, seconds)) >= 1:
            about.append(
                f"{before:.1f} s of it are before the scenes, from key frames on. Exact cuts leave "
                "them out."
            )
        return Made((out,), tuple(about))
    settings = ExportSettings(wanted.by, wanted.drop_frame, wanted.rate, wanted.kind)
    return Made(tuple(export_cast(cast, wanted.what, out, settings)))
