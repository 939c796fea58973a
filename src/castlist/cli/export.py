"""``castlist export``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import CastFolder, say
from castlist.export.mot import By
from castlist.export.nfo import Kind
from castlist.export.write import FORMATS, ExportSettings, To, export_cast, export_lines
from castlist.io.files import printable
from castlist.plugins import plugins


def _formats(incomplete: str) -> list[str]:
    """Return the formats that begin with what was typed."""
    return [name for name in (*To, *plugins("exports")) if name.startswith(incomplete)]


_SUFFIXES = ", ".join(
    f"{to}: CAST{form.suffix}" for to, form in FORMATS.items() if form.suffix != f".{to}"
)


def _taking(option: str) -> str:
    return ", ".join(to for to, form in FORMATS.items() if option in form.options)


def export(
    cast: CastFolder,
    to: Annotated[
        str, typer.Option(help="Format to write, as listed above, or the name of a plugin.",
                          show_default=False, autocompletion=_formats)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write; `-` prints to standard output; a folder "
                     "gets one file per video. Defaults to CAST.FORMAT in the current folder "
                     f"({_SUFFIXES}; nfo and xmp: named after the video)."),
    ] = None,
    by: Annotated[
        By | None,
        typer.Option(help=f"{_taking('by')}: use ids of tracks (default) or of characters."),
    ] = None,
    drop_frame: Annotated[
        bool | None,
        typer.Option("--drop-frame/--no-drop-frame", show_default=False,
                     help=f"{_taking('drop_frame')}: whether to use drop-frame timecode. Defaults "
                     "to yes at 29.97 and 59.94 frames per second."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help=f"{_taking('rate')}: frames per second. Defaults to the video's "
                     "average."),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(help=f"{_taking('kind')}: what the video is. Defaults to episode if its name "
                     "has a number such as S01E02, and to movie otherwise."),
    ] = None,
) -> None:  # fmt: skip
    """Export a cast, with its corrections, for other tools.

    {formats}

    Example: `castlist export episode.cast --to edl -o episode.edl`
    """
    from castlist.cast.corrections import Corrections

    settings = ExportSettings(by, drop_frame, rate, kind)
    with closing(Corrections(cast)) as corrections:
        if out is not None and str(out) == "-":
            for text in export_lines(corrections, to, settings):
                typer.echo(text.encode(), nl=False)
            return
        for path in export_cast(corrections, to, out, settings):
            say(printable(str(path)))


_FORMATS = "\n    ".join(f"- `{to}`: {form.about} ({form.tool})" for to, form in FORMATS.items())
export.__doc__ = (export.__doc__ or "").replace("{formats}", _FORMATS)
