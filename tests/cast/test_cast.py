from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlist import CastlistError, InputError, TrackSet
from castlist.cast.cast import Appearance, Character, appearances, make_cast, screen_time
from castlist.cast.cast_file import load_cast, save_cast
from castlist.cast.certainty import OFFSET, SLOPE, certainty, track_certainty
from castlist.cast.state import State


@pytest.fixture
def film() -> TrackSet:
    """Five tracks: 20 s, 30 s, 0.2 s, 0.4 s and 8 s long."""
    spans = {"a": (0, 20), "b": (5, 35), "c": (40, 40.2), "d": (50, 50.4), "e": (60, 68)}
    return TrackSet.from_faces(
        [name for name in spans for _ in range(2)],
        time=[t for span in spans.values() for t in span],
        feature=np.eye(5, 4)[np.repeat(np.arange(5), 2)],
        video="film.mp4",
    )


def test_characters_are_by_screen_time_and_background_comes_last(film):
    labels = np.array([7, 7, 3, 4, 5])
    cast = make_cast(film, labels, film.mean_features(), duration=70)
    titles = [one.title for one in cast.characters]
    assert titles == ["Character 1", "Character 2", "Background 3", "Background 4"]
    assert [one.tracks.tolist() for one in cast.characters] == [[0, 1], [4], [3], [2]]
    np.testing.assert_allclose([one.seconds for one in cast.characters], [35, 8, 0.4, 0.2])
    assert cast.labels().tolist() == [0, 0, 3, 2, 1]
    sure = track_certainty(film.mean_features(), labels)
    assert [one.track_sure for one in cast.characters] == [
        tuple(sure[one.tracks].tolist()) for one in cast.characters
    ]


def test_characters_with_small_faces_come_last_until_named(film):
    box = np.tile(np.array([0, 0, 19, 25], np.float32), (10, 1))
    box[[3, 8], 2] = 21  # one face of b, and one of e
    film = replace(film, box=box)
    labels = np.array([1, 1, 3, 4, 5])
    cast = make_cast(film, labels, film.mean_features(), duration=70)
    assert [(one.tracks.tolist(), one.small) for one in cast.characters] == [
        ([0, 1], False), ([4], False), ([3], True), ([2], True),
    ]  # fmt: skip
    state = State.of(labels)
    state.names[3] = "Extra"
    named = make_cast(film, labels, film.mean_features(), 70, state)
    assert {one.number: one.small for one in named.characters} == {
        1: False, 5: False, 3: False, 4: True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "background", "small", "group", "state", "title"),
    [
        ("", False, False, "main", "unreviewed", "Character 7"),
        ("Anna", False, False, "main", "named", "Anna"),
        ("", True, False, "background", "background", "Background 7"),
        ("Anna", True, False, "background", "named", "Anna"),
        ("", False, True, "small", "small", "Character 7"),
        ("", True, True, "small", "small", "Background 7"),
    ],
)
def test_where_a_character_is_listed(name, background, small, group, state, title):
    one = Character(7, name, background, np.arange(1), 1.0, 1.0, small=small)
    assert (one.group, one.state, one.title) == (group, state, title)


def test_ten_seconds_are_not_background_however_long_the_lead_is_seen():
    seconds = {"lead": 1000.0, "guest": 12.0, "extra": 9.0}
    tracks = TrackSet.from_faces(
        [name for name in seconds for _ in range(2)],
        time=[t for end in seconds.values() for t in (0.0, end)],
        feature=np.eye(3)[np.repeat(np.arange(3), 2)],
    )
    cast = make_cast(tracks, np.arange(3), tracks.mean_features(), 1000.0)
    # All but the lead are below 5 % of its time.
    assert [one.background for one in cast.characters] == [False, False, True]


def test_a_table_has_one_row_per_track(film):
    labels = np.array([1, 1, -1, 4, 5])  # the third track is not a face
    state = State.of(labels)
    state.names[1] = "Anna"
    cast = make_cast(film, labels, film.mean_features(), 70, state)
    table = cast.to_arrow()
    assert table.column_names == [
        "character", "name", "background", "track", "video", "start", "end", "faces", "certainty",
    ]  # fmt: skip
    first = table.to_pylist()[0]
    assert first.pop("certainty") == pytest.approx(cast.characters[0].track_sure[0])
    assert first == {
        "character": 1, "name": "Anna", "background": False, "track": "a", "video": "film.mp4",
        "start": 0.0, "end": 20.0, "faces": 2,
    }  # fmt: skip
    assert table["track"].to_pylist() == ["a", "b", "e", "d"]
    assert table["character"].to_pylist() == [1, 1, 5, 4]
    nobody = make_cast(film[:0], labels[:0], film[:0].mean_features(), 70).to_arrow()
    assert (nobody.num_rows, nobody.schema) == (0, table.schema)


