from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist.io.pictures import Cover
from castlist.video.align import TEMPLATE, aligned, picture
from castlist.video.face_selection import (
    _CANDIDATES,
    Gallery,
    Portrait,
    light,
    presentable,
    title_strokes,
)
from castlist.video.pictures import Picture
from datasets.synthetic_casts import drawn_face

BOX = np.array([110, 70, 100, 120], np.float32)
LANDMARKS = (TEMPLATE - 56) * 1.05 + BOX[:2] + BOX[2:] / 2


def scene(person="p0", seed=0) -> np.ndarray:
    """Return a frame with a person in a lit room."""
    image = np.full((360, 480, 3), (120, 110, 100), np.uint8)
    cv2.ellipse(image, (160, 330), (150, 120), 0, 0, 360, (90, 60, 50), -1)  # shoulders
    lit = np.linspace(1.15, 0.35, 160)[:, None]  # from the left
    image[50:210, 80:240] = np.clip(drawn_face(person, seed, 160) * lit, 0, 240)
    grain = np.random.default_rng(seed).normal(0, 6, image.shape)
    return np.clip(image + grain, 0, 255).astype(np.uint8)


def titled(image, where, colour=(240, 240, 240), text="STARRING ANNA LEE", font=2, size=1.0):
    image = image.copy()
    width = cv2.getTextSize(text, font, size, 2)[0][0]
    place = (160 - width // 2, where)
    cv2.putText(image, text, place, font, size, (20, 20, 20), 5, cv2.LINE_AA)
    cv2.putText(image, text, place, font, size, colour, 2, cv2.LINE_AA)
    return image


def worth(image) -> float:
    return presentable(image, BOX, aligned(image, LANDMARKS), picture(image, BOX))


COLOURS = [(240, 240, 240), (60, 220, 240), (70, 80, 230)]  # white, yellow, red


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("font", [0, 2, 3, 4])
@pytest.mark.parametrize("size", [0.7, 1.0, 1.4])
def test_a_title_is_seen_in_many_letters_and_colours(colour, font, size):
    image = scene()
    assert title_strokes(picture(image, BOX)).max() < 3
    for where in (150, 235):
        shown = picture(titled(image, where, colour, font=font, size=size), BOX)
        assert title_strokes(shown).max() > 3.5


def test_a_title_over_the_face_is_worse_than_below_it_and_both_than_none():
    for seed in range(4):
        image = scene(f"p{seed}", seed)
        none, below, over = (worth(one) for one in (image, titled(image, 235), titled(image, 150)))
        assert over < 0.9 * below
        assert below < 0.6 * none


def test_light_is_judged():
    """The same face, darker, burnt out and flatter, is worse each time; at the ends it is nil."""
    face = drawn_face("p1", 3)
    grain = np.random.default_rng(0).normal(0, 20, face.shape)
    face = np.clip(face * 0.8 + grain, 0, 255).astype(np.uint8)
    best = light(face)
    assert best > 0.8

    def seen(gain, offset):
        return light(cv2.convertScaleAbs(face, alpha=gain, beta=offset))

    dark = [seen(gain, 0) for gain in (0.5, 0.3, 0.15)]
    burnt = [seen(1, offset) for offset in (90, 130, 200)]
    flat = [seen(gain, 128 * (1 - gain)) for gain in (0.5, 0.3, 0.1)]
    for worse in (dark, burnt, flat):
        assert best >= worse[0] >= worse[1] >= worse[2]
        assert worse[2] < 0.1


def test_a_face_without_room_around_it_is_worse():
    """At the border of the frame, cut by it, and so large that hair and shoulders are outside."""
    image = scene()
    seen = [worth(image)]
    for moved in (110, 150):
        box, marks = BOX - [moved, 0, 0, 0], LANDMARKS - [moved, 0]
        cut = np.roll(image, -moved, axis=1)
        seen.append(presentable(cut, box, aligned(cut, marks), picture(cut, box)))
    assert seen[0] > 1.3 * seen[1] > 1.3 * seen[2]
    close = cv2.resize(image[60:200, 90:230], (480, 480))
    scale = 480 / 140
    box = (BOX - [90, 60, 0, 0]) * scale
    marks = (LANDMARKS - [90, 60]) * scale
    assert presentable(close, box, aligned(close, marks), picture(close, box)) < 0.8 * seen[0]


def test_nothing_can_go_wrong():
    for shape in ((1, 1, 3), (3, 400, 3)):
        image = np.zeros(shape, np.uint8)
        for box in (BOX, np.zeros(4, np.float32)):
            assert (
                0
                <= presentable(image, box, aligned(image, np.zeros((5, 2))), picture(image, box))
                <= 1
            )


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
        assert len(gallery._best) <= _CANDIDATES
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
        assert max(len(both._best), len(both._shown)) <= _CANDIDATES
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
