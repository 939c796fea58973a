"""``castlist.toml``: the user's defaults of ``castlist scan``.

A file beside the video may come from a stranger together with the video. It can set only what is
harmless: no file to load, nothing to download.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from castlist.errors import InputError
from castlist.io.files import printable
from castlist.io.untrusted import read_small

NAME = "castlist.toml"
_MAX_SIZE = 2**16  # bytes

#: Key of the table ``[scan]`` → type of its value. A key is an option of ``castlist scan``.
KEYS: dict[str, type] = {
    "fast": bool,
    "sample-rate": float,
    "min-face": int,
    "min-score": float,
    "look-width": int,
    "device": str,
    "threads": int,
    "detector": str,
    "describer": str,
    "model": str,
}
#: Keys that load code or files, or download: only in the file of the user's config folder.
USER_ONLY = frozenset({"detector", "describer", "model"})
_MOST = 2**31  # no setting is larger; more digits cannot be computed with
_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def user_file() -> Path | None:
    """Return the path of the file in the user's config folder; None if there is no such folder."""
    try:
        folder = user_config_path("castlist", appauthor=False)
    except RuntimeError:  # no home folder
        return None
    return folder / NAME if folder.is_absolute() else None


def find_config(videos: Iterable[Path]) -> Path | None:
    """Return the file that applies to videos or folders of videos; None if there is none.

    It is the one in the folder of the videos or, if there is none, the user's. An InputError if
    the videos have different ones.
    """
    beside = {(video if video.is_dir() else video.parent) / NAME for video in videos}
    found = {path for path in beside if path.is_file()}
    if found and len(beside) > 1:
        raise InputError(
            f"{printable(str(min(found)))} does not apply to all videos; scan one folder at a time"
        )
    if found:
        return found.pop()
    own = user_file()
    return own if own is not None and own.is_file() else None


def read_config(path: Path) -> dict[str, Any]:
    """Return the table ``[scan]`` of a file, by the names of the parameters of the command."""
    where = printable(str(path))
    try:
        document = tomllib.loads(read_small(path, _MAX_SIZE).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:  # not UTF-8 or TOML, or a long number
        raise InputError(f"{where}: not a readable TOML file ({error})") from error
    for key in document.keys() - {"scan"}:
        raise InputError(f"{where}: unknown table or key {key!r}; settings are in the table [scan]")
    table = document.get("scan", {})
    if not isinstance(table, dict):
        raise InputError(f"{where}: scan must be a table, [scan]")
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise InputError(f"{where}: unknown key {key!r} in [scan]; known: {', '.join(KEYS)}")
        if key in USER_ONLY and path != user_file():
            raise InputError(
                f"{where}: {key} is only allowed in {user_file()}, since a file beside a video may "
                "come with the video"
            )
        kind = KEYS[key]
        if type(value) is int and abs(value) > _MOST:
            raise InputError(f"{where}: {key} in [scan] is too large a number")
        given = float(value) if kind is float and type(value) is int else value
        if type(given) is not kind:
            raise InputError(f"{where}: {key} in [scan] must be {_NAMES[kind]}, not {value!r}")
        found[key.replace("-", "_")] = given
    return found
