"""Settings of face detection and tracking, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrackingSettings:
    """Settings of face detection and tracking.

    Attributes
    ----------
    sample_rate : float
        Frames per second in which faces are detected.
    min_face : int
        Width of the smallest face, in pixels of the video.
    min_score : float
        Minimum detection score of a face, 0 to 1.
    look_width : int, optional
        Width to which frames are scaled down for detection. By default it depends on the width of
        the video.
    faces_per_track : int
        Maximum number of faces per track that are described.
    """

    sample_rate: float = 5.0
    min_face: int = 15
    min_score: float = 0.6
    look_width: int | None = None
    faces_per_track: int = 8


#: Half as many frames and fewer faces: about twice as fast (``docs/development/performance.md``).
FAST = TrackingSettings(sample_rate=2.5, faces_per_track=3)
