"""Serve the page of a library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from castlist.library.app import library_app
from castlist.library.library import Library
from castlist.library.open_casts import OpenCasts
from castlist.review.local_server import run


def serve(
    library: Library, *, port: int = 0, browser: bool = True, tell: Callable[[str], None] = print
) -> None:
    """Serve the page of a library until interrupted, and close the library.

    Parameters
    ----------
    library : Library
        The library.
    port : int
        Port to listen on; 0 chooses a free one.
    browser : bool
        Whether to open the page in the browser.
    tell : callable
        Called with the address.
    """
    with closing(library), closing(OpenCasts(library)) as casts:
        run(library_app(library, casts), port=port, browser=browser, tell=tell)
