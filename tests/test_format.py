from __future__ import annotations

from castlist.format import clock, clock_in_tenths, given_up_line, lasting, percent, sureness


def test_given_up_line_names_a_few_pairs_and_counts_the_others():
    one = {"tracks": ["4", "9"], "time": 72.9}
    assert given_up_line(1, {"count": 1, "pairs": [one]}) == (
        "1 character required 1 pair of tracks that share a frame in one character: "
        "tracks 4 and 9 at 1:12."
    )
    timeless = {"tracks": ["a", "b"], "time": None}
    assert given_up_line(6, {"count": 1200, "pairs": [one, timeless, *[one] * 98]}) == (
        "6 characters required 1200 pairs of tracks that share a frame in one character: "
        "tracks 4 and 9 at 1:12, a and b, 4 and 9 at 1:12, and 1197 more."
    )


def test_times_shares_and_certainty():
    assert [clock(t) for t in (0, 59.99, 60, 3599, 3600, 36125)] == [
        *("0:00", "0:59", "1:00", "59:59", "1:00:00", "10:02:05")
    ]
    assert [clock_in_tenths(t) for t in (0, 5.24, 59.96, 3600.1)] == [
        *("0:00.0", "0:05.2", "1:00.0", "1:00:00.1")
    ]
    assert [lasting(t) for t in (0, 0.4, 0.6, 59.7)] == ["0:00", "<0:01", "0:01", "1:00"]
    assert [percent(p) for p in (0, 0.0004, 0.0005, 0.034, 0.0996, 0.5, 1)] == [
        *("0.0%", "<0.1%", "0.1%", "3.4%", "10%", "50%", "100%")
    ]
    assert [sureness(s) for s in (1, 0.93, 0.92, 0.8, 0.79, 0, float("nan"))] == [
        *("sure", "sure", "fairly sure", "fairly sure", "unsure", "unsure", "unsure")
    ]
