"""All figures of a clip: worked by hand, and against the script that came with the clips."""

from __future__ import annotations

import csv
import importlib.util

import numpy as np
import pytest

from castlist import TrackSet, read_tracks
from castlist.cast.cast_file import load_cast
from castlist.io.truth import COLUMNS, Truth, read_truth
from castlist.research.score.clip import add_widths, score_clip, seconds_of_samples, summarise
from datasets.synthetic_casts import write_folder


def made(tracks, truth):
    """Make tracks of (id, time, x, width) and truth of (time, x, width, who)."""
    found = TrackSet.from_faces(
        [one[0] for one in tracks], time=[one[1] for one in tracks],
        box=[[one[2], 0, one[3], one[3]] for one in tracks],
    )  # fmt: skip
    time = np.array([one[0] for one in truth], float)
    box = np.array([[x, 0, width, width] for _, x, width, _ in truth], float).reshape(-1, 4)
    return found, Truth(time, box, np.array([one[3] for one in truth], str))


@pytest.fixture
def by_hand():
    """Six tracks: two of anna, one of ben, one of nobody, one no face, one where truth misses."""
    return made(
        [
            ("1", 0.0, 0, 20), ("1", 0.2, 0, 20), ("2", 0.4, 0, 50), ("3", 0.0, 100, 30),
            ("4", 0.6, 300, 100), ("5", 0.8, 0, 40), ("6", 2.0, 0, 90), ("6", 2.2, 0, 90),
        ],
        [
            (0.0, 0, 20, "anna"), (0.2, 0, 20, "anna"), (0.4, 0, 50, "anna"), (0.0, 100, 30, "ben"),
            (0.2, 100, 30, "ben"), (0.8, 0, 40, "notface"), (1.0, 0, 24, "carl"),
            (1.2, 200, 60, "unsure"),
        ],
    )  # fmt: skip


def test_by_hand(by_hand):
    #                                    anna ben+anna  false tracks
    one = score_clip(
        *(by_hand[0], np.array([0, 1, 1, 2, 1, 3]), by_hand[1]), np.array([[1.5, 2.1]])
    )
    assert (one.people, one.covered, one.lost) == (3, 2, 2)  # 1 is anna's, by name
    assert (one.tracks, one.characters, one.pieces, one.wrong) == (3, 2, 1, 1)
    assert (one.mixed, one.false, one.false_characters) == (0, 3, 2)
    assert one.unlabelled == 1  # 6: both of its faces; 4 is elsewhere, and 5 is no face
    assert one.seen == pytest.approx(4 / 6)
    assert one.wcp == one.accuracy == pytest.approx(2 / 3)
    assert [(p.who, p.tracks, p.characters) for p in one.by_person] == [
        ("anna", 2, 2), ("ben", 1, 0), ("carl", 0, 0),
    ]  # fmt: skip
    assert [p.seconds for p in one.by_person] == pytest.approx([0.6, 0.4, 0.2])
    assert one.tracks_per_minute == pytest.approx(60 * 3 / 1.2)
    assert [(w.low, w.high) for w in one.by_width] == [(0, 25), (25, 40), (40, 80), (80, None)]
    assert [(w.tracks, w.wrong, w.false) for w in one.by_width] == [
        (1, 0, 0), (1, 1, 0), (1, 0, 1), (0, 0, 2),
    ]  # fmt: skip
    assert [(w.faces, w.seen) for w in one.by_width] == [(3, 2), (2, 1), (1, 1), (0, 0)]
    assert [(c.label, c.tracks, c.pure, c.whole) for c in one.by_character] == [
        (0, 1, True, False), (1, 2, False, False),
    ]  # fmt: skip


def test_what_is_not_known_is_not_counted(by_hand):
    tracks, truth = by_hand
    one = score_clip(tracks, np.array([0, 0, 1, -1, -1, -1]), truth)
    assert (one.unlabelled, one.false, one.false_characters) == (None, 3, 0)
    assert (one.nmi, one.wcp, one.accuracy, one.lost) == (1, 1, 1, 1)
    assert all(c.pure and c.whole for c in one.by_character)


def test_a_character_with_a_mixed_track_is_not_pure():
    tracks, truth = made(
        [("1", 0.0, 0, 50), ("1", 0.2, 0, 50), ("1", 0.4, 0, 50)],
        [(0.0, 0, 50, "anna"), (0.2, 0, 50, "anna"), (0.4, 0, 50, "ben")],
    )
    one = score_clip(tracks, np.array([0]), truth)
    assert (one.mixed, one.wrong, one.wcp) == (1, 0, 1)
    assert [(c.pure, c.whole) for c in one.by_character] == [(False, True)]


