from __future__ import annotations

from castlist.format import given_up_line


def test_a_few_are_named_and_the_others_counted():
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
