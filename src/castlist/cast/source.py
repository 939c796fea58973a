"""A cast of one video that is put into a joined one, and may be scanned again meanwhile."""

from __future__ import annotations

from pathlib import Path

from castlist.cast.corrections import Corrections
from castlist.cast.folder import TRACKS
from castlist.cast.log import ChangedMeanwhile
from castlist.errors import InputError


class Source(Corrections):
    """The cast of one video, as it was when it was read.

    It is not locked: it may lie where nothing can be written, be given twice, or go into two casts
    at once. Instead, who took its pictures asks in the end whether they were still its own.
    """

    def __init__(self, folder: str | Path) -> None:
        self._noted = _stamp(Path(folder))
        super().__init__(folder)
        if self.scanned.joined:
            self.close()
            raise InputError(f"{folder} is a joined cast; give the casts of its videos")

    def check_same(self) -> None:
        """Refuse what was taken from it, if it was scanned again since it was read."""
        if _stamp(self.folder) != self._noted:
            raise ChangedMeanwhile(
                f"{self.folder} was scanned again meanwhile; wait for its end, and try again"
            )


def _stamp(folder: Path) -> tuple[int, int, int]:
    """Tell a scan's tracks from another's: a scan replaces them first, and pictures after them."""
    try:
        stat = (folder / TRACKS).stat()
    except OSError:  # said when it is read
        return 0, 0, 0
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
