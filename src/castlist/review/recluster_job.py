"""Re-clustering in the background, one at a time."""

from __future__ import annotations

from threading import Lock, Thread

from castlist.cast.corrections import Corrections
from castlist.cast.recluster import Proposal, propose
from castlist.errors import CastlistError, InputError


class Reclustering:
    """A clustering that is being made, or was and waits for a yes.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    """

    def __init__(self, corrections: Corrections) -> None:
        self._corrections = corrections
        self._lock = Lock()
        self._thread: Thread | None = None
        self.number = 0  # of the one that was made last
        self.proposal: Proposal | None = None
        self.error = ""
        self.stage = ""
        self.share = 0.0

    @property
    def running(self) -> bool:
        """Whether it is being made."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, tuned: bool) -> None:
        """Begin to make one."""
        with self._lock:
            if self.running:
                raise InputError("the cast is being clustered again already")
            self.proposal, self.error, self.stage, self.share = None, "", "beginning", 0.0
            self.number += 1
            self._thread = Thread(target=self._run, args=(tuned,), daemon=True)
            self._thread.start()

    def drop(self) -> None:
        """Forget the one that was made."""
        self.proposal = None

    def _run(self, tuned: bool) -> None:
        try:
            self.proposal = propose(self._corrections, tuned, progress=self._report)
        except CastlistError as error:
            self.error = str(error)
        except Exception as error:  # a thread has nobody else to tell
            self.error = f"{type(error).__name__}: {error}"

    def _report(self, stage: str, done: int, total: int) -> None:
        self.stage, self.share = stage, done / max(total, 1)
