from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from castlist import InputError
from castlist.cast.cast import Appearance, Cast, Character
from castlist.export.timeline import one_line, timelines, unique_labels
from tests.export.casts import AWKWARD, made_cast, made_timeline, note_video, two_videos


def spans(person):
    return [(round(a.start, 3), round(a.end, 3)) for a in person.appearances]


def test_tracks_that_touch_are_one_appearance(tmp_path):
    one = made_timeline(tmp_path / "film.cast")
    by_label = {person.label: spans(person) for person in one.people}
    assert by_label == {
        "Character 1": [(0.0, 1.2), (599.8, 661.6)],
        AWKWARD: [(0.0, 4.2), (10.0, 12.2)],
    }
    assert one.video == 'Folge 1 é <a&b>, "x".mp4'
    assert [person.label for _, person in one.in_order()] == [
        "Character 1", AWKWARD, AWKWARD, "Character 1",
    ]  # fmt: skip


def test_what_is_no_face_is_not_exported(tmp_path):
    cast = made_cast(tmp_path / "film.cast")
    cast.not_face(["00003"])
    (one,) = timelines(cast)
    assert sum(len(person.tracks) for person in one.people) == 4


def test_what_overlaps_is_one_appearance_and_a_hole_is_a_hole(tmp_path):
    several = [(0.0, 1.0, 0), (0.4, 0.6, 0), (0.8, 2.0, 0), (2.4, 3.0, 0)]
    one = made_timeline(tmp_path / "film.cast", spans=several)
    assert spans(one.people[0]) == [(0.0, 2.2), (2.4, 3.2)]
    assert one.people[0].character.seconds == pytest.approx(3.0)


def test_a_video_is_as_long_as_noted_and_no_shorter_than_its_tracks(tmp_path):
    assert made_timeline(tmp_path / "film.cast").duration == pytest.approx(661.6)
    (longer,) = timelines(made_cast(tmp_path / "longer.cast", duration=700.0))
    assert longer.duration == 700
    (shorter,) = timelines(made_cast(tmp_path / "shorter.cast", duration=5.0))
    assert shorter.duration == pytest.approx(661.6)


def test_a_rate_not_noted_is_counted(tmp_path):
    cast = made_cast(tmp_path / "film.cast", rate=None)
    assert timelines(cast)[0].rate == 25
    assert timelines(cast, 29.97)[0].rate == Fraction(30_000, 1001)


def test_a_rate_that_nothing_tells(tmp_path):
    cast = made_cast(tmp_path / "film.cast", rate=None, spans=[(0.0, 0.0, 0)])
    with pytest.raises(InputError, match="frame rate is unknown"):
        _ = timelines(cast)[0].rate


def test_two_videos_are_two_timelines(tmp_path):
    one, two = timelines(two_videos(tmp_path))
    assert (one.video, two.video) == ("a.mp4", "b.mp4")
    assert [len(p.tracks) for p in one.people] == [1, 2]
    assert [spans(p) for p in two.people] == [[(599.8, 661.6)], [(10.0, 12.2)]]
    assert [two.tracks.ids[p.tracks].tolist() for p in two.people] == [["00005"], ["00004"]]


def test_the_size_noted_may_be_missing(tmp_path):
    made_cast(tmp_path / "film.cast")
    note_video(tmp_path / "film.cast", size=None)
    from castlist import Corrections

    assert timelines(Corrections(tmp_path / "film.cast"))[0].size is None


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["Anna", "Ben", ""], ["Anna", "Ben", "Character 3"]),
        (["Anna", "Anna", "Ben"], ["Anna (1)", "Anna (2)", "Ben"]),
        (["Anna", "Anna", "Anna (1)"], ["Anna (1)", "Anna (2)", "Anna (1) (3)"]),
        (["Character 3", "", ""], ["Character 3 (1)", "Character 2", "Character 3 (3)"]),
    ],
)
def test_labels_are_nobody_elses(names, labels):
    none = np.empty(0, np.int64)
    people = tuple(Character(k, name, False, none, 1.0, 1.0) for k, name in enumerate(names, 1))
    assert unique_labels(Cast(None, people, 1.0)) == labels


def test_a_line_is_a_line():
    assert one_line("a\r\nb\u2028c\x00d\x85e\ufffff") == "a b c d e f"
    assert one_line("می\u200cخواهم ‍👩‍🚀") == "می\u200cخواهم ‍👩‍🚀"
    assert one_line("caf\udce9") == "caf?"


def test_an_appearance_has_at_least_one_frame(tmp_path):
    """At 5 frames a second, one of 60 ms begins and ends nearest to the same frame."""
    one = made_timeline(tmp_path / "film.cast", rate=5.0)
    assert one.frames(Appearance(1.0, 1.06, 1)) == (5, 6)
    assert one.frames(Appearance(1.06, 1.06, 1)) == (5, 6)
    assert one.frames(Appearance(1.0, 1.4, 1)) == (5, 7)
    assert one.frames(Appearance(1.12, 1.28, 1)) == (6, 7)


def test_what_was_noted_of_one_video_is_not_said_of_another(tmp_path):
    """A cast of two videos in one scan has noted the rate and size of the first."""
    from castlist import Corrections

    two_videos(tmp_path).close()
    note_video(tmp_path / "all", name="a.mp4", rate=50.0, size=[320, 240])
    first, second = timelines(Corrections(tmp_path / "all"))
    assert (first.rate, first.size) == (50, (320, 240))
    assert (second.rate, second.size) == (25, None)  # counted from its faces


def test_colours_are_given_in_turn_the_first_to_the_lead(tmp_path):
    one = made_timeline(tmp_path / "film.cast", spans=[(0.0, 5.0 - k, k) for k in range(4)])
    labels = [person.label for person in one.people]
    assert list(one.coloured(["red", "blue", "green"]).items()) == list(
        zip(labels, ["red", "blue", "green", "red"], strict=True)
    )
