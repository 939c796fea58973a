"""Files that the page is given: faces and videos, as long as they are there and can be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from fastapi.responses import FileResponse, JSONResponse
from starlette.types import Message, Receive, Scope, Send

from castlist.errors import CastlistError, InputError
from castlist.io.files import printable
from castlist.pipeline.catalogue import VIDEO_SUFFIXES
from castlist.video.frames import open_video


class SafeFileResponse(FileResponse):
    """A file, or a 404 if it went away or may not be read, whenever that turns out."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; that all is well is said with its first bytes, not before it is opened."""
        start: list[Message] = []
        begun = False

        async def opened(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                start.append(message)
                return
            begun = True
            while start:
                await send(start.pop())
            await send(message)

        try:
            await super().__call__(scope, receive, opened)
        except (OSError, RuntimeError):  # the latter if it is no file, or none any more
            if begun:
                raise
            told = {"error": "Not Found", "kind": "InputError"}
            await JSONResponse(told, 404)(scope, receive, send)


class SafeJSONResponse(JSONResponse):
    """JSON, whatever is in it: half a letter, of who wrote the folder, becomes ``?``."""

    def render(self, content: Any) -> bytes:
        """Write it."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def film_given(video: Path, folder: Path, films: Sequence[dict[str, Any]]) -> int:
    """Say which of a cast's videos a file is that somebody gives, by its name if there are several.

    What is no video is refused, with the reason.
    """
    with open_video(video):
        pass
    if playable(video) is None:
        raise InputError(f"{video}: not called as a video is; rename it, such as to film.mp4")
    if len(films) == 1:
        return 0
    named = [k for k, film in enumerate(films) if film.get("name") == printable(video.name)]
    if len(named) != 1:
        raise InputError(
            f"{folder} has {len(films)} videos, and {len(named) or 'none'} of them "
            f"{'are' if named else 'is'} called {video.name}; give one of them by its name, or put "
            f"them beside {folder}, where they are found without --video"
        )
    return named[0]


def playable(path: Path | None) -> Path | None:
    """Return a video that a cast's folder names, if it is one: it may name any file of the disk.

    FFmpeg takes some text for pictures too, by its name, so that has to be a video's as well.
    """
    if path is None or not (
        path.suffix.lower() in VIDEO_SUFFIXES
        or (guess_type(path.name)[0] or "").startswith("video/")
    ):
        return None
    try:
        with open_video(path):
            return path
    except (CastlistError, OSError):
        return None
