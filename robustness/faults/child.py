"""Run a function in a forked process, from its first to its last instruction."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn


def be(call: Callable[[], object], said: int) -> NoReturn:
    """Call a function with its output in an open file, and end the process as a program would."""
    code = 70
    try:
        for stream in (1, 2):
            os.dup2(said, stream)
        call()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
