"""The command line. Commands parse arguments, call the library and print the result."""

from __future__ import annotations

import io
import sys
from importlib import import_module

from castlist.errors import CastlistError
from castlist.format import terminal_text


def main() -> None:
    """Run the command line; print expected errors as one message and exit with code 2."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A name or a τ that the terminal cannot encode must not end the command.
                stream.reconfigure(errors="replace")
        import_module("castlist.cli.app").app()
    except KeyboardInterrupt:  # while commands are imported; Typer handles it afterwards
        sys.exit(130)
    except CastlistError as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"not enough memory ({error})" if str(error) else "not enough memory")
    except OSError as error:  # such as a full disk
        where = "" if error.filename is None else f"{error.filename}: "
        _fail(f"{where}{error.strerror or error}")
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):  # PyTorch's MemoryError
            raise
        _fail("not enough memory")


def _fail(message: str) -> None:
    print(f"castlist: {terminal_text(message)}", file=sys.stderr)
    sys.exit(2)
