"""A process that scans one video for the library: ``python -m castlist.library.scan_worker``.

It reads one line of JSON, the scan, and writes one line of JSON per report. It ends when its
standard input is closed, so that none is left if the server is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

_SECONDS_PER_REPORT = 0.2
_NICE = 5  # the page stays quick while a scan takes all cores


def main() -> None:
    """Scan the video that standard input names, and report on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    nice = getattr(os, "nice", None)  # not on Windows
    if nice is not None:
        nice(_NICE)
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no report
    wanted = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    _write(reports, _scan(wanted, reports))


def _scan(wanted: dict[str, Any], reports: IO[str]) -> dict[str, Any]:
    """Return the outcome of a scan: an empty reason if it succeeded."""
    from castlist.library.schemas import ScanOptions
    from castlist.pipeline.catalogue import Entry, scan_entry
    from castlist.pipeline.scan import Networks

    last = ("", 0.0)

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if stage != last[0] or done >= total or now - last[1] >= _SECONDS_PER_REPORT:
            last = (stage, now)
            _write(reports, {"stage": stage, "done": done, "total": total})

    options = ScanOptions(**wanted["options"])
    entry = Entry(Path(wanted["video"]), Path(wanted["folder"]))
    outcome = scan_entry(
        entry, options.settings(), Networks(), replace=options.replace, progress=report
    )
    return {"failed": outcome.failed, "other": outcome.other}


def _write(reports: IO[str], report: dict[str, Any]) -> None:
    try:
        reports.write(json.dumps(report) + "\n")
    except OSError:  # the server is gone
        os._exit(1)


def _end_with_the_server() -> None:
    while sys.stdin.readline():
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
