"""When characters are seen: their tracks put together where they touch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.tracks import TrackSet


@dataclass(frozen=True)
class Appearance:
    """A stretch of the video a character is seen in, seconds; short gaps are inside it."""

    start: float
    end: float
    n_tracks: int


def appearances(
    tracks: TrackSet,
    chosen: NDArray[np.int64],
    gap: float,
    time: NDArray[np.float64] | None = None,
) -> list[Appearance]:
    """Say when these tracks are seen, in order of time; those no farther than ``gap`` are one.

    ``time`` is when each face is seen, if not in its own video's time.
    """
    when = tracks.time if time is None else time
    spans = []
    for track in chosen.tolist():
        times = when[tracks.offsets[track] : tracks.offsets[track + 1]]
        times = times[np.isfinite(times)]
        if len(times):
            spans.append((float(times.min()), float(times.max())))
    merged: list[Appearance] = []
    for start, end in sorted(spans):
        last = merged[-1] if merged else None
        if last is not None and start <= last.end + gap:
            merged[-1] = Appearance(last.start, max(last.end, end), last.n_tracks + 1)
        else:
            merged.append(Appearance(start, end, 1))
    return merged
