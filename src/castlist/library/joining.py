"""Joining casts in a background thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock, Thread

from castlist.cast import series
from castlist.cast.corrections import Corrections
from castlist.errors import CastlistError, InputError, counted
from castlist.pipeline.scan import SUFFIX
from castlist.report.page import report_folder

_FORBIDDEN = '<>:"/\\|?*'  # in file names on one of the systems


class Joining:
    """Joins casts into a series, or adds casts to one; one at a time.

    Parameters
    ----------
    changed : callable
        Called when it starts and when it ends.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._lock = Lock()
        self._thread: Thread | None = None
        self.number = 0  # of the last one
        self.series = ""  # name of its folder
        self.error = ""
        self.told = ""  # what was done

    @property
    def running(self) -> bool:
        """Whether casts are being joined."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, casts: Sequence[Path], out: Path, add: bool) -> None:
        """Start to join casts into a new folder, or to add them to a joined cast."""
        with self._lock:
            if self.running:
                raise InputError("casts are being joined already; wait until it is done")
            self.series, self.error, self.told = out.name, "", ""
            self.number += 1
            self._thread = Thread(target=self._run, args=(list(casts), out, add), daemon=True)
            self._thread.start()
        self._changed()

    def _run(self, casts: list[Path], out: Path, add: bool) -> None:
        try:
            if add:
                conflicts = [found for cast in casts for found in series.add(out, cast)[0]]
            else:
                conflicts = series.join(casts, out)
            with Corrections(out) as corrections:
                report_folder(corrections)
                found = counted(len(corrections.cast.characters), "character")
            self.told = f"{out.stem} has {found}"
            if conflicts:
                pairs = counted(len(conflicts), "pair")
                self.told += f"; {pairs} of them look alike and have different names"
        except CastlistError as error:
            self.error = str(error)
        except Exception as error:  # the page shows it; a thread cannot raise it to anyone
            self.error = f"{type(error).__name__}: {error}"
        self._thread = None
        self._changed()


def series_folder(name: str, place: Path) -> Path:
    """Return the folder of a new series; raise an `InputError` if the name cannot be used."""
    name = name.strip().removesuffix(SUFFIX).strip()
    if not name or name.startswith(".") or any(one in _FORBIDDEN or one < " " for one in name):
        raise InputError(
            "give a name for the series that does not begin with a dot and has none of "
            f"{' '.join(_FORBIDDEN)}"
        )
    return place / f"{name}{SUFFIX}"
