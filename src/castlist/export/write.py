"""The door to all formats: which there are, and where files go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.csv import csv_lines
from castlist.export.cvat import cvat_lines
from castlist.export.edl import edl_lines
from castlist.export.formats import By, ExportSettings, To
from castlist.export.json import json_lines
from castlist.export.mot import mot_lines
from castlist.export.otio import otio_lines
from castlist.export.rttm import rttm_lines
from castlist.export.timeline import Timeline, timelines
from castlist.export.truth import truth_lines
from castlist.export.vtt import vtt_lines
from castlist.io.files import printable, replacing
from castlist.io.output_guard import check_file

_LONGEST = 200  # bytes of a file's name, without its ending: disks take 255


@dataclass(frozen=True)
class Format:
    """A format: the end of its files' names, and its writer, of one video or of all."""

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
}


def export_cast(
    cast: CurrentCast,
    to: str,
    out: str | Path | None = None,
    settings: ExportSettings | None = None,
) -> list[Path]:
    """Write a cast, as corrected, in the format of another tool.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    to : str
        ``csv``, ``json``, ``otio``, ``edl``, ``cvat``, ``mot``, ``rttm``, ``vtt`` or
        ``truth``.
    out : path, optional
        A file, or a folder that is there; ``<cast's folder>.<suffix>`` in the current folder if
        not given. Where a cast has several videos, the folder for one file each; ``csv`` and
        ``json`` hold them all in one.
    settings : ExportSettings, optional
        What the format leaves open.

    Returns
    -------
    list of Path
        The files written.
    """
    form, parts = _prepared(cast, to, settings or ExportSettings())
    name = f"{cast.folder.resolve().name}{form.suffix}"
    path = Path(name if out is None else out)
    if len(parts) > 1:
        if out is None or path.is_file():
            raise _several(cast, to, len(parts))
        files = [path / f"{name}{form.suffix}" for name in _names([video for video, _ in parts])]
    else:
        files = [path / name if path.is_dir() else path]
    for file in files:  # all of them before the first is written
        check_file(file, Path(f"_{form.suffix}").suffix)  # truth goes into any .csv file
    for file, (_, lines) in zip(files, parts, strict=True):
        _write(file, lines)
    return files


def export_lines(
    cast: CurrentCast, to: str, settings: ExportSettings | None = None
) -> Iterator[str]:
    """Give the text of a cast in a format, piece by piece, where it is one file."""
    _, parts = _prepared(cast, to, settings or ExportSettings())
    if len(parts) > 1:
        raise _several(cast, to, len(parts))
    return parts[0][1]


def _prepared(
    cast: CurrentCast, to: str, settings: ExportSettings
) -> tuple[Format, list[tuple[str, Iterator[str]]]]:
    """Return a format, and the text of each of its files by video."""
    if to not in list(To):
        raise InputError(f"no format {to!r}; there are {', '.join(To)}")
    if settings.by is not None and to != To.MOT:
        raise InputError(f"by track or character is about the ids of mot, and {to} has none")
    if settings.by not in (None, *By):
        raise InputError(f"by {' or '.join(By)}, not by {settings.by!r}")
    if settings.drop_frame is not None and to != To.EDL:
        raise InputError(f"drop-frame is about the timecode of edl, and {to} has none")
    if settings.rate is not None and to in (To.CSV, To.RTTM, To.VTT, To.TRUTH):
        raise InputError(f"a rate is for formats that count frames, and {to} is in seconds")
    form, every = FORMATS[To(to)], timelines(cast, settings.rate)
    if form.of_all is not None:
        return form, [("", form.of_all(every))]
    assert form.of_one is not None
    return form, [(one.video, form.of_one(one, settings)) for one in every]


def _names(videos: Sequence[str]) -> list[str]:
    """Name a file a video: in its folder, whatever the video is called, and nobody else's."""
    names: list[str] = []
    for video in videos:
        plain = (
            re.sub(r"[/\\\0]", "_", printable(video)).encode()[:_LONGEST].decode("utf-8", "ignore")
        )
        name, k = plain or "video", 2
        while name.casefold() in {one.casefold() for one in names}:
            name, k = f"{plain} ({k})", k + 1
        names.append(name)
    return names


def _several(cast: CurrentCast, to: str, count: int) -> InputError:
    return InputError(
        f"{cast.folder} has {count} videos, and {to} is one file a video; give a folder with -o"
    )


def _write(path: Path, lines: Iterable[str]) -> None:
    # Line ends are the formats' own, on every system.
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
