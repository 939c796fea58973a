"""The command line: one command a file, no logic."""

from __future__ import annotations

import io
import sys
from importlib import import_module

from castlist.errors import CastlistError


def main() -> None:
    """Run the command line; castlist's own errors, and the system's, are one message and exit 2."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a τ, a name: nothing may end what is done
                stream.reconfigure(errors="replace")
        import_module("castlist.cli.app").app()
    except KeyboardInterrupt:  # while the commands are loaded; Typer sees to the rest
        sys.exit(130)
    except CastlistError as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"not enough memory ({error})" if str(error) else "not enough memory")
    except OSError as error:  # a file went away, or the disk is full, where nobody expects it
        where = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{where}{error.strerror or error}")
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        _fail("not enough memory")  # as PyTorch says it


def _fail(message: str) -> None:
    print(f"castlist: {message}", file=sys.stderr)
    sys.exit(2)
