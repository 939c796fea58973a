"""Write a cast in any export format: the formats, their settings, and where the files go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

from castlist.cast.current import CurrentCast
from castlist.errors import CastlistError, InputError
from castlist.export import nfo, xmp
from castlist.export.chapters import chapter_cues, chapters_lines, matroska_lines
from castlist.export.csv import csv_lines
from castlist.export.cvat import cvat_lines
from castlist.export.edl import edl_lines
from castlist.export.fcpxml import fcpxml_lines
from castlist.export.json import json_lines
from castlist.export.mot import By, mot_lines
from castlist.export.nfo import Kind, nfo_lines
from castlist.export.otio import otio_lines
from castlist.export.premiere import premiere_lines
from castlist.export.rttm import rttm_lines
from castlist.export.timeline import Timeline, timelines
from castlist.export.truth import truth_lines
from castlist.export.vtt import vtt_lines
from castlist.export.xmp import xmp_lines
from castlist.io.files import printable, write_lines
from castlist.io.output_guard import check_file
from castlist.plugins import plugins

_HEAD = 4096  # bytes in which a sidecar says who made it
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
    CHAPTERS_MKV = "chapters-mkv"
    CHAPTERS_VTT = "chapters-vtt"
    NFO = "nfo"
    XMP = "xmp"


@dataclass(frozen=True)
class ExportSettings:
    """Settings of the formats that have some; ``FORMATS`` lists which.

    Attributes
    ----------
    by : {"track", "character"}, optional
        What the ids of ``mot`` number; tracks if not given.
    drop_frame : bool, optional
        Whether timecode is drop-frame; by default where drop-frame exists.
    rate : float, optional
        Frames per second, instead of the video's average.
    kind : {"movie", "episode"}, optional
        What ``nfo`` describes; by default an episode if the name of the video has its number.
    """

    by: By | str | None = None
    drop_frame: bool | None = None
    rate: float | None = None
    kind: Kind | str | None = None


@dataclass(frozen=True)
class Format:
    """A format: what it is, and its writer, which takes one video or all of them.

    To add one, write a module beside this one and add it to :class:`To` and ``FORMATS``, or add it
    from another package (``docs/plugins``). Command line and review page are made from this table.

    Attributes
    ----------
    suffix : str
        Suffix of its files, such as ``.csv``.
    tool : str
        What reads it.
    about : str
        What it contains.
    of_one : callable, optional
        Takes one video and the settings, and yields the text of its file.
    of_all : callable, optional
        Takes all videos and the settings, and yields the text of one file.
    options : tuple of str
        The fields of :class:`ExportSettings` that it takes.
    made_by : str
        For sidecars, which are named after the video: text that only files of castlist contain.
        Other files of that name are not overwritten.
    """

    suffix: str
    tool: str = ""
    about: str = ""
    of_one: Callable[[Timeline, ExportSettings], Iterator[str]] | None = None
    of_all: Callable[[Sequence[Timeline], ExportSettings], Iterator[str]] | None = None
    options: tuple[str, ...] = ()
    made_by: str = ""


FORMATS = {
    To.CSV: Format(
        ".csv", "spreadsheets", "one row per track, with timecode",
        of_all=lambda every, how: csv_lines(every, how.drop_frame), options=("rate", "drop_frame"),
    ),
    To.JSON: Format(
        ".json", "programs", "the whole cast", of_all=lambda every, _: json_lines(every),
        options=("rate",),
    ),
    To.OTIO: Format(
        ".otio", "OpenTimelineIO", "one marker per appearance", lambda one, _: otio_lines(one),
        options=("rate",),
    ),
    To.EDL: Format(
        ".edl", "DaVinci Resolve", "one marker per appearance",
        lambda one, how: edl_lines(one, how.drop_frame), options=("rate", "drop_frame"),
    ),
    To.FCPXML: Format(
        ".fcpxml", "Final Cut Pro", "one keyword range per appearance",
        lambda one, _: fcpxml_lines(one), options=("rate",),
    ),
    To.PREMIERE: Format(
        ".premiere.xml", "Premiere Pro", "one marker per appearance",
        lambda one, _: premiere_lines(one), options=("rate",),
    ),
    To.CHAPTERS: Format(
        ".ffmeta", "FFmpeg", "one chapter per change of people",
        lambda one, _: chapters_lines(one),
    ),
    To.CHAPTERS_MKV: Format(
        ".chapters.xml", "MKVToolNix", "one chapter per change of people, for Matroska",
        lambda one, _: matroska_lines(one),
    ),
    To.CHAPTERS_VTT: Format(
        ".chapters.vtt", "browsers", "one chapter per change of people, as WebVTT",
        lambda one, _: chapter_cues(one),
    ),
    To.NFO: Format(
        ".nfo", "Kodi, Jellyfin", "the people with names, as actors",
        lambda one, how: nfo_lines(one, Kind(how.kind) if how.kind else None), options=("kind",),
        made_by=nfo.MADE_BY,
    ),
    To.XMP: Format(
        ".xmp", "media managers", "the people with names, and one marker per appearance",
        lambda one, _: xmp_lines(one), options=("rate",), made_by=xmp.MADE_BY,
    ),
    To.VTT: Format(
        ".vtt", "players", "one caption per appearance", lambda one, _: vtt_lines(one)
    ),
    To.RTTM: Format(
        ".rttm", "diarization tools", "one turn per appearance", lambda one, _: rttm_lines(one)
    ),
    To.CVAT: Format(
        ".xml", "CVAT", "tracks with boxes", lambda one, _: cvat_lines(one), options=("rate",)
    ),
    To.MOT: Format(
        ".txt", "MOT Challenge", "one line per face",
        lambda one, how: mot_lines(one, By(how.by or By.TRACK)), options=("rate", "by"),
    ),
    To.TRUTH: Format(
        ".truth.csv", "castlist", "the person of each face, to score other scans against",
        lambda one, _: truth_lines(one),
    ),
}  # fmt: skip
#: What is said if a setting is given that the format does not take.
_WITHOUT = {
    "by": "has no ids; only mot numbers tracks or characters",
    "drop_frame": "has no timecode; only csv and edl can be drop-frame",
    "rate": "is in seconds; a frame rate is only for formats that count frames",
    "kind": "describes no kind of video; only nfo does",
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
        ``csv``, ``json``, ``otio``, ``edl``, ``fcpxml``, ``premiere``, ``chapters``,
        ``chapters-mkv``, ``chapters-vtt``, ``nfo``, ``xmp``, ``vtt``, ``rttm``, ``cvat``, ``mot``,
        ``truth``, or the name of a plugin.
    out : path, optional
        A file or an existing folder; ``<cast folder>.<suffix>`` in the current folder if not
        given (for ``nfo`` and ``xmp``, ``<video>.<suffix>``). For a cast of several videos, the
        folder for one file per video; ``csv`` and ``json`` hold all videos in one file.
    settings : ExportSettings, optional
        Settings of the format.

    Returns
    -------
    list of Path
        The files written.
    """
    form, parts = _prepare(cast, to, settings or ExportSettings())
    name = default_name(cast, form, [video for video, _ in parts])
    path = Path(name if out is None else out)
    if len(parts) > 1:
        if out is None or path.is_file():
            raise _several(cast, to, len(parts))
        videos = [_stem(video, form) for video, _ in parts]
        files = [path / f"{name}{form.suffix}" for name in _names(videos)]
    else:
        files = [path / name if path.is_dir() else path]
    for file in files:  # check all before the first is written
        check_file(file, Path(f"_{form.suffix}").suffix)  # truth may replace any .csv file
        _check_sidecar(file, form)
    for file, (_, lines) in zip(files, parts, strict=True):
        write_lines(file, lines)
    return files


