from __future__ import annotations

from collections import Counter

import matplotlib.image
import numpy as np
import pytest

from castlist import InputError, complete_linkage
from castlist.research import curve, draw_curves, draw_skew


def colours(path):
    """How many pixels have each colour."""
    pixels = (matplotlib.image.imread(path)[..., :3] * 255).round().astype(int)
    return Counter(map(tuple, pixels.reshape(-1, 3).tolist()))


def test_the_curve_and_its_circle(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 9, 80)
    found = curve(truth, complete_linkage(rng.normal(size=(80, 2))).merges)
    draw_curves(tmp_path / "without.png", {"model": found}, {}, 9)
    draw_curves(tmp_path / "with.png", {"model": found}, {"model": 12}, 9)
    blue = (31, 119, 180)  # the first line's colour: the circle adds to it
    assert colours(tmp_path / "with.png")[blue] > colours(tmp_path / "without.png")[blue] + 50


def test_a_name_is_no_formula(tmp_path):
    found = curve([0, 1, 1], complete_linkage([[0.0], [1.0], [1.1]]).merges)
    draw_curves(tmp_path / "one.svg", {r"$\foo$": found}, {}, 2)
    assert r"$\foo$" in (tmp_path / "one.svg").read_text("utf-8")


def test_background_is_marked(tmp_path, tracks):
    draw_skew(tmp_path / "skew.png", tracks)
    seen = colours(tmp_path / "skew.png")
    assert seen[(0x2B, 0x6C, 0xA3)] > 1000
    assert seen[(0xE0, 0x82, 0x14)] > 1000


def test_unknown_kinds_of_figures_are_refused(tmp_path, tracks):
    with pytest.raises(InputError, match="must end in .png, .svg, .pdf"):
        draw_skew(tmp_path / "skew.gif", tracks)
    draw_skew(tmp_path / "skew.svg", tracks)
    assert "<svg" in (tmp_path / "skew.svg").read_text()
