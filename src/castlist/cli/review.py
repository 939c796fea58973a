"""``castlist review``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import CastFolder, ScanModel, say


def review(
    cast: CastFolder,
    video: Annotated[
        Path | None,
        typer.Option(help="The video file, if it is not beside the folder. In a joined cast, the "
                     "video with this file name."),
    ] = None,
    model: ScanModel = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on. 0 chooses a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:  # fmt: skip
    """Correct a cast on a web page: name, merge, split, answer questions, undo.

    The page can be opened on this machine only, with the address that is printed. Corrections are
    saved at once. Ctrl-C stops the server.

    Example: `castlist review episode.cast`
    """
    from castlist.review.serve import serve

    serve(cast, video=video, model=model, port=port, browser=browser, tell=say)
