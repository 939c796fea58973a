"""The report of a cast's folder, as corrected."""

from __future__ import annotations

from pathlib import Path

from castlist.cast.corrections import Corrections
from castlist.cast.folder import REPORT
from castlist.report.page import write_report


def report_folder(corrections: Corrections) -> Path:
    """Write the report of a cast into its folder; where it is."""
    folder = corrections.folder

    def crops(track: int) -> list[bytes]:
        paths = corrections.scanned.pictures(str(corrections.tracks.ids[track]))
        return [path.read_bytes() for path in paths]

    run = corrections.scanned.run
    about: dict[str, object] = {
        name: run[name] for name in ("castlist", "settings", "counts") if name in run
    }
    write_report(corrections.cast, crops, folder / REPORT, about)
    return folder / REPORT
