from __future__ import annotations

import numpy as np

from castlist.handover.intervals import intersection


def test_fifty_thousand_intervals_each():
    """All pairs would be 60 GB. (Small sets are compared with brute force in test_scenes.py.)"""
    starts = np.arange(5e4)
    many = np.stack([starts, starts + 0.5], axis=1)
    both = intersection(many, many + 0.25)
    np.testing.assert_allclose(both, np.stack([starts + 0.25, starts + 0.5], axis=1))
