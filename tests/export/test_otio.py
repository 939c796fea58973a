from __future__ import annotations

from urllib.parse import unquote

import pytest

from castlist.export.otio import otio_lines
from castlist.export.timecode import exact_rate
from tests.export.casts import AWKWARD, made_timeline, nobody

opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14


def read(one):
    return opentimelineio.adapters.read_from_string("".join(otio_lines(one)), "otio_json")


@pytest.mark.parametrize("rate", [24000 / 1001, 29.97, 25, 30, 50, 59.94])
def test_a_marker_for_every_appearance(tmp_path, rate):
    one = made_timeline(tmp_path / "film.cast", rate)
    timeline = read(one)
    (clip,) = timeline.find_clips()
    assert timeline.name == clip.name == one.video
    assert unquote(clip.media_reference.target_url) == one.video
    exact = exact_rate(rate)
    found = [
        (m.name, m.marked_range.start_time.to_seconds(), m.marked_range.end_time_exclusive())
        for m in clip.markers
    ]
    assert [name for name, _, _ in found] == ["Character 1", AWKWARD, AWKWARD, "Character 1"]
    half = 0.5 / float(exact) + 1e-9
    for (_, start, end), (seen, _) in zip(found, one.in_order(), strict=True):
        assert start == pytest.approx(seen.start, abs=half)
        assert end.to_seconds() == pytest.approx(seen.end, abs=half)
        assert end.rate == pytest.approx(float(exact), rel=1e-12)
        assert end.value == int(end.value)
    assert clip.markers[0].color == "BLUE"
    assert clip.markers[0].metadata["castlist"]["character"] == 1
    assert clip.available_range() == clip.source_range


def test_timelines_start_at_one_o_clock_by_the_labels_of_frames(tmp_path):
    start = read(made_timeline(tmp_path / "film.cast", 23.976)).global_start_time
    assert start.to_timecode() == "01:00:00:00"


def test_another_version_of_the_library_reads_it_as_it_writes_it(tmp_path):
    timeline = read(made_timeline(tmp_path / "film.cast"))
    again = opentimelineio.adapters.read_from_string(timeline.to_json_string(), "otio_json")
    assert again.is_equivalent_to(timeline)


def test_nobody(tmp_path):
    (clip,) = read(nobody(tmp_path / "film.cast")).find_clips()
    assert not clip.markers
