from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from castlist.io.pictures import Cover
from castlist.video.gallery import _BINS, Gallery, Portrait
from castlist.video.pictures import Picture


def portrait(face, time, quality, cover=0.0):
    shown = Picture(b"%d" % face, b"", Cover(cover, time, (0.0, 0.0, 1.0, 1.0)))
    return Portrait(face, time, quality, np.zeros((1, 1, 3), np.uint8), shown)


def shown(gallery, begin, end, count=3):
    return [int(one.face) for one in gallery.pictures(begin, end, count)]


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


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=200),
    st.integers(1, 8), st.booleans(),
)  # fmt: skip
def test_what_is_shown_does_not_change_what_is_described(qualities, count, closed):
    alone, both = Gallery(0.2, count), Gallery(0.2, count)
    for i, (quality, cover) in enumerate(qualities):
        alone.add(portrait(i, 0.2 * i, quality, quality))
        if both.would_take(0.2 * i, quality, cover):
            both.add(portrait(i, 0.2 * i, quality, cover))
        assert max(len(both._best), len(both._shown)) <= _BINS
    if closed:
        both.close()
    assert [one.face for one in both.best()] == [one.face for one in alone.best()]
    pictures = both.pictures(0, len(qualities), 3)
    covers = [one.cover.quality for one in pictures]
    assert 1 <= len(pictures) <= 3
    assert covers == sorted(covers, reverse=True)
    assert covers[0] == max(cover for _, cover in qualities)


def test_pictures_are_of_the_faces_asked_for():
    """A track that is parted in two: each part is shown by its own faces, however bad."""
    gallery = Gallery(0.2, 5)
    for i in range(60):
        gallery.add(portrait(i, 0.2 * i, 1 - i / 100, cover=float(i < 40)))
    gallery.close()
    assert all(face < 40 for face in shown(gallery, 0, 40))
    last = gallery.best()[-1].face
    assert last >= 40
    assert shown(gallery, last, 60)
    assert shown(gallery, 0, 0) == []
