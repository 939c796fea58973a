"""Responses with pictures and videos, and which video files may be served."""

from __future__ import annotations

import json
from collections.abc import Sequence
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from fastapi.responses import FileResponse, JSONResponse
from starlette.types import Message, Receive, Scope, Send

from castlist.cast.folder import Scanned
from castlist.cast.video_files import OtherFileError, difference_from_scan, find_video
from castlist.errors import CastlistError, InputError, first_line
from castlist.io.files import printable
from castlist.pipeline.catalogue import VIDEO_SUFFIXES
from castlist.video.frames import open_video


class SafeFileResponse(FileResponse):
    """A file, or 404 if it is missing or cannot be read.

    ``FileResponse`` sends its status before it opens the file.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, and its status together with its first bytes."""
        held: list[Message] = []
        started = False

        async def send_late(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                held.append(message)
                return
            started = True
            while held:
                await send(held.pop())
            await send(message)

        try:
            await super().__call__(scope, receive, send_late)
        except (OSError, RuntimeError):  # RuntimeError: not a regular file
            if started:
                raise
            body = {"error": "Not Found", "kind": "InputError"}
            await JSONResponse(body, 404)(scope, receive, send)


class SafeJSONResponse(JSONResponse):
    """JSON in which a lone surrogate, as a cast folder may hold, becomes ``?``."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def match_video(video: Path, folder: Path, films: Sequence[dict[str, Any]]) -> int:
    """Return which of a cast's videos a file is: by its name if there are several.

    Raises `InputError` if the file is not a video, if not exactly one video has its name, or if
    it is not the video that was scanned.
    """
    with open_video(video):
        pass
    if playable(video) is None:
        raise InputError(
            f"{video}: the name has no video extension; rename the file, such as to film.mp4"
        )
    named = [k for k, film in enumerate(films) if film.get("name") == printable(video.name)]
    if len(films) == 1:
        named = [0]
    if len(named) != 1:
        raise InputError(
            f"{folder} has {len(films)} videos, and {len(named) or 'none'} of them "
            f"{'are' if named else 'is'} called {video.name}; give a file with the name of one of "
            f"them, or put the videos beside {folder}, where they are found by themselves"
        )
    if differs := difference_from_scan(video, films[named[0]]):
        raise InputError(
            f"{video} is not the video that was scanned into {folder}: {differs}; give that video"
        )
    return named[0]


def videos_to_play(scanned: Scanned) -> tuple[list[Path | None], list[str]]:
    """Return the file of each video, None if it cannot be played, and what is wrong with it.

    What is wrong is empty for a video that can be played, or that was not found.
    """
    paths: list[Path | None] = []
    wrong: list[str] = []
    for number in range(len(scanned.films)):
        path, why = None, ""
        try:
            path = playable(find_video(scanned, number))
        except OtherFileError as error:
            why = first_line(error)
        paths.append(path)
        wrong.append(why)
    return paths, wrong


def playable(path: Path | None) -> Path | None:
    """Return a path if it is a video, else None.

    A cast folder from elsewhere may name any file of the disk. FFmpeg also reads some text files as
    pictures, so the extension must be a video's too.
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
