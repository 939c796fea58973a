"""The casts of a library that are open: each is opened when it is asked for."""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from castlist.cast.corrections import Corrections
from castlist.cast.folder import CORRECTIONS
from castlist.errors import CastlistError, first_line
from castlist.io.files import printable
from castlist.library.library import Library
from castlist.review.app import cast_app
from castlist.review.files import SafeJSONResponse, videos_to_play

_MOST_OPEN = 8


@dataclass
class _Open:
    corrections: Corrections
    app: ASGIApp
    identity: tuple[int, int]

    def is_at(self, folder: Path) -> bool:
        """Return whether the folder and its log are those that were opened."""
        place, log = _identity(folder)
        if self.identity == (place, 0):  # the first correction made the log
            self.identity = (place, log)
        return self.identity == (place, log)


class OpenCasts:
    """Application that serves the page of each cast of a library at ``<its key>/``.

    A few casts are open at once; the one that was not used for the longest time is closed. A cast
    notices new scans and corrections by itself; one whose folder was replaced is opened anew.

    Parameters
    ----------
    library : Library
        The library.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application of the cast that its path names."""
        inside = scope["path"][len(scope["root_path"]) :].lstrip("/")
        key, slash, rest = inside.partition("/")
        base = f"{scope['root_path']}/{key}"
        app: ASGIApp
        if key not in self._library.snapshot.casts:
            app = SafeJSONResponse({"error": "Not Found", "kind": "InputError"}, 404)
        elif not slash:
            app = RedirectResponse(f"{base}/", 307)
        else:
            try:
                app = await run_in_threadpool(self.app, key)
            except (CastlistError, OSError) as error:
                app = _refusal(first_line(error), page=not rest)
        await app({**scope, "root_path": base}, receive, send)

    def app(self, key: str) -> ASGIApp:
        """Return the application of a cast, after opening it if necessary."""
        with self._lock:
            folder = self._library.cast(key).folder
            held = self._open.get(key)
            if held is None or not held.is_at(folder):
                if held is not None:
                    held.corrections.close()
                self._open[key] = held = _opened(folder)
            self._open.move_to_end(key)
            while len(self._open) > _MOST_OPEN:
                _, oldest = self._open.popitem(last=False)
                oldest.corrections.close()  # a request that still uses it opens its log again
            return held.app

    def close(self) -> None:
        """Close all casts."""
        with self._lock:
            for one in self._open.values():
                one.corrections.close()
            self._open.clear()


def _opened(folder: Path) -> _Open:
    corrections = Corrections(folder)
    videos, wrong = videos_to_play(corrections.scanned)
    app = cast_app(corrections, videos, "../../", wrong)
    return _Open(corrections, app, _identity(folder))


def _identity(folder: Path) -> tuple[int, int]:
    """Return the inodes of a cast's folder and of its log; 0 for what does not exist."""
    found = [0, 0]
    for k, path in enumerate((folder, folder / CORRECTIONS)):
        with suppress(OSError):
            found[k] = os.stat(path).st_ino
    return found[0], found[1]


def _refusal(reason: str, page: bool) -> Response:
    if page:
        return PlainTextResponse(f"This cast cannot be opened: {printable(reason)}", 422)
    return SafeJSONResponse({"error": reason, "kind": "InputError"}, 422)
