"""Remove what an unfinished scan has left, and nothing else."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from castlist.cast.cast_file import RUN
from castlist.cast.folder import CAST, CORRECTIONS, FACES, NEXT_CAST, POINTS, TRACKS
from castlist.cast.video_files import difference_from_scan
from castlist.errors import CastlistError
from castlist.io.cast_files import refuse_links
from castlist.io.files import printable
from castlist.io.lock import locked
from castlist.io.output_guard import has_checkpoint, is_cast
from castlist.pipeline.run_manifest import read_manifest
from castlist.pipeline.scan import PARTS


def discard_unfinished(folder: Path, video: Path, *, replace: bool = False) -> None:
    """Remove the checkpoint of a scan, and its other files if no earlier cast is in the folder.

    Nothing is removed from a folder that is no cast, that is of another video, or that another
    process uses.

    Parameters
    ----------
    folder : Path
        The folder for the cast.
    video : Path
        The video that was scanned.
    replace : bool
        Whether the scan was to replace the cast of another video. Of that, nothing is removed.
    """
    if not is_cast(folder):  # the scan was refused, or has not begun
        return
    run = read_manifest(folder / RUN)
    own = "castlist" in run and "stages" in run and _is_of(run.get("video"), video)
    with suppress(CastlistError, OSError), locked(folder):
        refuse_links(folder)
        # Without a manifest, the scan was stopped before it wrote one.
        if has_checkpoint(folder) and (own or replace or not (folder / RUN).exists()):
            shutil.rmtree(folder / PARTS, ignore_errors=True)
        if not own or (folder / CAST).exists() or (folder / CORRECTIONS).exists():
            return  # another scan, an earlier cast, or somebody's corrections
        shutil.rmtree(folder / FACES, ignore_errors=True)
        for name in (RUN, TRACKS, POINTS, NEXT_CAST):
            (folder / name).unlink(missing_ok=True)
            for partial in folder.glob(f".{name}*.part"):  # of a process that was ended
                partial.unlink(missing_ok=True)


def _is_of(film: Any, video: Path) -> bool:
    """Return whether an entry of a manifest is of a video; by its name if the video is gone."""
    if not isinstance(film, dict) or "fingerprint" not in film:
        return False
    if not os.path.isfile(video):
        return bool(film.get("name") == printable(video.name))
    return not difference_from_scan(video, film)
