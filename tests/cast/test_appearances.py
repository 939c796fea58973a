from __future__ import annotations

import numpy as np

from castlist import TrackSet
from castlist.cast.appearances import Appearance, appearances


def test_neighbours_merge():
    spans = np.array([(30, 34), (0, 10), (2, 5), (12, 20), (20.5, 21)])
    tracks = TrackSet.from_faces(np.repeat(np.arange(5), 2), time=spans.ravel())
    assert appearances(tracks, np.array([0, 1, 2, 3, 4]), gap=2.0) == [
        Appearance(0, 21, 4),
        Appearance(30, 34, 1),
    ]
    assert appearances(tracks, np.array([1, 3]), gap=1.9) == [
        Appearance(0, 10, 1),
        Appearance(12, 20, 1),
    ]
