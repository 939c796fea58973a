"""The command line: one command a file, no logic."""

from __future__ import annotations

import sys
from importlib import import_module

from castlist.errors import CastlistError


def main() -> None:
    """Run the command line; castlist's own errors are one message and exit code 2."""
    app = import_module("castlist.cli.app").app
    try:
        app()
    except CastlistError as error:
        print(f"castlist: {error}", file=sys.stderr)
        sys.exit(2)
