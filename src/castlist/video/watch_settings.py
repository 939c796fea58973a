"""How closely a video is watched: the one place of the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WatchSettings:
    """What is looked for in a video.

    Attributes
    ----------
    sample_rate : float
        Pictures per second in which faces are looked for.
    min_face : int
        Width of the smallest face, in pixels of the video.
    min_score : float
        The least score of a face, 0 to 1.
    look_width : int, optional
        Width that pictures are scaled down to, to look for faces; it depends on the video if not
        given.
    faces_a_track : int
        Faces of a track that are described, at most.
    """

    sample_rate: float = 5.0
    min_face: int = 15
    min_score: float = 0.6
    look_width: int | None = None
    faces_a_track: int = 8


#: Half as many pictures and fewer faces: about twice as fast (``docs/development/performance.md``).
FAST = WatchSettings(sample_rate=2.5, faces_a_track=3)
