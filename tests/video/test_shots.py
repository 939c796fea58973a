from __future__ import annotations

import numpy as np

from castlist.video.shots import LONGEST_SHOT, ShotSplitter
from tests.video.videos import plain


def begins(images, times=None) -> list[int]:
    splitter = ShotSplitter()
    times = np.arange(len(images)) / 25 if times is None else times
    return [i for i, image in enumerate(images) if splitter.begins_at(float(times[i]), image)]


def noisy(colour, n, seed=0):
    rng = np.random.default_rng(seed)
    return [
        np.clip(plain(colour).astype(int) + rng.integers(-6, 7, (48, 64, 3)), 0, 255).astype("u1")
        for _ in range(n)
    ]


def test_a_shot_begins_at_every_cut():
    images = [*noisy((90, 60, 40), 20), *noisy((170, 200, 210), 30), *noisy((20, 90, 20), 10)]
    assert begins(images) == [0, 20, 50]


def test_a_slow_fade_is_no_cut():
    images = [plain((v, v, v)) for v in range(0, 250, 5)]
    assert begins(images) == [0]


def test_a_flash_is_one_cut_and_not_two():
    images = [*noisy((10, 60, 90), 20), plain((255, 255, 255)), *noisy((10, 60, 90), 20)]
    assert begins(images) == [0, 20]


def test_a_long_take_ends_so_that_work_can_be_taken_up():
    images = noisy((10, 60, 90), 10)
    times = np.arange(10) * LONGEST_SHOT / 4
    assert begins(images, times) == [0, 4, 8]


def test_after_a_cut_nothing_before_it_matters():
    images = [*noisy((90, 60, 40), 20), *noisy((170, 200, 210), 30), *noisy((20, 90, 20), 10)]
    times = np.arange(60) / 25
    assert begins(images[20:], times[20:]) == [0, 30]
