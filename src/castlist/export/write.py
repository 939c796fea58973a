"""Write a cast in any export format: the formats, their settings, and where the files go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.chapters import chapters_lines
from castlist.export.csv import csv_lines
from castlist.export.cvat import cvat_lines
from castlist.export.edl import edl_lines
from castlist.export.fcpxml import fcpxml_lines
from castlist.export.json import json_lines
from castlist.export.mot import By, mot_lines
from castlist.export.otio import otio_lines
from castlist.export.premiere import premiere_lines
from castlist.export.rttm import rttm_lines
from castlist.export.timeline import Timeline, timelines
from castlist.export.truth import truth_lines
from castlist.export.vtt import vtt_lines
from castlist.io.files import printable, write_lines
from castlist.io.output_guard import check_file

_MAX_NAME = 200  # bytes of a file name without its suffix; file systems allow 255


class To(StrEnum):
    """The formats."""

    CSV = "csv"
    JSON = "json"
    OTIO = "otio"
    EDL = "edl"
    CVAT = "cvat"
    MOT = "mot"
    RTTM = "rttm"
    VTT = "vtt"
    TRUTH = "truth"
    FCPXML = "fcpxml"
    PREMIERE = "premiere"
    CHAPTERS = "chapters"


@dataclass(frozen=True)
class ExportSettings:
    """Settings of the formats that have some.

    Attributes
    ----------
    by : {"track", "character"}, optional
        What the ids of ``mot`` number; tracks if not given.
    drop_frame : bool, optional
        Whether the timecode of ``edl`` is drop-frame; by default where drop-frame exists.
    rate : float, optional
        Frames per second, instead of the video's average.
    """

    by: By | str | None = None
    drop_frame: bool | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Format:
    """A format: its file suffix, and its writer, which takes one video or all of them.

    To add one, write a module beside this one and add it to :class:`To` and ``FORMATS``.
    """

    suffix: str
    of_one: Callable[[Timeline, ExportSettings], Iterator[str]] | None = None
    of_all: Callable[[Sequence[Timeline]], Iterator[str]] | None = None


FORMATS = {
    To.CSV: Format(".csv", of_all=csv_lines),
    To.JSON: Format(".json", of_all=json_lines),
    To.OTIO: Format(".otio", lambda one, _: otio_lines(one)),
    To.EDL: Format(".edl", lambda one, how: edl_lines(one, how.drop_frame)),
    To.CVAT: Format(".xml", lambda one, _: cvat_lines(one)),
    To.MOT: Format(".txt", lambda one, how: mot_lines(one, By(how.by or By.TRACK))),
    To.RTTM: Format(".rttm", lambda one, _: rttm_lines(one)),
    To.VTT: Format(".vtt", lambda one, _: vtt_lines(one)),
    To.TRUTH: Format(".truth.csv", lambda one, _: truth_lines(one)),
    To.FCPXML: Format(".fcpxml", lambda one, _: fcpxml_lines(one)),
    To.PREMIERE: Format(".premiere.xml", lambda one, _: premiere_lines(one)),
    To.CHAPTERS: Format(".ffmeta", lambda one, _: chapters_lines(one)),
}


def export_cast(
    cast: CurrentCast,
    to: str,
    out: str | Path | None = None,
    settings: ExportSettings | None = None,
) -> list[Path]:
    """Write a corrected cast in the format of another tool, and return the files.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    to : str
        ``csv``, ``json``, ``otio``, ``edl``, ``fcpxml``, ``premiere``, ``chapters``, ``cvat``,
        ``mot``, ``rttm``, ``vtt`` or ``truth``.
    out : path, optional
        A file or an existing folder; ``<cast folder>.<suffix>`` in the current folder if not
        given. For a cast of several videos, the folder for one file per video; ``csv`` and
        ``json`` hold all videos in one file.
    settings : ExportSettings, optional
        Settings of the format.

    Returns
    -------
    list of Path
        The files written.
    """
    form, parts = _prepare(cast, to, settings or ExportSettings())
    name = f"{cast.folder.resolve().name}{form.suffix}"
    path = Path(name if out is None else out)
    if len(parts) > 1:
        if out is None or path.is_file():
            raise _several(cast, to, len(parts))
        files = [path / f"{name}{form.suffix}" for name in _names([video for video, _ in parts])]
    else:
        files = [path / name if path.is_dir() else path]
    for file in files:  # check all before the first is written
        check_file(file, Path(f"_{form.suffix}").suffix)  # truth may replace any .csv file
    for file, (_, lines) in zip(files, parts, strict=True):
        write_lines(file, lines)
    return files


def export_lines(
    cast: CurrentCast, to: str, settings: ExportSettings | None = None
) -> Iterator[str]:
    """Return the text of a cast in a format, in pieces; an InputError if it is several files."""
    _, parts = _prepare(cast, to, settings or ExportSettings())
    if len(parts) > 1:
        raise _several(cast, to, len(parts))
    return parts[0][1]


def _prepare(
    cast: CurrentCast, to: str, settings: ExportSettings
) -> tuple[Format, list[tuple[str, Iterator[str]]]]:
    """Return the format, and the video and text of each file."""
    if to not in list(To):
        raise InputError(f"unknown format {to!r}; choose one of {', '.join(To)}")
    if settings.by is not None and to != To.MOT:
        raise InputError(f"{to} has no ids; only mot numbers tracks or characters")
    if settings.by not in (None, *By):
        raise InputError(f"unknown ids {settings.by!r}; choose {' or '.join(By)}")
    if settings.drop_frame is not None and to != To.EDL:
        raise InputError(f"{to} has no timecode; only edl can be drop-frame")
    if settings.rate is not None and to in (To.CSV, To.RTTM, To.VTT, To.TRUTH, To.CHAPTERS):
        raise InputError(f"{to} is in seconds; a frame rate is only for formats that count frames")
    form, every = FORMATS[To(to)], timelines(cast, settings.rate)
    if form.of_all is not None:
        return form, [("", form.of_all(every))]
    assert form.of_one is not None
    return form, [(one.video, form.of_one(one, settings)) for one in every]


def _names(videos: Sequence[str]) -> list[str]:
    """Return one file name per video: valid whatever the video is called, and unique."""
    names: list[str] = []
    for video in videos:
        plain = (
            re.sub(r"[/\\\0]", "_", printable(video)).encode()[:_MAX_NAME].decode("utf-8", "ignore")
        )
        name, k = plain or "video", 2
        while name.casefold() in {one.casefold() for one in names}:
            name, k = f"{plain} ({k})", k + 1
        names.append(name)
    return names


def _several(cast: CurrentCast, to: str, count: int) -> InputError:
    return InputError(
        f"{cast.folder} has {count} videos, and {to} writes one file per video; give a folder"
    )
