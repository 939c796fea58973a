"""``castlist export``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import CastFolder
from castlist.export.mot import By
from castlist.export.write import ExportSettings, To, export_cast, export_lines
from castlist.io.files import printable


def export(
    cast: CastFolder,
    to: Annotated[To, typer.Option(help="Format to write.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write; `-` prints to standard output; a folder "
                     "gets one file per video. Defaults to CAST.FORMAT in the current folder "
                     "(cvat: CAST.xml, mot: CAST.txt, truth: CAST.truth.csv, premiere: "
                     "CAST.premiere.xml, chapters: CAST.ffmeta)."),
    ] = None,
    by: Annotated[
        By | None, typer.Option(help="mot: use ids of tracks (default) or of characters.")
    ] = None,
    drop_frame: Annotated[
        bool | None,
        typer.Option("--drop-frame/--no-drop-frame", show_default=False,
                     help="edl: whether to use drop-frame timecode. Defaults to yes at 29.97 and "
                     "59.94 frames per second."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Frames per second. Defaults to the video's average. Not for csv, rttm, "
                     "vtt, truth and chapters, which are in seconds."),
    ] = None,
) -> None:  # fmt: skip
    """Export a cast, with its corrections, for other tools.

    `csv`, `json`: spreadsheets and programs. `otio`, `edl`, `fcpxml`, `premiere`: markers for video
    editors (`edl`: DaVinci Resolve, `fcpxml`: keyword ranges for Final Cut). `chapters`: chapters
    of a Matroska or MP4 file (FFmpeg metadata). `vtt`: captions for players. `rttm`: diarization
    tools. `cvat`, `mot`: boxes for annotation and tracking tools. `truth`: the person of each face,
    to score other scans against.

    Example: `castlist export episode.cast --to edl -o episode.edl`
    """
    from castlist.cast.corrections import Corrections

    settings = ExportSettings(by, drop_frame, rate)
    with closing(Corrections(cast)) as corrections:
        if out is not None and str(out) == "-":
            for text in export_lines(corrections, to, settings):
                typer.echo(text.encode(), nl=False)
            return
        for path in export_cast(corrections, to, out, settings):
            typer.echo(printable(str(path)))
