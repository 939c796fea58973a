from __future__ import annotations

import cv2
import numpy as np
import pytest

from castlist.video.shots import GRID, LONGEST_SHOT, CutFinder, DissolveFinder, distance, signature


def scene(seed, light=1.0, colour=True):
    """Return a picture of large things, another one for every seed."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (5, 8, 3)).astype(np.uint8)
    image = cv2.resize(blocks, (160, 90), interpolation=cv2.INTER_CUBIC)
    if not colour:
        image = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    return (light * image).astype(np.uint8)


def shot(seed, n, noise=3, **how):
    """Return a still camera's pictures."""
    rng = np.random.default_rng(seed + 1000)
    still = scene(seed, **how).astype(int)
    return [np.clip(still + rng.integers(-noise, noise + 1, still.shape), 0, 255) for _ in range(n)]


def pan(seed, n, step):
    """Return a moving camera's pictures."""
    wide = np.hstack([scene(seed), scene(seed + 1), scene(seed + 2)])
    return [wide[:, step * k : step * k + 160] for k in range(n)]


def sig(image):
    small = cv2.resize(np.asarray(image, np.uint8), GRID, interpolation=cv2.INTER_AREA)
    return signature(cv2.cvtColor(small, cv2.COLOR_BGR2YUV).transpose(2, 0, 1))


def cuts(images, fps=25.0, times=None):
    finder, found = CutFinder(), []
    times = np.arange(len(images)) / fps if times is None else times
    for time, image in zip(times, images, strict=True):
        found += finder.add(float(time), sig(image))
    found += finder.finish()
    assert len(found) == len(images)
    return np.flatnonzero(found).tolist()


def dissolves(images, fps=25.0):
    finder = DissolveFinder()
    found = [finder.add(k / fps, sig(image)) for k, image in enumerate(images)]
    return [time for time in found if time is not None]


@pytest.mark.parametrize(
    "how", [{}, {"colour": False}, {"light": 0.15, "noise": 1}], ids=["colour", "grey", "dark"]
)
def test_a_shot_begins_at_every_cut(how):
    images = [*shot(1, 20, **how), *shot(2, 30, **how), *shot(3, 12, **how)]
    assert cuts(images) == [0, 20, 50]


@pytest.mark.parametrize("fps", [1, 5, 12, 50])
def test_cuts_are_found_at_any_frame_rate(fps):
    images = [*shot(1, 6), *shot(2, 7), *shot(3, 6)]
    assert cuts(images, fps) == [0, 6, 13]


def test_every_picture_of_a_slideshow_begins_a_shot():
    images = [scene(1), scene(2), scene(1), scene(3)]
    assert cuts(images, times=[0.0, 5.0, 10.0, 15.0]) == [0, 1, 2, 3]


def test_a_blend_of_both_sides_hides_no_cut():
    """As television has them that was converted from another frame rate."""
    images = [*shot(1, 20), (scene(1) / 2 + scene(2) / 2), *shot(2, 20)]
    found = cuts(images)
    assert found in ([0, 20], [0, 21], [0, 20, 21])  # the blend is of either side, or of none


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_flash_is_no_cut(frames):
    flash = [np.full((90, 160, 3), 255, np.uint8)] * frames
    assert cuts([*shot(1, 20), *flash, *shot(1, 20)]) == [0]


def test_a_moving_camera_is_no_cut():
    assert cuts(pan(1, 30, 10)) == [0]
    assert dissolves(pan(1, 60, 5)) == []


def test_more_light_and_another_contrast_are_no_cut():
    assert cuts([*shot(1, 20), *shot(1, 20, light=0.4)]) == [0]


def test_a_fade_through_black_is_one_cut():
    fade = [scene(1) * (1 - k / 10) for k in range(1, 11)]
    back = [0 * scene(1)] * 8 + [scene(2) * (k / 10) for k in range(11)]
    found = cuts([*shot(1, 20), *fade, *back, *shot(2, 20)])
    assert len(found) == 2
    assert 25 <= found[1] <= 45


@pytest.mark.parametrize("frames", [12, 20, 30])
def test_the_middle_of_a_dissolve_is_found_and_no_cut(frames):
    between = [scene(1) * (1 - k / frames) + scene(2) * (k / frames) for k in range(1, frames)]
    images = [*shot(1, 40), *between, *shot(2, 40)]
    assert cuts(images) == [0]
    (middle,) = dissolves(images)
    assert abs(middle - (40 + frames / 2) / 25) <= 0.2


def test_a_dissolve_between_moving_cameras_is_found():
    ways = [k / 20 for k in range(1, 20)]
    old, new = pan(6, 60, 2), pan(26, 60, 2)
    between = [(1 - w) * a + w * b for w, a, b in zip(ways, old[40:], new, strict=False)]
    (middle,) = dissolves([*old[:40], *between, *new[19:]])
    assert abs(middle - 50 / 25) <= 0.2


def test_a_flash_while_the_camera_moves_is_no_dissolve():
    images = [image.astype(int) for image in pan(2, 60, 2)]
    for k in (30, 31, 32):
        images[k] = np.clip(images[k] * 1.7 + 110, 0, 255)
    assert dissolves(images) == []


def test_a_picture_that_gets_lighter_is_no_dissolve():
    """Out of black, a codec shows something else at first."""
    fade = [scene(2) * (0.1 * (1 - k / 12)) + scene(1) * (k / 12) for k in range(13)]
    assert dissolves([*fade, *shot(1, 20)]) == []


def test_black_bars_do_not_make_shots_alike():
    a, b = scene(1), scene(2)
    for image in (a, b):
        image[:, :40] = image[:, 120:] = 0
    assert distance(sig(a), sig(b))[0, 0] > 0.5


def test_distances_by_hand():
    a, b = scene(1), scene(2)
    assert distance(sig(a), sig(a))[0, 0] == pytest.approx(0, abs=1e-6)
    assert distance(sig(0 * a), sig(0 * b))[0, 0] == pytest.approx(0, abs=1e-6)
    assert distance(sig(a), sig(0 * a))[0, 0] > 0.9
    assert distance(np.stack([sig(a), sig(b)]), sig(a)).shape == (2, 1)


def test_a_long_take_ends_so_that_work_can_be_taken_up():
    times = np.arange(10) * LONGEST_SHOT / 4
    assert cuts(shot(1, 10), times=times) == [0, 4, 8]


def test_after_a_cut_nothing_before_it_matters():
    images = [*shot(1, 20), *shot(2, 30), *shot(3, 10)]
    assert cuts(images[20:], times=np.arange(20, 60) / 25) == [0, 30]
