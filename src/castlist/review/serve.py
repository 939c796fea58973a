"""Serve the review page of one cast."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from castlist.cast.corrections import Corrections
from castlist.review.app import cast_app
from castlist.review.files import match_video, videos_to_play
from castlist.review.local_server import run
from castlist.review.views import cast_view, questions_view


def _warm(corrections: Corrections) -> None:
    """Import and compile what the first requests need."""
    cast_view(corrections)
    questions_view(corrections, [], 1)


def serve(
    folder: Path, *, video: Path | None = None, model: Path | None = None, port: int = 0,
    browser: bool = True, tell: Callable[[str], None] = print,
) -> None:  # fmt: skip
    """Serve the review page of a cast until interrupted.

    Parameters
    ----------
    folder : Path
        The cast folder.
    video : Path, optional
        The video file, if it is not beside the folder. In a joined cast, the video with this file
        name.
    model : Path, optional
        The model of the scan, if it is not a shipped one.
    port : int
        Port to listen on; 0 chooses a free one.
    browser : bool
        Whether to open the page in the browser.
    tell : callable
        Called with the address.
    """
    with Corrections(folder) as corrections:
        corrections.model = model
        films = corrections.scanned.films
        which = 0 if video is None else match_video(video, folder, films)
        videos, wrong = videos_to_play(corrections.scanned)
        if video is not None:
            videos[which], wrong[which] = video, ""
        _warm(corrections)
        run(cast_app(corrections, videos, wrong=wrong), port=port, browser=browser, tell=tell)
