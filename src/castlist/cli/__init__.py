"""The command line: one command a file, no logic."""

from __future__ import annotations

import sys
from importlib import import_module

from castlist.errors import CastlistError
from castlist.io.files import printable


def main() -> None:
    """Run the command line; castlist's own errors, and the system's, are one message and exit 2."""
    app = import_module("castlist.cli.app").app
    try:
        app()
    except CastlistError as error:
        print(f"castlist: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a file went away, or the disk is full, where nobody expects it
        where = "" if error.filename is None else f"{printable(str(error.filename))}: "
        print(f"castlist: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
