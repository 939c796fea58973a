"""``castlist review``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import CastFolder


def review(
    cast: CastFolder,
    video: Annotated[
        Path | None,
        typer.Option(help="The video, where it is not beside the folder; one of several by its "
                     "name."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:  # fmt: skip
    """Correct a cast on a web page: name, merge, split, answer questions, undo.

    Only this machine can see the page, and only with the address printed here. Everything that is
    said on it is kept at once; Ctrl-C ends it.

    Example: `castlist review episode.cast`
    """
    from castlist.review.serve import serve

    serve(cast, video=video, port=port, browser=browser, tell=typer.echo)
