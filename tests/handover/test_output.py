from __future__ import annotations

import pytest

from castlist.handover.output import seconds_before
from castlist.handover.scenes import Scene


def test_what_a_copied_film_has_before_its_scenes():
    scenes = [Scene("a.mp4", 1.0, 3.0, ("Anna",)), Scene("a.mp4", 5.0, 6.5, ("Anna",))]
    assert seconds_before(scenes, 5.0) == pytest.approx(1.5)
    assert seconds_before(scenes, 3.4) == 0  # the last frame of a video may be shorter
