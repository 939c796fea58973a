"""The report of a cast's folder, as corrected."""

from __future__ import annotations

from pathlib import Path

from castlist.cast.corrections import Corrections
from castlist.cast.folder import REPORT
from castlist.report.page import write_report
from castlist.video.pictures import Cover


def report_folder(corrections: Corrections) -> Path:
    """Write the report of a cast into its folder; where it is."""
    folder = corrections.folder

    def crops(track: int) -> list[bytes]:
        paths = corrections.scanned.pictures(str(corrections.tracks.ids[track]))
        return [path.read_bytes() for path in paths]

    def frames(track: int) -> tuple[bytes, Cover] | None:
        name = str(corrections.tracks.ids[track])
        path, cover = corrections.scanned.frame(name), corrections.covers.get(name)
        return (path.read_bytes(), cover) if cover is not None and path.is_file() else None

    run = corrections.scanned.run
    about: dict[str, object] = {
        name: run[name] for name in ("castlist", "settings", "counts") if name in run
    }
    write_report(
        corrections.cast, crops, folder / REPORT, about, shown=corrections.shown, frames=frames
    )
    return folder / REPORT
