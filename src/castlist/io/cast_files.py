"""The files of a cast folder, none of which may be a link: it could lead to a file of the user."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from castlist.errors import InputError

#: Files and folders of a cast, of one video or of several.
OWN = frozenset((
    "tracks.parquet", "cast.json", "report.html", "run.json", "embeddings.npy", "corrections.db",
    "corrections.db-wal", "corrections.db-shm", "corrections.db-journal", "faces", "parts",
    "episodes", "model.safetensors", "balls.npz", ".lock", "cast.next.json", "photos.json",
    "photos.jpg",
))  # fmt: skip
#: Folders of pictures: too many to look at each. `pictures.jpeg_of` does when one is read.
_PICTURES = ("faces", "before")
_MOUNT_POINT = 0xA0000003  # tag of a junction, which is a folder of Windows that leads elsewhere


def refuse_links(folder: Path) -> None:
    """Raise an InputError if a file or folder of a cast is a link.

    The folder itself may be one, and so may be files that are no part of a cast.
    """
    places = [folder]
    for place in places:
        try:
            with os.scandir(place) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:  # missing, or unreadable: the error comes when a file in it is opened
            continue
        for entry in entries:
            name = entry.name.casefold()  # some file systems ignore case
            # Locks and partial files replace links and are not opened through them (io/lock.py).
            if name.startswith(".") or (place == folder and name not in OWN):
                continue
            refuse_link(Path(entry.path))
            if entry.is_dir(follow_symlinks=False) and name not in _PICTURES:
                places.append(Path(entry.path))


def refuse_link(path: Path) -> None:
    """Raise an InputError if a path is a link, dangling or not."""
    if _is_link(path):
        raise InputError(
            f"{path} is a link, and the files of a cast may not lead out of it; put the file or "
            "folder itself in its place"
        )


def is_own_file(path: Path) -> bool:
    """Return whether a path is a file, and neither a link nor a pipe or a device."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):  # ValueError: a name with NUL
        return False


def _is_link(path: Path) -> bool:
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _MOUNT_POINT
