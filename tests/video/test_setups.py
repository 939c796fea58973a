from __future__ import annotations

import numpy as np

from castlist.video.setups import number_setups
from castlist.video.shots import signature


def scene(rng):
    return 128 + 45 * rng.normal(size=(3, 18, 32))


def seen(scene, rng):
    """Return the signature of a scene, with noise."""
    return signature(np.clip(scene + 3 * rng.normal(size=scene.shape), 0, 255).astype(np.uint8))


def test_a_dialogue_is_cut_between_set_ups_that_return():
    rng = np.random.default_rng(0)
    rooms = [scene(rng) for _ in range(70)]  # more than fit at first
    order = [0, 1, 0, 1, 2, 0, *range(3, 70), 1, 66, 66, 0]
    assert number_setups([seen(rooms[k], rng) for k in order]).tolist() == order


def test_a_slow_pan_leaves_its_set_up():
    rng = np.random.default_rng(1)
    one, other = scene(rng), scene(rng)
    steps = [seen((1 - t) * one + t * other, rng) for t in np.linspace(0, 1, 60)]
    found = number_setups(steps)
    assert found[0] == found[5] == 0  # as long as it resembles its first picture
    assert found[-1] > 0
    assert number_setups([*steps, seen(one, rng)])[-1] == 0


def test_blank_pictures_have_no_set_up():
    rng = np.random.default_rng(2)
    black = np.full((3, 18, 32), 128, np.uint8)
    black[0] = 16
    room = scene(rng)
    pictures = [signature(black), seen(room, rng), signature(black), seen(room, rng)]
    assert number_setups(pictures).tolist() == [-1, 0, -1, 0]
    assert len(number_setups([])) == 0
