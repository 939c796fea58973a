"""Which formats there are, and what some of them leave open."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class To(StrEnum):
    """The formats."""

    CSV = "csv"
    JSON = "json"
    OTIO = "otio"
    EDL = "edl"
    CVAT = "cvat"
    MOT = "mot"
    RTTM = "rttm"
    VTT = "vtt"
    TRUTH = "truth"


class By(StrEnum):
    """Whose number an id is."""

    TRACK = "track"
    CHARACTER = "character"


@dataclass(frozen=True)
class ExportSettings:
    """What some of the formats leave open.

    Attributes
    ----------
    by : {"track", "character"}, optional
        Whose numbers the ids of ``mot`` are; those of tracks if not given.
    drop_frame : bool, optional
        Whether timecode of ``edl`` is drop-frame; where that exists if not given.
    rate : float, optional
        Frames a second, instead of the video's own average.
    """

    by: By | str | None = None
    drop_frame: bool | None = None
    rate: float | None = None
