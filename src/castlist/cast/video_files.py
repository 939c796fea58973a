"""The video files of a cast: where they are, and whether they are what was scanned."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from castlist.cast.folder import Scanned
from castlist.errors import InputError, first_line
from castlist.io.files import printable
from castlist.video.fingerprint import Fingerprint, difference_from, fingerprint
from castlist.video.frames import open_video


class OtherFileError(InputError):
    """A file lies where the video of a cast should be, and is not that video."""


def find_video(scanned: Scanned, number: int = 0) -> Path | None:
    """Return the file of a video: where it was scanned, or beside the folder; None if gone.

    Parameters
    ----------
    scanned : Scanned
        The scan.
    number : int
        Which of its videos.

    Raises
    ------
    OtherFileError
        There are only files of another content. A video that was copied, renamed or encoded again
        is the same video. What a scan did not note is not compared.
    """
    film = scanned.films[number]
    places = [
        scanned.folder / str(film.get("path", "")),
        scanned.folder.parent / str(film.get("name", "")),
    ]
    refused = ""
    # os.path.isfile is False for names that are too long or not accessible; Path.is_file raises.
    for path in (place.resolve() for place in places if os.path.isfile(place)):
        differs = difference_from_scan(path, film)
        if not differs:
            return path
        refused = refused or (
            f"{path} is not the video that was scanned into {scanned.folder}: {differs}. Put that "
            "video there, or scan this one into a folder of its own"
        )
    if refused:
        raise OtherFileError(refused)
    return None


def difference_from_scan(path: Path, film: dict[str, Any]) -> str:
    """Return how a file differs from a video in ``run.json``; empty if it is that video."""
    known, facts = Fingerprint.from_json(film.get("fingerprint")), file_facts(path)
    if known is None or all(film.get(key) == value for key, value in facts.items()):
        return ""
    try:
        return _difference(path, facts["bytes"], facts["changed"], known)
    except InputError as error:
        return first_line(error)


def file_facts(path: Path) -> dict[str, Any]:
    """Return name, size and time of a file: if they are as before, it has the same content."""
    stat = path.stat()
    return {"name": printable(path.name), "bytes": stat.st_size, "changed": stat.st_mtime_ns}


@lru_cache(maxsize=1024)  # a reel asks for its video once per scene
def _difference(path: Path, size: int, changed: int, known: Fingerprint) -> str:
    with open_video(path) as video:
        return difference_from(video, fingerprint(video), known)
