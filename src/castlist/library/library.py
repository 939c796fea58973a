"""The library of a folder: its videos and casts, kept up to date in the background."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from filelock import Timeout
from platformdirs import user_state_path

from castlist.errors import CastlistError, InputError
from castlist.io.lock import hold
from castlist.io.output_guard import is_cast
from castlist.library.cast_info import CastInfo, Stamp, folder_size, read_cast_info, stamp_of
from castlist.library.contents import Place, find_contents, key_of, place_videos
from castlist.library.joining import Joining
from castlist.library.posters import Posters, VideoFacts
from castlist.library.scan_queue import ScanQueue
from castlist.library.schemas import ScanOptions

_SECONDS_PER_LOOK = 2.0  # between two looks at the folder
_SECONDS_WATCHED = 15.0  # after the last request, the folder is looked at no longer


@dataclass(frozen=True)
class Snapshot:
    """The library at a moment.

    Attributes
    ----------
    videos : dict of str to Place
        The videos by key.
    casts : dict of str to CastInfo
        The casts by key.
    unreadable : tuple of (Path, str)
        Folders that could not be listed, and why.
    """

    videos: dict[str, Place] = field(default_factory=dict)
    casts: dict[str, CastInfo] = field(default_factory=dict)
    unreadable: tuple[tuple[Path, str], ...] = ()


class Library:
    """The videos and casts of a folder, the queue of scans, and what is known of each file.

    One thread looks at the folder while somebody watches the page; another reads videos for their
    posters and lengths. No request waits for either of them.

    Parameters
    ----------
    folder : Path
        The folder.
    state : Path, optional
        Folder for the queue; by default in the user's state folder.
    posters : Posters, optional
        The cache of posters.
    """

    def __init__(
        self, folder: Path, *, state: Path | None = None, posters: Posters | None = None
    ) -> None:
        self.folder = Path(os.path.abspath(folder))
        if not self.folder.is_dir():
            raise InputError(f"{folder}: {'not a' if self.folder.exists() else 'no such'} folder")
        if is_cast(self.folder):
            raise InputError(f"{folder} is a cast; open the folder that holds it, or review it")
        self.version = 0
        self.posters = posters or Posters()
        self.snapshot = Snapshot()
        self.facts: dict[Path, VideoFacts] = {}
        self.sizes: dict[Path, int] = {}
        self._read: dict[Path, tuple[Stamp, CastInfo]] = {}
        self._file_stamps: dict[Path, tuple[int, int]] = {}
        self._asked = time.monotonic()
        self._ended, self._look_now, self._videos_changed = Event(), Event(), Event()
        self._stack = ExitStack()
        queue = _queue_file(self.folder, state)
        self._lock(queue)
        self.queue = ScanQueue(queue, self._queue_changed)
        self.joining = Joining(self._queue_changed)
        self.look()
        self._videos_changed.set()  # posters may be of videos that were removed since
        self._threads = [
            Thread(target=target, name=f"library {name}", daemon=True)
            for name, target in (("look", self._keep_looking), ("posters", self._make_posters))
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop the scan that runs and all threads."""
        self._ended.set()
        self._look_now.set()
        self._videos_changed.set()
        self.queue.close()
        for thread in self._threads:
            thread.join()
        self._stack.close()

    def watched(self) -> None:
        """Note that somebody looks at the page: the folder is looked at for some more seconds.

        If nobody did for some time, it is looked at now.
        """
        now = time.monotonic()
        if now - self._asked >= _SECONDS_WATCHED:
            self._look_now.set()
        self._asked = now

    @property
    def free_bytes(self) -> int:
        """Free space on the disk of the library."""
        try:
            return shutil.disk_usage(self.folder).free
        except OSError:
            return 0

    def place(self, key: str) -> Place:
        """Return a video by its key; raise an `InputError` if it is gone."""
        found = self.snapshot.videos.get(key)
        if found is None:
            raise InputError("this video is no longer in the library")
        return found

    def cast(self, key: str) -> CastInfo:
        """Return a cast by its key; raise an `InputError` if it is gone."""
        found = self.snapshot.casts.get(key)
        if found is None:
            raise InputError("this cast is no longer in the library")
        return found

    def scan(self, keys: Sequence[str], options: ScanOptions) -> None:
        """Append scans of videos to the queue."""
        options.settings()  # refuses impossible settings now
        places = [self.place(key) for key in keys]
        self.queue.add([(place.video, place.folder) for place in places], options)

    def look(self) -> None:
        """List the folder, and read the casts that have changed."""
        found = find_contents(self.folder)
        read = {}
        for folder in found.casts:
            stamp = stamp_of(folder)
            known = self._read.get(folder)
            if known is None or known[0] != stamp:
                known = (stamp, read_cast_info(folder))
                self.sizes.pop(folder, None)
            read[folder] = known
        self._read = read
        infos = {folder: info for folder, (_, info) in read.items()}
        places = place_videos(found.videos, infos)
        snapshot = Snapshot(
            {key_of(place.video, self.folder): place for place in places},
            {key_of(folder, self.folder): info for folder, info in infos.items()},
            found.unreadable,
        )
        stamps = {video: _file_stamp(video) for video in found.videos}
        changed = [video for video in stamps if self._file_stamps.get(video) != stamps[video]]
        for video in changed:
            self.facts.pop(video, None)
        self._file_stamps = stamps
        if not found.unreadable:
            self.queue.forget_missing()
        if changed or snapshot != self.snapshot:
            self.snapshot = snapshot
            self.version += 1
            self._videos_changed.set()

    def _queue_changed(self) -> None:
        self.version += 1
        self._look_now.set()  # a scan or a join may have ended

    def _keep_looking(self) -> None:
        while not self._ended.is_set():
            self._look_now.wait(_SECONDS_PER_LOOK)
            asked = self._look_now.is_set()
            self._look_now.clear()
            if self._ended.is_set():
                return
            if asked or time.monotonic() - self._asked < _SECONDS_WATCHED:
                self.look()

    def _make_posters(self) -> None:
        """Read what is slow to read: lengths and posters of videos, and sizes of casts."""
        while not self._ended.is_set():
            self._videos_changed.wait()
            self._videos_changed.clear()
            self.posters.prune()
            for video in list(self._file_stamps):
                if self._ended.is_set():
                    return
                if video not in self.facts:
                    try:
                        self.facts[video] = self.posters.facts(video) or self.posters.make(video)
                    except OSError:  # removed meanwhile
                        continue
                    self.version += 1
            for folder in list(self._read):
                if self._ended.is_set():
                    return
                if folder not in self.sizes:
                    self.sizes[folder] = folder_size(folder)
                    self.version += 1

    def _lock(self, queue: Path) -> None:
        """Lock the library, so that two servers do not run its queue at once."""
        try:
            held = hold(queue.with_suffix(".lock"))
        except Timeout:
            raise InputError(
                f"{self.folder} is open already in another `castlist open`; use its page, or stop "
                "it first"
            ) from None
        except OSError as error:
            raise CastlistError(f"cannot write {queue.parent}: {error.strerror}") from error
        if held is not None:
            self._stack.callback(held.release)


def _queue_file(folder: Path, state: Path | None) -> Path:
    """Return the file of the queue of a folder. It is not in the folder, which may be received."""
    if state is None:
        state = _state_folder()
    real = os.fspath(folder.resolve()).encode("utf-8", "surrogatepass")
    return state.absolute() / "queues" / f"{hashlib.sha256(real).hexdigest()[:16]}.json"


def _state_folder() -> Path:
    """Return ``$CASTLIST_STATE``, or ``castlist`` in the user's state folder."""
    if named := os.environ.get("CASTLIST_STATE"):
        return Path(named)
    try:
        folder = user_state_path("castlist", appauthor=False)
    except RuntimeError:
        folder = Path()
    if not folder.is_absolute():  # containers run as users without a home folder
        raise CastlistError("there is no home folder for the queue: set CASTLIST_STATE")
    return folder


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        stat = os.stat(path)
    except OSError:
        return 0, -1
    return stat.st_mtime_ns, stat.st_size