def default_name(cast: CurrentCast, form: Format, videos: Sequence[str]) -> str:
    """Return the name of a file: after the cast folder, or for sidecars after the video."""
    own = cast.folder.resolve().name
    if form.made_by and len(videos) == 1 and videos[0]:
        (own,) = _names([_stem(videos[0], form)])
    return f"{own}{form.suffix}"


def _stem(video: str, form: Format) -> str:
    """Return the name of a video for a file name; of a sidecar, without the video's suffix."""
    return PurePath(video).stem if form.made_by else video


def _check_sidecar(file: Path, form: Format) -> None:
    """Raise an InputError if a file is the sidecar of another tool."""
    if form.made_by and file.is_file():
        with file.open("rb") as made:
            if form.made_by.encode() not in made.read(_HEAD):
                raise InputError(
                    f"{file} exists and is not of castlist; move it, or choose another name"
                )


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
    form = _format(to)
    for name, why in _WITHOUT.items():
        if getattr(settings, name) is not None and name not in form.options:
            raise InputError(f"{to} {why}")
    if settings.by not in (None, *By):
        raise InputError(f"unknown ids {settings.by!r}; choose {' or '.join(By)}")
    if settings.kind not in (None, *Kind):
        raise InputError(f"unknown kind of video {settings.kind!r}; choose {' or '.join(Kind)}")
    every = timelines(cast, settings.rate)
    if form.of_all is not None:
        return form, [("", form.of_all(every, settings))]
    assert form.of_one is not None
    return form, [(one.video, form.of_one(one, settings)) for one in every]


def _format(to: str) -> Format:
    """Return a format of castlist or of a plugin; an InputError if there is none."""
    if to in list(To):
        return FORMATS[To(to)]
    added = plugins("exports")
    if to not in added:
        raise InputError(f"unknown format {to!r}; choose one of {', '.join([*To, *added])}")
    form = added[to].load()
    if not isinstance(form, Format) or (form.of_one is None) == (form.of_all is None):
        raise CastlistError(
            f"the plugin {to} of {added[to].package} does not work (not a Format with one writer)"
        )
    return form


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
