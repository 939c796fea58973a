"""Serve the page of a library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from castlist.library.app import library_app
from castlist.library.library import Library
from castlist.library.open_casts import OpenCasts
from castlist.review.local_server import run


def serve(
    folder: Path, *, port: int = 0, browser: bool = True, tell: Callable[[str], None] = print
) -> None:
    """Serve the page of a library until interrupted.

    Parameters
    ----------
    folder : Path
        The folder with the videos and casts.
    port : int
        Port to listen on; 0 chooses a free one.
    browser : bool
        Whether to open the page in the browser.
    tell : callable
        Called with the address.
    """
    with closing(Library(folder)) as library, closing(OpenCasts(library)) as casts:
        run(library_app(library, casts), port=port, browser=browser, tell=tell)
