"""``castlist export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import CastFolder
from castlist.export.mot import By
from castlist.export.write import ExportSettings, To, export_cast, export_lines
from castlist.io.files import printable


def export(
    cast: CastFolder,
    to: Annotated[To, typer.Option(help="The format.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A file, `-` to print it, or a folder (several videos: "
                     "one file each); here if not given, as CAST.FORMAT (cvat: CAST.xml, "
                     "mot: CAST.txt, truth: CAST.truth.csv)."),
    ] = None,
    by: Annotated[
        By | None, typer.Option(help="mot: ids are those of tracks (if not given) or characters.")
    ] = None,
    drop_frame: Annotated[
        bool | None,
        typer.Option("--drop-frame/--no-drop-frame", show_default=False,
                     help="edl: drop-frame timecode; at 29.97 and 59.94 if not given."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Frames per second, instead of the video's average; not for csv, "
                     "rttm, vtt and truth, which are in seconds."),
    ] = None,
) -> None:  # fmt: skip
    """Write a cast, as corrected, for other tools: who is seen when, and where.

    `csv`, `json`: spreadsheets, programs. `otio`, `edl`: markers for editors (`edl`: DaVinci
    Resolve). `vtt`: captions for players. `rttm`: diarization tools. `cvat`, `mot`: boxes for
    annotation and tracking tools. `truth`: who each face is, to score other scans against.

    Example: `castlist export episode.cast --to edl -o episode.edl`
    """
    from castlist.cast.corrections import Corrections

    corrections = Corrections(cast)
    settings = ExportSettings(by, drop_frame, rate)
    if out is not None and str(out) == "-":
        for piece in export_lines(corrections, to, settings):
            typer.echo(piece.encode(), nl=False)
        return
    for path in export_cast(corrections, to, out, settings):
        typer.echo(printable(str(path)))
