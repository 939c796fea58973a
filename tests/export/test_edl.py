from __future__ import annotations

import re
from itertools import pairwise

import pytest

from castlist import InputError
from castlist.export.edl import edl_lines
from castlist.export.timecode import exact_rate
from tests.export.casts import AWKWARD, made_timeline, nobody

opentimelineio = pytest.importorskip("opentimelineio")  # no wheels for Python 3.14

MARKER = re.compile(r" \|C:ResolveColor(\w+) \|M:([^|]*) \|D:(\d+)")


def events(text, rate):
    """Read with OpenTimelineIO's CMX 3600 adapter: (first frame, marker line) each."""
    timeline = opentimelineio.adapters.read_from_string(
        text, "cmx_3600", rate=float(exact_rate(rate)), ignore_timecode_mismatch=True
    )
    assert len(timeline.tracks) == 1
    return [
        (clip.source_range.start_time.value, clip.metadata["cmx_3600"]["comments"][0])
        for clip in timeline.find_clips()
    ]


@pytest.mark.parametrize("rate", [24000 / 1001, 29.97, 25, 30, 50, 59.94])
@pytest.mark.parametrize("drop", [None, False])
def test_markers_are_where_people_appear(tmp_path, rate, drop):
    one = made_timeline(tmp_path / "film.cast", rate)
    text = "".join(edl_lines(one, drop))
    dropped = drop is None and rate in (29.97, 59.94)
    assert ("FCM: DROP FRAME" in text) == dropped
    assert text.startswith(f"TITLE: {one.video}\n")
    hour = {29.97: 107892, 59.94: 215784}[rate] if dropped else 3600 * round(rate)
    read = events(text, rate)
    assert len(read) == 4
    for number, ((frame, comment), (seen, person)) in enumerate(
        zip(read, one.in_order(), strict=True)
    ):
        shift = 1 if number == 1 else 0  # two appear at 0: the second stands beside the first
        start, end = (round(moment * exact_rate(rate)) for moment in (seen.start, seen.end))
        assert frame == hour + start + shift
        colour, name, length = MARKER.fullmatch(f" {comment}").groups()
        assert name == person.label.replace("|", "¦")
        assert int(length) == end - start - shift
        assert colour == ("Blue" if person.label == "Character 1" else "Cyan")


def test_no_two_markers_share_a_frame(tmp_path):
    crowd = [(0.0, 0.4, k) for k in range(8)] + [(0.2, 0.6, 0)]
    text = "".join(edl_lines(made_timeline(tmp_path / "film.cast", spans=crowd)))
    frames = [frame for frame, _ in events(text, 25)]
    assert all(a < b for a, b in pairwise(frames))
    assert all(int(d) >= 1 for _, _, d in MARKER.findall(text))


def test_lines_are_as_resolve_writes_them(tmp_path):
    text = "".join(edl_lines(made_timeline(tmp_path / "film.cast", 29.97)))
    assert text.splitlines()[3:6] == [
        "001  001      V     C        01:00:00;00 01:00:00;01 01:00:00;00 01:00:00;01  ",
        " |C:ResolveColorBlue |M:Character 1 |D:36",
        "",
    ]
    assert "|" not in AWKWARD.replace("|", "¦")
    # 599.8 s are 9:59:24 on the clock: what drop-frame is for.
    assert "01:09:59;24" in text


def test_drop_frame_where_there_is_none(tmp_path):
    with pytest.raises(InputError, match="no drop-frame timecode at 25.000"):
        list(edl_lines(made_timeline(tmp_path / "film.cast"), drop=True))


def test_nobody(tmp_path):
    text = "".join(edl_lines(nobody(tmp_path / "film.cast")))
    assert text.splitlines()[1:] == ["FCM: NON-DROP FRAME", ""]