def test_nothing_found_and_nothing_there():
    tracks, truth = made([("1", 0.0, 0, 20)], [(5.0, 0, 20, "anna")])
    none = tracks[np.array([], int)]
    one = score_clip(none, np.empty(0, int), truth, np.empty((0, 2)))
    assert (one.people, one.lost, one.tracks, one.nmi, one.seen) == (1, 1, 0, 0, 0)
    assert one.unlabelled == 0
    empty = Truth(np.empty(0), np.empty((0, 4)), np.empty(0, str))
    two = score_clip(tracks, np.array([0]), empty)
    assert (two.people, two.false, two.false_characters, two.seen) == (0, 1, 1, 0)
    assert two.tracks_per_minute == 0
    assert summarise([one, two]).number_off == 1  # of the clip that has people


def test_samples_last_until_the_next():
    assert seconds_of_samples(np.array([]), 0.2) == 0
    assert seconds_of_samples(np.array([3.0, 3.0]), 0.2) == pytest.approx(0.2)
    # 0.2, then 0.04 after a cut, then a gap of 2 s, and a last one.
    assert seconds_of_samples(np.array([0, 0.2, 0.24, 2.24]), 0.2) == pytest.approx(0.64)


def test_summary_of_clips(by_hand):
    tracks, truth = by_hand
    good = score_clip(tracks, np.array([0, 0, 1, 2, 2, 2]), truth)
    bad = score_clip(tracks, np.array([0, 1, 1, 2, 1, 3]), truth)
    both = summarise([good, bad])
    assert (both.tracks, both.repairs, both.false) == (6, 2, 6)
    assert both.wcp == pytest.approx(5 / 6)
    assert both.number_off == pytest.approx(1 / 3)
    assert both.repair_share == pytest.approx(1 / 3)
    assert [w.tracks for w in add_widths([good, bad])] == [2, 2, 2, 0]
    assert [w.wrong for w in add_widths([good, bad])] == [0, 1, 0, 0]


@pytest.fixture(scope="module")
def script(tv):
    """The script that came with the clips."""
    spec = importlib.util.spec_from_file_location("tv_score", tv / "score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def awkward(seed, path):
    """Make tracks, labels and a truth file, with ties and everything that is left out."""
    rng = np.random.default_rng(seed)
    people = ["anna", "ben", "carl", "dora", "notface", "unsure"]
    columns = {k: [] for k in ("track", "time", "box", "feature")}
    rows = []
    for track in range(30):
        start = 0.2 * rng.integers(0, 12)
        place = 20.0 * rng.integers(0, 6) if track else 1000.0
        who = rng.choice(people, 2, p=[0.25, 0.2, 0.15, 0.15, 0.15, 0.1])
        for look in range(int(rng.integers(1, 7))):
            time, shift = start + 0.2 * look, 5.0 * rng.integers(-1, 2)
            columns["track"].append(f"{track:05d}")
            columns["time"].append(time)
            columns["box"].append([place + shift, 0, 30, 30])
            columns["feature"].append(rng.normal(size=4))
            if track and rng.random() < 0.7:  # the first has no truth at all
                late = rng.choice([0, 0, 0.1, -0.1, 0.15, 0.2])
                rows.append((time + late, place, 0, 30, 30, who[int(rng.random() < 0.3)]))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *(rows[i] for i in rng.permutation(len(rows)))])
    order = rng.permutation(len(columns["track"]))  # tracks in any order, faces of one together
    order = order[np.argsort(np.array(columns["time"])[order], kind="stable")]
    columns = {name: [values[i] for i in order] for name, values in columns.items()}
    tracks = TrackSet.from_faces(columns.pop("track"), video="film.mp4", **columns)
    return tracks, rng.integers(0, 6, len(tracks))


@pytest.mark.parametrize("seed", range(20))
def test_all_figures_are_those_of_the_script(script, tmp_path, seed):
    path = tmp_path / "film.csv"
    tracks, labels = awkward(seed, path)
    folder = write_folder(tmp_path / "film.cast", tracks, labels)
    expected = script.score(folder, script.read_truth(path))
    assert expected["wrong"]
    assert expected["mixed"]
    assert expected["false"]
    tracks = read_tracks(folder / "tracks.parquet")
    cast = load_cast(folder / "cast.json", tracks)
    one = score_clip(tracks, cast.labels(), read_truth(path))
    assert {name: getattr(one, name) for name in expected} == expected
