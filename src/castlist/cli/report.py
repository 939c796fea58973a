"""``castlist report``."""

from __future__ import annotations

import typer

from castlist.cli.common import CastFolder
from castlist.io.files import printable


def report(cast: CastFolder) -> None:
    """Write the report of a cast again, with what was corrected.

    Example: `castlist report episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.report.folder import report_folder

    typer.echo(printable(str(report_folder(Corrections(cast)))))
