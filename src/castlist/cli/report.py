"""``castlist report``."""

from __future__ import annotations

from contextlib import closing

from castlist.cli.common import CastFolder, say
from castlist.io.files import printable


def report(cast: CastFolder) -> None:
    """Write the report of a cast again, with its corrections.

    Example: `castlist report episode.cast`
    """
    from castlist.cast.corrections import Corrections
    from castlist.report.page import report_folder

    with closing(Corrections(cast)) as corrections:
        say(printable(str(report_folder(corrections))))
