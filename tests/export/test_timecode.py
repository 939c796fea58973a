from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist import InputError
from castlist.export.timecode import can_drop, exact_rate, frame_at, start_frame, timecode

otio = pytest.importorskip("opentimelineio.opentime")  # no wheels for Python 3.14
NTSC = [Fraction(n * 1000, 1001) for n in (24, 30, 48, 60)]
DROP = [Fraction(30_000, 1001), Fraction(60_000, 1001)]
RATES = [*NTSC, *map(Fraction, (24, 25, 30, 48, 50, 60))]
A_DAY = 24 * 3600


def counted(text: str, rate: Fraction) -> int:
    """Count frames as SMPTE 12M defines the numbers, by adding up minutes."""
    drop = ";" in text
    hours, minutes, seconds, frames = (int(part) for part in text.replace(";", ":").split(":"))
    nominal, minutes = round(rate), 60 * hours + minutes
    left_out = (nominal // 15) * (minutes - minutes // 10) if drop else 0
    return (60 * minutes + seconds) * nominal + frames - left_out


@pytest.mark.parametrize(
    ("rounded", "exact"),
    [(23.976, NTSC[0]), (23.98, NTSC[0]), (24000 / 1001, NTSC[0]), (29.97, NTSC[1]),
     (30000 / 1001, NTSC[1]), (59.94, NTSC[3]), (24.0, 24), (25.0, 25), (30.0, 30), (50.0, 50),
     (60.0, 60), (12.5, Fraction(25, 2)), (15.0, 15), (359 / 12, Fraction(359, 12))],
)  # fmt: skip
def test_a_rate_is_what_its_rounded_figure_stands_for(rounded, exact):
    assert exact_rate(rounded) == exact


@pytest.mark.parametrize("rate", [0.0, -25.0, float("nan"), float("inf"), 1e6])
def test_a_rate_that_cannot_be(rate):
    with pytest.raises(InputError, match="frame rate"):
        exact_rate(rate)


@pytest.mark.parametrize(
    ("frame", "rate", "text"),
    [(1799, 30, "00:00:59;29"), (1800, 30, "00:01:00;02"), (17981, 30, "00:09:59;29"),
     (17982, 30, "00:10:00;00"), (107892, 30, "01:00:00;00"), (3600, 60, "00:01:00;04"),
     (3599, 60, "00:00:59;59"), (35964, 60, "00:10:00;00")],
)  # fmt: skip
def test_drop_frame_leaves_numbers_out(frame, rate, text):
    assert timecode(frame, Fraction(1000 * rate, 1001), drop=True) == text


def test_timelines_start_at_one_o_clock():
    for rate in (*RATES, Fraction(1), Fraction(1, 5)):
        for drop in {False, can_drop(rate)}:
            shown = timecode(start_frame(rate, drop), rate, drop)
            assert shown.replace(";", ":") == "01:00:00:00"


def test_after_a_day_it_begins_anew():
    assert timecode(A_DAY * 25 + 1, Fraction(25), drop=False) == "00:00:00:01"


@given(st.sampled_from(DROP), st.data())
def test_drop_frame_goes_there_and_back(rate, data):
    frame = data.draw(st.integers(0, int(A_DAY * rate) - 100))
    text = timecode(frame, rate, drop=True)
    assert counted(text, rate) == frame
    assert not (text[6:8] == "00" and int(text[9:]) < round(rate) // 15 and text[4] != "0")
    assert otio.to_timecode(otio.RationalTime(frame, float(rate)), float(rate), True) == text
    assert abs(frame / rate - _clock(text, rate)) < Fraction(1, 4)


@given(st.sampled_from(RATES), st.data())
def test_non_drop_goes_there_and_back(rate, data):
    frame = data.draw(st.integers(0, 23 * 3600 * round(rate)))
    text = timecode(frame, rate, drop=False)
    assert counted(text, rate) == frame
    assert otio.to_timecode(otio.RationalTime(frame, float(rate)), float(rate), False) == text


@given(st.sampled_from(RATES), st.integers(0, 10_000_000))
def test_a_frame_is_found_by_its_time(rate, frame):
    assert frame_at(float(frame / rate), rate) == frame
    assert frame_at(float((frame + Fraction(1, 3)) / rate), rate) == frame


def _clock(text: str, rate: Fraction) -> Fraction:
    hours, minutes, seconds, frames = (int(part) for part in text.replace(";", ":").split(":"))
    return 3600 * hours + 60 * minutes + seconds + frames / rate