def test_the_times_of_a_table_are_those_of_each_video(film):
    two = TrackSet.join([film, replace(film, videos=("second.mp4",))])
    cast = make_cast(two, np.zeros(10, int), two.mean_features(), 140, starts=[0.0, 70.0])
    rows = [row for row in cast.to_arrow().to_pylist() if row["track"] == "a"]
    assert [(row["video"], row["start"]) for row in rows] == [
        ("film.mp4", 0.0),
        ("second.mp4", 0.0),
    ]


def test_a_data_frame_has_the_columns_of_the_table(film):
    pytest.importorskip("pandas")
    cast = make_cast(film, np.arange(5), film.mean_features(), 70)
    frame = cast.to_pandas()
    assert list(frame.columns) == cast.to_arrow().column_names
    assert frame["faces"].sum() == len(film.time)


def test_without_pandas_the_error_says_what_to_install(film, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    cast = make_cast(film, np.arange(5), film.mean_features(), 70)
    with pytest.raises(CastlistError, match=r"needs pandas.*castlist\[pandas\]"):
        cast.to_pandas()


def test_nobody_is_background_where_everybody_is_short(film):
    cast = make_cast(film[2:4], np.array([0, 1]), film[2:4].mean_features(), 70)
    assert not any(one.background for one in cast.characters)


@pytest.mark.parametrize("starts", [[0.0, 70.0], [0.0]])
def test_the_times_of_two_videos_are_not_one_another(film, starts):
    """Also where it is not said when the second one begins."""
    two = TrackSet.join([film, replace(film, videos=("second.mp4",))])
    cast = make_cast(two, np.zeros(10, int), two.mean_features(), 140, starts=starts)
    (one,) = cast.characters
    assert one.seconds == pytest.approx(2 * (35 + 0.2 + 0.4 + 8))
    later = cast.spans[5:] - cast.spans[:5]
    np.testing.assert_allclose(later, starts[-1] or 68.0)


def test_a_track_lasts_until_its_face_is_gone(film):
    film = replace(film, end=np.array([20.2, np.nan, 45.0, 50.6, 70.0]))
    cast = make_cast(film, np.arange(5), film.mean_features(), 70)
    seconds = {int(one.tracks[0]): one.seconds for one in cast.characters}
    np.testing.assert_allclose([seconds[k] for k in range(5)], [20.2, 30, 5, 0.6, 10])


def test_a_saved_cast_is_loaded_unchanged(film, tmp_path):
    cast = make_cast(film, np.array([0, 0, 1, 2, 0]), film.mean_features(), 70)
    save_cast(cast, tmp_path / "cast.json", {"threshold": 0.8})
    back = load_cast(tmp_path / "cast.json", film)
    for a, b in zip(cast.characters, back.characters, strict=True):
        assert (a.number, a.title, a.background) == (b.number, b.title, b.background)
        np.testing.assert_array_equal(a.tracks, b.tracks)
        assert b.sure == pytest.approx(a.sure, abs=1e-4)
    with pytest.raises(InputError, match="not a cast of these tracks"):
        load_cast(tmp_path / "cast.json", film[:2])
    moved = replace(film, time=film.time + 1)  # another scan, which found as many tracks
    with pytest.raises(InputError, match="of another scan"):
        load_cast(tmp_path / "cast.json", moved)
    value = json.loads((tmp_path / "cast.json").read_text("utf-8"))
    del value["scan"]  # written by an older castlist
    (tmp_path / "cast.json").write_text(json.dumps(value), "utf-8")
    assert load_cast(tmp_path / "cast.json", moved).characters
    for number in (10**23, 1.5, 0, "1"):
        value["characters"][0]["number"] = number
        (tmp_path / "cast.json").write_text(json.dumps(value), "utf-8")
        with pytest.raises(InputError, match="not the id of a character"):
            load_cast(tmp_path / "cast.json", film)
    (tmp_path / "cast.json").write_text("{")
    with pytest.raises(InputError, match="not a cast"):
        load_cast(tmp_path / "cast.json", film)


def margin(x, labels, c):
    """Return cohesion less similarity to others, from the words of its description."""
    cosine = (x @ x.T) / np.outer(*[np.linalg.norm(x, axis=1)] * 2)
    inside, outside = np.flatnonzero(labels == c), np.flatnonzero(labels != c)

    cohesion = min(np.mean([cosine[i, j] for j in inside if j != i]) for i in inside)
    return cohesion - np.mean([np.mean(sorted(cosine[i, outside])[-3:]) for i in inside])


def test_certainty_is_the_logistic_of_the_margin():
    rng = np.random.default_rng(0)
    labels = np.array([0] * 6 + [1] * 4 + [5] * 9 + [7] * 2)
    x = rng.normal(size=(21, 5)) + 2 * rng.normal(size=(8, 5))[labels]
    expected = [1 / (1 + np.exp(-SLOPE * margin(x, labels, c) - OFFSET)) for c in (0, 1, 5, 7)]
    np.testing.assert_allclose(certainty(x, labels), expected, rtol=1e-5)


def test_far_apart_is_sure_and_mixed_is_not():
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(4), 20)
    x = rng.normal(size=(80, 32)) + 9 * np.eye(4, 32)[who]
    assert certainty(x, who).min() > 0.95
    mixed = who % 2  # two people in each
    assert certainty(x, mixed).max() < 0.93


