"""Remove what an unfinished scan has left, and nothing else."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from castlist.cast.cast_file import RUN
from castlist.cast.folder import CAST, CORRECTIONS, FACES, NEXT_CAST, POINTS, TRACKS
from castlist.errors import CastlistError
from castlist.io.lock import locked
from castlist.pipeline.scan import PARTS


def discard_unfinished(folder: Path) -> None:
    """Remove the checkpoint of a scan, and the folder if no earlier cast is in it.

    Nothing is removed while another process uses the folder.
    """
    if not (folder / PARTS).is_dir() and (folder / CAST).exists():
        return
    with suppress(CastlistError, OSError), locked(folder):
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        if (folder / CAST).exists() or (folder / CORRECTIONS).exists():
            return  # an earlier cast, or somebody's corrections
        shutil.rmtree(folder / FACES, ignore_errors=True)
        for name in (RUN, TRACKS, POINTS, NEXT_CAST):
            (folder / name).unlink(missing_ok=True)
            for partial in folder.glob(f".{name}*.part"):  # of a process that was ended
                partial.unlink(missing_ok=True)
