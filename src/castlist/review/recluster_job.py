"""Re-clustering in a background thread."""

from __future__ import annotations

from threading import Lock, Thread

from castlist.cast.corrections import Corrections
from castlist.cast.recluster import Proposal, propose
from castlist.errors import CastlistError, InputError


class Reclustering:
    """Runs one clustering at a time and holds its result until it is accepted or dropped.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    """

    def __init__(self, corrections: Corrections) -> None:
        self._corrections = corrections
        self._lock = Lock()
        self._thread: Thread | None = None
        self.number = 0  # of the last run
        self.proposal: Proposal | None = None
        self.error = ""
        self.stage = ""
        self.share = 0.0

    @property
    def running(self) -> bool:
        """Whether a clustering is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start a clustering; raise `InputError` if one is running."""
        with self._lock:
            if self.running:
                raise InputError("a clustering is already running; wait until it is done")
            self.proposal, self.error, self.stage, self.share = None, "", "starting", 0.0
            self.number += 1
            self._thread = Thread(target=self._run, daemon=True)
            self._thread.start()

    def drop(self) -> None:
        """Discard the result."""
        self.proposal = None

    def _run(self) -> None:
        try:
            self.proposal = propose(self._corrections, progress=self._report)
        except CastlistError as error:
            self.error = str(error)
        except Exception as error:  # the page shows it; a thread cannot raise it to anyone
            self.error = f"{type(error).__name__}: {error}"

    def _report(self, stage: str, done: int, total: int) -> None:
        self.stage, self.share = stage, done / max(total, 1)
