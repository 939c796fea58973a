"""How closely a video is watched: the one place of the defaults."""

from __future__ import annotations

from dataclasses import dataclass

from castlist.errors import InputError


@dataclass(frozen=True)
class WatchSettings:
    """What is looked for in a video.

    Attributes
    ----------
    sample_rate : float
        Pictures a second in which faces are looked for.
    min_face : int
        Width of the smallest face, in pixels of the video.
    faces_a_track : int
        Faces of a track that are described, at most.
    """

    sample_rate: float = 5.0
    min_face: int = 20
    faces_a_track: int = 5


def check_device(device: str) -> None:
    """Refuse what no describer runs on; whether CUDA is there is known when one is opened."""
    if device not in ("cpu", "cuda"):
        raise InputError(f"no device {device!r}; give --device cpu or cuda")
