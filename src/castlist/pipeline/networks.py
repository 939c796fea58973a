"""Detector and describer, loaded once for many videos."""

from __future__ import annotations

from castlist.progress import Progress, silent
from castlist.video.describe import Describer, open_describer
from castlist.video.detect import Detector, open_detector


class Networks:
    """The networks of a scan: opened when first asked for, and kept for the next video."""

    def __init__(self) -> None:
        self._detectors: dict[str, Detector] = {}
        self._describers: dict[tuple[str, str], Describer] = {}

    def detector(self, device: str = "cpu") -> Detector:
        """Return the default detector."""
        if device not in self._detectors:
            self._detectors[device] = open_detector(device)
        return self._detectors[device]

    def describer(self, choice: str, device: str, progress: Progress = silent) -> Describer:
        """Return a describer, as :func:`castlist.video.describe.open_describer` takes it."""
        if (choice, device) not in self._describers:
            self._describers[choice, device] = open_describer(choice, device, progress)
        return self._describers[choice, device]
