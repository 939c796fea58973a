"""Requests of the library page, and the options of a scan."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from castlist.pipeline.scan_settings import ScanSettings
from castlist.review.schemas import Request
from castlist.video.tracking_settings import FAST, TrackingSettings

Key = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
Keys = Annotated[list[Key], Field(min_length=1, max_length=10_000, fail_fast=True)]


class ScanOptions(Request):
    """Options of a scan that the page offers; the others have their defaults."""

    characters: Annotated[int, Field(ge=1, le=100_000)] | None = None
    fast: bool = False
    min_face: Annotated[int, Field(ge=1, le=10_000)] = TrackingSettings.min_face
    look_width: Annotated[int, Field(ge=64, le=16_384)] | None = None
    replace: bool = False

    def settings(self) -> ScanSettings:
        """Return the settings of the scan."""
        pace = FAST if self.fast else TrackingSettings()
        tracking = replace(pace, min_face=self.min_face, look_width=self.look_width)
        return ScanSettings(tracking=tracking, n_characters=self.characters)


class ScanRequest(Request):
    """Scan videos, one after another."""

    videos: Keys
    options: ScanOptions = Field(default_factory=ScanOptions)


class QueueRequest(Request):
    """Change scans in the queue."""

    action: Literal["pause", "resume", "cancel", "earlier", "later"]
    videos: Keys


class JoinRequest(Request):
    """Join casts into a new series with a name, or add them to a series."""

    casts: Keys
    name: Annotated[str, Field(max_length=200)] = ""
    series: Key | None = None
