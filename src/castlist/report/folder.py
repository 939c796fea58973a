"""The report of a cast's folder, as corrected."""

from __future__ import annotations

from pathlib import Path

from castlist.cast.current import CurrentCast
from castlist.cast.folder import REPORT
from castlist.io.pictures import Cover
from castlist.report.page import write_report


def report_folder(corrections: CurrentCast) -> Path:
    """Write the report of a cast into its folder; where it is."""
    folder = corrections.folder

    def crops(track: int) -> list[bytes]:
        paths = corrections.pictures_of(str(corrections.tracks.ids[track]))
        return [path.read_bytes() for path in paths]

    def frames(track: int) -> tuple[bytes, Cover] | None:
        name = str(corrections.tracks.ids[track])
        path, cover = corrections.frame_of(name), corrections.covers.get(name)
        if path is None or cover is None or not path.is_file():
            return None
        return path.read_bytes(), cover

    run = corrections.scanned.run
    about: dict[str, object] = {
        name: run[name] for name in ("castlist", "settings", "counts") if name in run
    }
    write_report(
        corrections.cast, crops, folder / REPORT, about, shown=corrections.shown, frames=frames
    )
    return folder / REPORT
