"""Refuse to overwrite folders and files that another command made.

A cast holds people's corrections, which cannot be made again by a command.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from castlist.errors import InputError
from castlist.io.cast_files import OWN, is_own_file, refuse_links
from castlist.io.untrusted import read_json

_SCAN_RESULTS = {"embeddings.npy", "cast.json", "cast.next.json", "report.html"}  # written last
_RUN_FILES = ("state.safetensors", "log.jsonl")
_STUDY_FILES = ("study.json",)
_PART = re.compile(r"settings\.json|faces|before|\d+\.npz")


def is_cast(folder: Path) -> bool:
    """Return whether a folder is a cast, complete or not, by what castlist writes into its files.

    The names of files are not enough: others write a ``run.json`` and a folder ``faces``, too.
    """
    return (
        _is_manifest(_json(folder / "run.json"))
        or is_joined(folder)
        or _is_log(folder / "corrections.db")
        or (_has(folder, "tracks.parquet") and "threshold" in _json(folder / "cast.json"))
        or has_checkpoint(folder)
    )


def has_checkpoint(folder: Path) -> bool:
    """Return whether a scan has begun in a folder, and was stopped or is running."""
    parts = folder / "parts"
    if not os.path.isdir(parts) or not all(map(_PART.fullmatch, _listed(parts))):
        return False
    # At first there is nothing in it, and nothing else in the folder.
    return "fingerprint" in _json(parts / "settings.json") or OWN.issuperset(_listed(folder))


def is_joined(folder: Path) -> bool:
    """Return whether a folder is a cast of several videos, damaged or not."""
    run = _json(folder / "run.json")
    return ("videos" in run and _is_manifest(run)) or (
        os.path.isdir(folder / "episodes") and _has(folder, "run.json", "cast.json")
    )


def check_for_scan(folder: Path) -> None:
    """Raise an InputError unless a folder is new, empty or the cast of one video."""
    refuse_links(folder)
    if is_joined(folder):
        raise InputError(
            f"{folder} is the cast of several videos, and a scan would overwrite it; "
            "choose another output folder"
        )
    # If the folder was removed during a scan, only the files written after that are there.
    if not _SCAN_RESULTS.issuperset(_listed(folder)) and not is_cast(folder):
        raise InputError(f"{folder} is {_describe(folder)}; choose another output folder")


def check_for_run(folder: Path, what: str) -> None:
    """Raise an InputError if a folder is a cast: ``what`` needs a folder of its own."""
    if is_cast(folder):
        raise InputError(
            f"{folder} is a cast, and {what} needs its own folder; choose another output folder"
        )


def check_file(path: Path, suffix: str) -> None:
    """Raise an InputError if a path leads to a file of a cast, or to a file of another type.

    A hard link to such a file is allowed: files are replaced by name, and the original stays.
    """
    here = Path(os.path.realpath(path.parent), path.name)
    for place in {here, Path(os.path.realpath(path))}:
        for home in place.parents:
            own = place.relative_to(home).parts[0]
            # Some file systems ignore case.
            if own.casefold() in OWN and is_cast(home):
                raise InputError(
                    f"{path} would overwrite {own} of the cast {home}; choose another file"
                )
    if path.is_file() and path.suffix.lower() != suffix:  # perhaps the video, by mistake
        raise InputError(f"{path} exists and is not a {suffix} file; choose another name")


def _describe(folder: Path) -> str:
    if _has(folder, *_STUDY_FILES):
        return "the folder of a study, not a cast"
    if _has(folder, *_RUN_FILES):
        return "the folder of a training run, not a cast"
    return "not a cast, and not empty"


def _has(folder: Path, *names: str) -> bool:
    return any(os.path.isfile(folder / name) for name in names)


def _listed(folder: Path) -> list[str]:
    """List a folder without hidden files: locks, and half-written files."""
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:  # missing, or unreadable: the error comes when it is written to
        return []


def _is_manifest(run: dict[str, object]) -> bool:
    """Return whether a scan or a join wrote a ``run.json``."""
    return isinstance(run.get("stages"), dict) or (
        isinstance(run.get("settings"), dict)
        and (isinstance(run.get("video"), dict) or isinstance(run.get("videos"), list))
    )


def _is_log(path: Path) -> bool:
    """Return whether a file is a log of corrections, without writing anything beside it."""
    # By SQLite: to open the file here would release the locks that this process has on it.
    if not is_own_file(path):
        return False
    place = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(place, uri=True)) as db:
            rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    except (sqlite3.Error, UnicodeDecodeError):
        return False
    # A process that was killed may have left all tables in the file beside it.
    beside = path.with_name(f"{path.name}-wal")
    return {("events",), ("anchors",)} <= set(rows) or (not rows and is_own_file(beside))


def _json(path: Path) -> dict[str, object]:
    """Return the content of a file of a cast; empty if it is missing, damaged or a link."""
    try:
        value = read_json(path) if is_own_file(path) else {}
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
