"""Cast folders of strangers: sound ones in which something leads to files of the user.

``outside`` writes the files of a user. Each function of ``LINKS`` puts a link to them in the place
of a file or folder of a cast, ``name_file`` lets its ``run.json`` name one, and ``name_in_journal``
a journal of SQLite. ``DOORS`` are the ways into a cast. ``content`` is a tree as it is: a door must
leave that of the user as it was, and ``told`` must find nothing of it elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import struct
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from fastapi import HTTPException

from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CORRECTIONS, FACES
from castlist.cast.recluster import propose
from castlist.cast.series import add, join
from castlist.errors import CastlistError
from castlist.export.write import export_cast
from castlist.io.output_guard import check_for_scan
from castlist.library.cast_info import folder_size, read_cast_info, stamp_of
from castlist.library.contents import find_contents
from castlist.library.discard import discard_unfinished
from castlist.pipeline.catalogue import scan_to_add
from castlist.report.page import report_folder
from castlist.review.app import cast_app
from castlist.review.files import videos_to_play
from castlist.review.photos import photos_view
from castlist.review.views import cast_view, history_view, questions_view
from datasets.synthetic_casts import episode

SECRET = "what the user wrote down for nobody else "
#: Files and folders of a cast that something else can take the place of.
SINGLE = (
    RUN, "cast.json", "cast.next.json", "tracks.parquet", "embeddings.npy", "report.html", "faces",
    "faces/0000_0.jpg", "faces/0000_frame.jpg", "faces/covers.json", CORRECTIONS,
    f"{CORRECTIONS}-wal", f"{CORRECTIONS}-shm", f"{CORRECTIONS}-journal", "photos.json",
    "photos.jpg", "parts", "parts/settings.json", ".lock", ".report.html.part",
)  # fmt: skip
JOINED = (
    RUN, "cast.json", CORRECTIONS, "model.safetensors", "balls.npz", "episodes", "episodes/one",
    "episodes/three", "episodes/one/faces", "episodes/one/faces/0000_0.jpg",
    "episodes/one/tracks.parquet", "episodes/one/characters.npy", "episodes/one/embeddings.npy",
)  # fmt: skip
#: Settings of a scan that can name a file.
SETTINGS = {
    "model": "model.safetensors", "describer": "network.onnx", "tracks": "tracks.txt",
}  # fmt: skip
_END_OF_NAME = bytes.fromhex("d9d505f920a163d7")  # of a journal (sqlite.org/fileformat.html)


def outside(home: Path) -> Path:
    """Write the files of a user, as a cast might name them, and return their folder."""
    mine = home / "mine"
    (mine / "folder").mkdir(parents=True)
    for name in ("diary.txt", "folder/0000_0.jpg", "folder/tracks.parquet", *SETTINGS.values()):
        (mine / name).write_text(SECRET * 20)
    (mine / "me.jpg").write_bytes(b"\xff\xd8\xff\xe0" + SECRET.encode() * 20)
    with closing(sqlite3.connect(mine / "mail.db")) as mail:
        mail.executescript(f"CREATE TABLE letters (text); INSERT INTO letters VALUES ('{SECRET}');")
    if hasattr(os, "mkfifo"):
        os.mkfifo(mine / "pipe")
    return mine


def _replace(place: Path, make: Callable[[], None]) -> None:
    """Put something in a place of a cast, which may be taken or missing."""
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    make()


def _symbolic(name: str) -> Callable[[Path, Path], None]:
    return lambda place, mine: _replace(place, lambda: place.symlink_to(mine / name))


def _hard(name: str) -> Callable[[Path, Path], None]:
    return lambda place, mine: _replace(place, lambda: os.link(mine / name, place))


#: What takes a place of a cast. Each is called with the place and the folder of the user.
LINKS: dict[str, Callable[[Path, Path], None]] = {
    "file": _symbolic("diary.txt"),
    "folder": _symbolic("folder"),
    "picture": _symbolic("me.jpg"),
    "database": _symbolic("mail.db"),
    "dangling": _symbolic("nothing here"),
    "loop": lambda place, _: _replace(place, lambda: place.symlink_to(place)),
    "parent": lambda place, _: _replace(place, lambda: place.symlink_to(place.parent)),
    "pipe": _symbolic("pipe"),
    "hard": _hard("diary.txt"),
    "hard database": _hard("mail.db"),
}


def name_file(folder: Path, mine: Path, setting: str) -> None:
    """Let the manifest of a cast name a file of the user."""
    run = json.loads((folder / RUN).read_text("utf-8"))
    run["settings"][setting] = str(mine / SETTINGS[setting])
    (folder / RUN).write_text(json.dumps(run), "utf-8")


def name_in_journal(folder: Path, file: Path) -> None:
    """Leave a journal beside the log that SQLite rolls back, and that names a file to delete."""
    with Corrections(folder) as cast:
        cast.name(1, "Anna")
    log, name = (folder / CORRECTIONS).read_bytes(), os.fsencode(file)
    (size,) = struct.unpack(">H", log[16:18])
    head = _END_OF_NAME + struct.pack(">5I", 1, 0, len(log) // size, 512, size)
    page = struct.pack(">I", 1) + log[:size] + struct.pack(">I", sum(log[size - 200 : 0 : -200]))
    end = struct.pack(">2I", len(name), sum(name)) + _END_OF_NAME
    journal = head.ljust(512, b"\0") + page + bytes(4) + name + end
    (folder / f"{CORRECTIONS}-journal").write_bytes(journal)


def sound_casts(home: Path) -> None:
    """Write sound casts: ``one``, ``two`` and ``three`` of a video each, and ``season`` of two."""
    for k, name in enumerate(("one", "two", "three")):
        folder = episode(home, name, people=2, each=2, seed=k)
        (folder / FACES / "0000_frame.jpg").write_bytes(
            (folder / FACES / "0000_0.jpg").read_bytes()
        )
        (home / f"{name}.mp4").write_bytes(b"no video")
    join([home / "one.cast", home / "two.cast"], home / "season.cast")


# The doors: each is called with the hostile cast, and a folder with sound ones.


def open_and_look(folder: Path, _: Path) -> Any:
    """Open a cast and show all of it, as the review page does."""
    with Corrections(folder) as cast:
        videos, wrong = videos_to_play(cast.scanned)
        app = cast_app(cast, videos, wrong=wrong)
        ends = {getattr(one, "path", ""): getattr(one, "endpoint", None) for one in app.routes}
        shown: list[Any] = [cast_view(cast), questions_view(cast, [], 9), history_view(cast)]
        shown.append(photos_view(cast))
        for track in cast.tracks.ids.tolist()[:2]:
            for path, given in (("/faces/{track}/{k}", (track, 0)), ("/frames/{track}", (track,))):
                with suppress(HTTPException):
                    shown.append(ends[path](*given).body)  # type: ignore[misc]
        return shown


def look_at_the_list(folder: Path, _: Path) -> Any:
    """List the folder of a cast, as the library page does."""
    found = find_contents(folder.parent)
    return [str(found), stamp_of(folder), folder_size(folder), str(read_cast_info(folder))]


def correct(folder: Path, _: Path) -> Any:
    """Say something."""
    with Corrections(folder) as cast:
        return str(cast.name(1, "Anna"))


def report(folder: Path, _: Path) -> Any:
    """Write the report."""
    with Corrections(folder) as cast:
        return report_folder(cast).read_bytes()


def export(folder: Path, sound: Path) -> Any:
    """Write the cast for other tools."""
    with Corrections(folder) as cast:
        return [path.read_bytes() for path in export_cast(cast, "json", sound / "cast.json")]


def recluster(folder: Path, _: Path) -> Any:
    """Cluster again."""
    with Corrections(folder) as cast:
        return propose(cast).n_characters


def join_it(folder: Path, sound: Path) -> Any:
    """Join it with another cast."""
    join([folder, sound / "two.cast"], sound / "joined.cast")


def add_it(folder: Path, sound: Path) -> Any:
    """Add it to a cast of several videos."""
    add(sound / "season.cast", folder)


def add_to_it(folder: Path, sound: Path) -> Any:
    """Add another cast to it."""
    add(folder, sound / "three.cast")


def scan_into_it(folder: Path, sound: Path) -> Any:
    """Get as far as a scan into it does before it opens the video."""
    check_for_scan(folder)
    return str(scan_to_add(sound / "season.cast", folder.with_suffix(".mp4")))


def cancel(folder: Path, _: Path) -> Any:
    """Cancel a scan into it."""
    discard_unfinished(folder, folder.with_suffix(".mp4"))


#: Ways into a cast, in the order of what they change. The last are those of one or several videos.
DOORS: tuple[Callable[[Path, Path], Any], ...] = (
    look_at_the_list, open_and_look, export, recluster, report, join_it, add_it, scan_into_it,
    cancel, add_to_it, correct,
)  # fmt: skip


def told(door: Callable[[Path, Path], Any], folder: Path, sound: Path) -> str:
    """Go through a door and return how it refused, or nothing; other errors are raised."""
    try:
        shown = repr(door(folder, sound))
    except CastlistError as error:
        shown = str(error)
        refused = shown
    else:
        refused = ""
    secret = SECRET.encode()
    written = [path.read_bytes() for path in _own_files(folder, sound)]
    for whole in (shown.encode(), *written):
        # Base64 depends on what comes before, but not on more than its place in threes.
        for shift in range(3):
            coded = b64encode(bytes(shift) + secret * 3)[4:-8]
            if secret in whole or coded in whole:
                raise AssertionError(f"{door.__name__} shows a file of the user")
    return refused


def _own_files(*folders: Path) -> list[Path]:
    """Return the files in some folders that are neither links nor have another name elsewhere."""
    found = (path for folder in folders for path in folder.rglob("*"))
    return [one for one in found if stat.S_ISREG((s := one.lstat()).st_mode) and s.st_nlink == 1]


def content(home: Path) -> dict[str, tuple[Any, ...]]:
    """Return all that is in a folder: kinds, times, and the bytes of files."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(home.rglob("*")):
        status = path.lstat()
        whole = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(home))] = (status.st_mode, status.st_mtime_ns, whole)
    return found
