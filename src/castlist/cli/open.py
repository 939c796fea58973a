"""``castlist open``, and ``castlist`` without arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import say, waiting


def open(
    folder: Annotated[
        Path, typer.Argument(help="Folder with videos and casts. Defaults to the current folder.",
                             show_default=False),
    ] = Path(),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on. 0 chooses a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:  # fmt: skip
    """Open the page of a folder: scan its videos, review and join its casts.

    `castlist` without arguments does the same with the current folder. The page can be opened on
    this machine only, with the address that is printed. Scans go on when the page is closed, and
    stop with the server (Ctrl-C); the next time, they resume where they were.

    Example: `castlist open videos`
    """
    from castlist.library.library import Library
    from castlist.library.serve import serve

    with waiting("looking for videos"):
        library = Library(folder)
    serve(library, port=port, browser=browser, tell=say)
