"""MOT Challenge files: ``frame,id,left,top,width,height,…`` a line, counted from 1."""

from __future__ import annotations

from pathlib import Path

from castlist.errors import InputError
from castlist.io.box_tracks import BoxColumns, GivenTracks

_LONGEST_GAP = 1.0  # seconds: the format does not say when a face is gone
_LONGEST_LINE = 10_000


def read_mot(path: str | Path) -> GivenTracks:
    """Read the tracks of a MOT Challenge file; confidence and what follows it is not used."""
    path = Path(path)
    columns = BoxColumns(path)
    known: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                if line.strip():
                    _add(columns, f"line {number}", line, known)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({error})") from error
    if not known:
        raise InputError(f"{path}: no tracks in it")
    return GivenTracks(columns.tracks(), _LONGEST_GAP)


def _add(columns: BoxColumns, where: str, line: str, known: dict[str, str]) -> None:
    words = line.replace(",", " ").split()[:6]
    try:
        frame, track, left, top, width, height = (float(word) for word in words)
        whole = frame == int(frame) and track == int(track) and len(line) < _LONGEST_LINE
    except (ValueError, OverflowError):
        whole = False
    if not whole:
        raise InputError(
            f"{columns.path}, {where}: expected frame,id,left,top,width,height, "
            f"found {line.strip()[:60]!r}"
        )
    if track < 0:
        raise InputError(
            f"{columns.path}, {where}: id {int(track)} says that these are detections, not tracks"
        )
    name = str(int(track))
    box = (left - 1, top - 1, width, height)  # pixels are counted from 1 too
    columns.add(where, known.setdefault(name, name), int(frame) - 1, box)
