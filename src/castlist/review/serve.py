"""Run the review server on this machine, and open the page."""

from __future__ import annotations

import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import uvicorn

from castlist.cast.corrections import Corrections
from castlist.cast.folder import find_video
from castlist.errors import InputError
from castlist.review.app import cast_app
from castlist.review.files import match_video, playable
from castlist.review.guard import Guard
from castlist.review.views import cast_view, questions_view

ADDRESS = "127.0.0.1"
#: Seconds to wait for open requests at the end. A paused video would keep one open for ever.
_SHUTDOWN_SECONDS = 3


class _Server(uvicorn.Server):
    """A server that does not log the requests it cuts off when it stops."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def _warm(corrections: Corrections) -> None:
    """Import and compile what the first requests need."""
    cast_view(corrections)
    questions_view(corrections, [], 1)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of this machine only; 0 chooses a free one.

    Raises `InputError` if the port is taken or not allowed.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen()  # before the address is printed, as it may be opened at once
    except OSError as error:
        listening.close()
        raise InputError(
            f"cannot listen on port {port} ({error.strerror}); choose another port"
        ) from error
    return listening


def serve(
    folder: Path, *, video: Path | None = None, port: int = 0, browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Serve the review page of a cast until interrupted.

    Parameters
    ----------
    folder : Path
        The cast folder.
    video : Path, optional
        The video file, if it is not beside the folder. In a joined cast, the video with this file
        name.
    port : int
        Port to listen on; 0 chooses a free one.
    browser : bool
        Whether to open the page in the browser.
    tell : callable
        Called with the address.
    """
    corrections = Corrections(folder)
    films = corrections.scanned.films
    which = 0 if video is None else match_video(video, folder, films)
    listening = listen(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    found = [playable(find_video(corrections.scanned, k)) for k in range(len(films))]
    if video is not None:
        found[which] = video
    app = Guard(cast_app(corrections, found), token, port)
    address = f"http://{ADDRESS}:{port}/?token={token}"
    _warm(corrections)
    tell(address)
    if browser:
        Timer(0.5, webbrowser.open, [address]).start()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )  # fmt: skip
    try:
        _Server(config).run(sockets=[listening])
    finally:
        corrections.close()
