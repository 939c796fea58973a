from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from castlist.video.gallery import _BINS, Gallery, Portrait


def portrait(face, time, quality):
    return Portrait(face, time, quality, np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1, 3), "u1"))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=300), st.integers(1, 8))
def test_few_are_held_and_the_best_is_among_them(qualities, count):
    gallery = Gallery(0.2, count)
    for i, quality in enumerate(qualities):
        gallery.add(portrait(i, 0.2 * i, quality))
        assert len(gallery._best) <= _BINS
    chosen = gallery.best()
    assert 1 <= len(chosen) <= count
    assert max(one.quality for one in chosen) == max(qualities)
    assert [one.face for one in chosen] == sorted({one.face for one in chosen})
    gallery.close()
    assert gallery.best() == chosen


def test_they_are_spread_over_the_track():
    gallery = Gallery(0.2, 5)
    for i in range(100):  # the first faces are the best ones
        gallery.add(portrait(i, 0.2 * i, 1 - i / 1000))
    times = [one.time for one in gallery.best()]
    assert len(times) == 5
    assert min(np.diff(times)) > 2
    assert times[-1] > 14
