"""Settings of a scan."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from castlist.errors import InputError
from castlist.video.inference import check_device
from castlist.video.tracking_settings import TrackingSettings
from castlist.video.weights import DEFAULTS


@dataclass(frozen=True)
class ScanSettings:
    """Settings of a scan.

    A field that changes the result must also be in the fingerprints of ``RunManifest.open``;
    otherwise a repeated scan takes the stage as done.

    Attributes
    ----------
    tracking : TrackingSettings
        Settings of face detection and tracking.
    detector : str
        Detector, as :func:`castlist.open_detector` takes it.
    describer : str
        Describer, as :func:`castlist.open_describer` takes it.
    model : Path or None
        A trained model; by default the one shipped with castlist.
    n_characters, min_characters, max_characters : int, optional
        Number of characters, or bounds of it, if you know them.
    device : str
        Device that runs the networks, a key of :data:`castlist.video.inference.DEVICES`.
    tracks : Path or None
        MOT or CVAT file of tracks made by another tool. Their boxes are used instead of detecting
        faces.
    """

    tracking: TrackingSettings = field(default_factory=TrackingSettings)
    detector: str = DEFAULTS[0]
    describer: str = DEFAULTS[1]
    model: Path | None = None
    n_characters: int | None = None
    min_characters: int | None = None
    max_characters: int | None = None
    device: str = "cpu"
    tracks: Path | None = None

    def __post_init__(self) -> None:
        for name in ("n_characters", "min_characters", "max_characters"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if self.n_characters is not None and (self.min_characters or self.max_characters):
            raise InputError("give either the number of characters or bounds, not both")
        if (self.min_characters or 0) > (self.max_characters or np.inf):
            raise InputError(
                f"min_characters ({self.min_characters}) is greater than "
                f"max_characters ({self.max_characters})"
            )
        check_device(self.device)
        rate, score, width = (
            self.tracking.sample_rate, self.tracking.min_score, self.tracking.look_width
        )  # fmt: skip
        if not 0 < rate <= 1000:
            raise InputError(
                f"the sample rate must be above 0 and at most 1,000 frames per second, not {rate}"
            )
        if not 0 <= score <= 1:
            raise InputError(f"the minimum score must be between 0 and 1, not {score}")
        if width is not None and not 64 <= width <= 16_384:
            raise InputError(f"the look width must be 64 to 16,384 pixels, not {width}")
        if not 1 <= self.tracking.min_face <= 10_000:  # also no number too large to compute with
            raise InputError("the smallest face must be 1 to 10,000 pixels wide")
