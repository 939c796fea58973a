"""Whose a folder is, so that no command writes over what another made.

A cast holds what people said of it, and nothing brings that back: a run, a study, a scan of another
kind or an exported file goes elsewhere.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from castlist.errors import InputError
from castlist.io.untrusted import read_json

#: What a cast is made of, of one video or of several: files, and folders with all in them.
OWN = frozenset((
    "tracks.parquet", "cast.json", "report.html", "run.json", "embeddings.npy", "corrections.db",
    "corrections.db-wal", "corrections.db-shm", "corrections.db-journal", "faces", "parts",
    "episodes", "model.safetensors", "balls.npz", ".lock", "cast.next.json",
))  # fmt: skip
_WRITTEN_LAST = {"embeddings.npy", "cast.json", "cast.next.json", "report.html"}  # by a scan
_OF_A_RUN = ("state.safetensors", "log.jsonl")
_OF_A_STUDY = ("study.json",)
_PART = re.compile(r"settings\.json|faces|before|\d+\.npz")


def is_cast(folder: Path) -> bool:
    """Say whether a folder is a cast, whole or begun. No file that may be alone is enough."""
    return (
        _has(folder, "corrections.db")
        or is_joined(folder)
        or (_has(folder, "tracks.parquet") and _has(folder, "cast.json", "run.json"))
        or "stages" in _notes(folder)
        or (os.path.isdir(folder / "parts") and all(map(_PART.fullmatch, _seen(folder / "parts"))))
    )


def is_joined(folder: Path) -> bool:
    """Say whether a folder is a cast of several videos, damaged or not."""
    return "videos" in _notes(folder) or (
        os.path.isdir(folder / "episodes") and _has(folder, "run.json", "cast.json")
    )


def check_for_scan(folder: Path) -> None:
    """Refuse a folder to scan into that is neither new, nor the cast of one video."""
    if is_joined(folder):
        raise InputError(
            f"{folder} is the cast of several videos, and a scan would write over it; "
            "give another folder with -o"
        )
    # Where a folder was removed during a scan there is what it wrote after that, and no more.
    if not _WRITTEN_LAST.issuperset(_seen(folder)) and not is_cast(folder):
        raise InputError(f"{folder} is {_whose(folder)}; give another folder with -o")


def check_for_run(folder: Path, what: str) -> None:
    """Refuse a cast's folder for what is none."""
    if is_cast(folder):
        raise InputError(
            f"{folder} is a cast's folder, and {what} needs its own; give another with -o"
        )


def check_file(path: Path, suffix: str) -> None:
    """Refuse to write over a file of a cast, whatever way leads to it, or of another kind.

    (Another hard name of such a file may be given: files are replaced by name, and it stays.)
    """
    here = Path(os.path.realpath(path.parent), path.name)
    for place in {here, Path(os.path.realpath(path))}:
        for home in place.parents:
            own = place.relative_to(home).parts[0]
            # Some disks tell no cast.json from Cast.JSON.
            if own.casefold() in OWN and is_cast(home):
                raise InputError(
                    f"{path} would be written over {own} of the cast {home}; give another file"
                )
    if path.is_file() and path.suffix.lower() != suffix:  # a slip of the hand: it may be the video
        raise InputError(f"{path} is there already and no {suffix} file; give another name")


def _whose(folder: Path) -> str:
    if _has(folder, *_OF_A_STUDY):
        return "a study's folder, and no cast"
    if _has(folder, *_OF_A_RUN):
        return "the folder of a training run, and no cast"
    return "no cast, and not empty"


def _has(folder: Path, *names: str) -> bool:
    return any(os.path.isfile(folder / name) for name in names)


def _seen(folder: Path) -> list[str]:
    """List what is in a folder, but for what is hidden: locks, and files half written."""
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:  # not there, or said by who writes
        return []


def _notes(folder: Path) -> dict[str, object]:
    try:
        value = read_json(folder / "run.json")
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
