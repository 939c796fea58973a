"""Scan a video with the settings that it was scanned with before."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from castlist.cast.cast_file import RUN
from castlist.errors import InputError
from castlist.pipeline.run_manifest import read_note
from castlist.pipeline.scan import cast_folder, scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.progress import Progress, silent
from castlist.video.watch_settings import WatchSettings


def settings_of(run: dict[str, Any], where: Path) -> ScanSettings:
    """Return the settings that ``run.json`` notes.

    Parameters
    ----------
    run : dict
        What it says.
    where : Path
        The folder it is of, for messages.
    """
    noted = run.get("settings", {})
    try:
        watching = noted.get("watching", {})
        return ScanSettings(
            watching=WatchSettings(**_known(WatchSettings, watching)),
            model=None if noted.get("model", "shipped") == "shipped" else Path(noted["model"]),
            tracks=None if noted.get("tracks") is None else Path(noted["tracks"]),
            **{
                name: value
                for name, value in _known(ScanSettings, noted).items()
                if name not in ("watching", "model", "tracks")
            },
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where / RUN}: no settings of a scan ({error}); scan again") from error


def _known(kind: type, noted: dict[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in noted.items() if name in names}


def scan_to_add(joined: Path, video: Path, *, progress: Progress = silent) -> Path:
    """Scan a video that is to be added to a joined cast; return its folder.

    A video that was scanned before is scanned with the same settings: what is done is not done
    again. One that is new is described as those of the joined cast are.

    Parameters
    ----------
    joined : Path
        The joined cast.
    video : Path
        The video file.
    progress : callable
        Told how far it is.
    """
    folder = cast_folder(video)
    before = read_note(folder / RUN)
    if "settings" in before:
        settings = settings_of(before, folder)
    else:
        theirs = settings_of(read_note(joined / RUN), joined)
        settings = ScanSettings(describer=theirs.describer, model=theirs.model)
    return scan(video, folder, settings, progress=progress).folder
