"""Serve an application on this machine only, and open its page in the browser."""

from __future__ import annotations

import html
import logging
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

import uvicorn
from starlette.types import ASGIApp

from castlist.errors import InputError
from castlist.review.guard import Guard

ADDRESS = "127.0.0.1"
#: Seconds to wait for open requests at the end. A paused video would keep one open for ever.
_SHUTDOWN_SECONDS = 3
_OPENING_SECONDS = 0.5
_ENTRY = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>castlist</title>
<p><a href="{address}">Open castlist</a></p>
</html>
"""


class _Server(uvicorn.Server):
    """A server that does not log the requests it cuts off when it stops."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


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


@contextmanager
def entry_file(address: str) -> Iterator[Path]:
    """Write a page that leads to an address; remove it at the end.

    The command line of the browser names this file. Other users of the machine can read the command
    line, but not the file, and so they do not learn the token in the address.
    """
    with TemporaryDirectory(prefix="castlist-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "open.html"
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(opened, "w", encoding="utf-8") as file:
            file.write(_ENTRY.format(address=html.escape(address)))
        yield path


def run(
    app: ASGIApp, *, port: int = 0, browser: bool = True, tell: Callable[[str], None] = print
) -> None:
    """Serve an application until interrupted, behind a guard with a new token.

    Parameters
    ----------
    app : ASGI application
        The application, with its page at ``/``.
    port : int
        Port to listen on; 0 chooses a free one.
    browser : bool
        Whether to open the page in the browser.
    tell : callable
        Called with the address.
    """
    listening = listen(port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"http://{ADDRESS}:{port}/?token={token}"
    config = uvicorn.Config(
        Guard(app, token, port), log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )  # fmt: skip
    with ExitStack() as stack:
        tell(address)
        if browser:
            page = stack.enter_context(entry_file(address))
            timer = Timer(_OPENING_SECONDS, webbrowser.open, [page.as_uri()])
            timer.start()
            stack.callback(timer.cancel)
        _Server(config).run(sockets=[listening])
