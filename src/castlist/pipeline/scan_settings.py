"""What a scan depends on besides the video."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from castlist.errors import InputError
from castlist.video.inference import check_device
from castlist.video.watch_settings import WatchSettings
from castlist.video.weights import DEFAULTS


@dataclass(frozen=True)
class ScanSettings:
    """What a scan depends on besides the video.

    Attributes
    ----------
    watching : WatchSettings
        How closely the video is looked at.
    describer : str
        As :func:`castlist.video.describe.open_describer` takes it.
    model : Path or None
        A trained model; the one that comes with castlist if not given.
    n_characters : int, optional
        Number of characters to make.
    min_characters, max_characters : int, optional
        Bounds of the number of characters.
    finetune : bool
        Whether the model is fine-tuned on the video first, with the tracks that share a frame.
    device : str
        Where networks run, a key of :data:`castlist.video.inference.DEVICES`.
    tracks : Path or None
        Tracks made elsewhere, in a MOT or CVAT file, to be looked at instead of finding faces.
    """

    watching: WatchSettings = field(default_factory=WatchSettings)
    describer: str = DEFAULTS[1]
    model: Path | None = None
    n_characters: int | None = None
    min_characters: int | None = None
    max_characters: int | None = None
    finetune: bool = False  # docs/research/neighbours.md: on real footage it merges strangers
    device: str = "cpu"
    tracks: Path | None = None

    def __post_init__(self) -> None:
        for name in ("n_characters", "min_characters", "max_characters"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        if self.n_characters is not None and (self.min_characters or self.max_characters):
            raise InputError("give the number of characters or bounds for it, not both")
        if (self.min_characters or 0) > (self.max_characters or np.inf):
            raise InputError(
                f"the minimum number of characters, {self.min_characters}, is greater than the "
                f"maximum, {self.max_characters}"
            )
        check_device(self.device)
        if not 0 < self.watching.sample_rate <= 1000:
            raise InputError("the sample rate must be more than 0 pictures per second")
        if not 0 <= self.watching.min_score <= 1:
            raise InputError(f"the least score must be 0 to 1, not {self.watching.min_score}")
        if self.watching.look_width is not None and not 64 <= self.watching.look_width <= 16_384:
            raise InputError(
                f"the look width must be 64 to 16,384 pixels, not {self.watching.look_width}"
            )
