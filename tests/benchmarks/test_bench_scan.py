"""Accuracy of the shipped model on a video of twelve people with known truth."""

from __future__ import annotations

import pytest

from benchmarks.bench_scan import judge
from castlist import scan
from datasets.clip_video import compose


@pytest.mark.slow
def test_twelve_people_in_sixty_shots(clips, tmp_path):
    video = tmp_path / "twelve.mp4"
    shots = compose(clips, video, seed=11, shots=64)
    assert sum(len(shot.panels) > 1 for shot in shots) >= 16
    cast = scan(video).cast
    found = judge(cast.tracks, cast.labels().tolist(), shots, 5.0)
    assert found["people"] == 12
    assert 11 <= found["characters"] <= 13
    assert found["nmi"] >= 0.97
    assert found["wcp"] >= 0.98
    assert found["covered"] >= 0.95
    assert found["mixed"] == 0
    assert found["nobody"] == 0
