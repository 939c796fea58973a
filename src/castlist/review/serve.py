"""Serve the page to this machine only, and open it."""

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
from castlist.review.app import make_app
from castlist.review.files import film_given, playable
from castlist.review.views import cast_view, questions_view

ADDRESS = "127.0.0.1"
#: Seconds for what is being answered when asked to end: a paused video would be read for ever.
_PATIENCE = 3


class _Server(uvicorn.Server):
    """A server that, asked to end, cuts off what is not answered soon, without a word of it."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def _warm(corrections: Corrections) -> None:
    """Have everything loaded and compiled before it is asked for."""
    cast_view(corrections)
    questions_view(corrections, [], 1)


def serve(
    folder: Path, *, video: Path | None = None, port: int = 0, browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Let a person review a cast, until interrupted.

    Parameters
    ----------
    folder : Path
        The cast's folder.
    video : Path, optional
        The video, where it is not beside the folder; one of several by its name.
    port : int
        Where to listen; any free one if 0.
    browser : bool
        Whether to open the page.
    tell : callable
        Told the address.
    """
    corrections = Corrections(folder)
    films = corrections.scanned.films
    which = 0 if video is None else film_given(video, folder, films)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen()  # who is told the address may come at once
    except OSError as error:
        raise InputError(f"port {port} cannot be had ({error.strerror}); try another") from error
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    found = [playable(find_video(corrections.scanned, k)) for k in range(len(films))]
    if video is not None:
        found[which] = video
    app = make_app(corrections, token, port, found)
    address = f"http://{ADDRESS}:{port}/?token={token}"
    _warm(corrections)
    tell(address)
    if browser:
        Timer(0.5, webbrowser.open, [address]).start()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
    )  # fmt: skip
    try:
        _Server(config).run(sockets=[listening])
    finally:
        corrections.close()