def test_large_characters_are_sampled(monkeypatch):
    rng = np.random.default_rng(2)
    who = rng.integers(0, 3, 3000)
    x = rng.normal(size=(3000, 16)) + 4 * np.eye(3, 16)[who]
    sampled = certainty(x, who)
    monkeypatch.setattr("castlist.cast.certainty._MOST_OF_ONE", 10**6)
    whole = certainty(x, who)
    np.testing.assert_allclose(sampled, whole, atol=0.3)
    assert (sampled != whole).all()


def test_a_single_track_is_never_sure_beside_somebody_similar():
    similar, _, far = certainty(np.eye(4)[[0, 0, 2]] + 0.2 * np.eye(4)[[1, 3, 3]], np.arange(3))
    assert similar < far < 0.93


def test_certainty_of_one_and_of_none():
    assert certainty(np.ones((3, 2)), np.zeros(3, int)) > 0.99
    assert len(certainty(np.empty((0, 2)), np.empty(0, int))) == 0


SPANS = np.array([(30, 34), (0, 10), (2, 5), (12, 20), (20.5, 21)])


def test_neighbours_merge():
    assert appearances(SPANS, gap=2.0) == [Appearance(0, 21, 4), Appearance(30, 34, 1)]
    assert appearances(SPANS[[1, 3]], gap=1.9) == [Appearance(0, 10, 1), Appearance(12, 20, 1)]


def test_touching_intervals_merge_and_gaps_stay():
    spans = np.array([(0, 1), (1, 2), (2.001, 3)])
    assert appearances(spans) == [Appearance(0, 2, 2), Appearance(2.001, 3, 1)]


def test_two_tracks_at_once_are_on_screen_once():
    assert screen_time(np.array([(0.0, 8.0), (4.7, 12.7)])) == 12.7
    assert screen_time(SPANS) == pytest.approx(22.5)


def test_a_track_without_times_is_left_out():
    assert appearances(np.array([(np.nan, np.nan), (1, 2)])) == [Appearance(1, 2, 1)]
    assert appearances(np.empty((0, 2))) == []
    assert screen_time(np.empty((0, 2))) == 0


milliseconds = st.integers(0, 3000)


@given(st.lists(st.tuples(milliseconds, milliseconds).map(sorted), max_size=12))
def test_screen_time_is_the_number_of_milliseconds_with_a_track(spans):
    raster = np.zeros(3000, bool)
    for start, end in spans:
        raster[start:end] = True
    found = np.array(spans, float).reshape(-1, 2) / 1000
    assert 1000 * screen_time(found) == pytest.approx(raster.sum(), abs=1e-6)
    merged = appearances(found)
    assert sum(one.n_tracks for one in merged) == len(spans)
    assert all(a.end < b.start for a, b in pairwise(merged))
