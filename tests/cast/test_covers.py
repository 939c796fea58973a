from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from castlist.cast.corrections import Corrections
from castlist.cast.covers import picture_quality, shown_tracks
from castlist.cast.folder import FACES
from castlist.cast.series import join
from castlist.io.pictures import COVERS, write_covers
from datasets.synthetic_casts import episode, made_video, write_folder, write_frames

RNG = np.random.default_rng(0)


def near(direction: int, count: int) -> np.ndarray:
    points = np.eye(8)[direction] + 0.05 * RNG.normal(size=(count, 8))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 7))
def test_the_best_is_the_cover_and_the_others_are_spread(qualities, most):
    worth = np.array(qualities)
    rows = np.arange(len(worth))
    shown = shown_tracks(rows, most, worth)
    assert len(shown) == min(most, len(rows))
    assert sorted(row for part in shown for row in part) == rows.tolist()  # each once
    assert worth[shown[0][0]] == worth.max()
    for part in shown:
        assert sorted(part) == list(range(min(part), max(part) + 1))  # one stretch of time
        assert worth[part[0]] == worth[part].max()
    others = [min(part) for part in shown[1:]]
    assert others == sorted(others)


def test_an_outlier_is_not_the_cover():
    points = np.concatenate([near(0, 9), near(1, 1)])
    worth = np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9])
    rows = np.arange(10)
    assert shown_tracks(rows, 5, worth)[0][0] == 9
    assert shown_tracks(rows, 5, worth, points)[0][0] == 2
    assert (
        shown_tracks(rows[8:], 5, worth, points)[0][0] == 9
    )  # of two tracks, neither is an outlier
    assert shown_tracks(rows[:0], 5, worth, points) == []


def test_points_that_are_all_alike_have_no_outliers():
    spread = np.array([1, 1, 1, 1, 50])[:, None]  # the last is far only relative to the others
    points = np.eye(8)[[0] * 5] + 1e-5 * spread * RNG.normal(size=(5, 8))
    assert shown_tracks(np.arange(5), 3, np.arange(5.0), points)[0][0] == 4


def test_where_no_quality_is_known_the_longest_track_is_the_cover():
    worth = picture_quality(np.array([3, 9, 5]), np.zeros(3))
    assert shown_tracks(np.arange(3), 3, worth)[0] == [1]
    worth = picture_quality(np.array([200_000, 300_000]), np.zeros(2))
    assert shown_tracks(np.arange(2), 1, worth)[0][0] == 1
    worth = picture_quality(np.array([10**12, 1]), np.array([0.0, 0.01]))  # known is better
    assert shown_tracks(np.arange(2), 1, worth)[0][0] == 1
    worth = picture_quality(np.array([3, 9, 5]), np.array([0.2, 0.0, 0.1]))
    assert shown_tracks(np.arange(3), 3, worth)[0] == [0]


def covers(**qualities) -> str:
    return json.dumps({
        name: {"quality": quality, "time": 1.5, "box": [0.1, 0.2, 0.3, 0.4]}
        for name, quality in qualities.items()
    })  # fmt: skip


def test_the_cover_follows_corrections(tmp_path):
    """Whose best track is taken away is shown by the next best."""
    folder = write_folder(tmp_path / "film.cast", made_video(), pictures=True)
    cast = Corrections(folder)
    one = cast.cast.characters[0]
    third, last = (str(cast.tracks.ids[row]) for row in one.tracks[[2, 4]])
    cast.close()
    (folder / FACES / COVERS).write_text(covers(**{third: 0.5, last: 0.4}))
    cast = Corrections(folder)
    first = [cast.shown(cast.character(one.number).tracks, 5)[0][0]]
    cast.move([third])
    first.append(cast.shown(cast.character(one.number).tracks, 5)[0][0])
    assert cast.tracks.ids[first].tolist() == [third, last]
    cast.close()


def test_a_joined_cast_has_the_covers_and_frames_of_its_videos(tmp_path):
    folders = [episode(tmp_path, f"e{k}", seed=k) for k in (1, 2)]
    for k, folder in enumerate(folders):
        (folder / FACES / COVERS).write_text(covers(**{"0000": 0.1 + k / 10}))
        (folder / FACES / "0000_frame.jpg").write_bytes(b"frame %d" % k)
    join(folders, tmp_path / "season.cast")
    cast = Corrections(tmp_path / "season.cast")
    assert {name: one.quality for name, one in cast.covers.items()} == {
        "e1:0000": 0.1, "e2:0000": 0.2,
    }  # fmt: skip
    assert cast.scanned.frame("e2:0000").read_bytes() == b"frame 1"
    assert cast.pictures["e2:0000"] == 2  # the frame is none of them
    cast.close()


def test_each_part_of_a_cut_track_has_the_pictures_that_are_in_it(tmp_path):
    tracks = made_video()
    folder = write_folder(tmp_path / "film.cast", tracks, pictures=True)
    covers = write_frames(folder, tracks)
    begin, end = tracks.spans[0].tolist()
    times = (begin + 0.1, end - 0.1)
    write_covers(folder / FACES, covers | {"0000": replace(covers["0000"], times=times)})
    cast = Corrections(folder)
    pictures = cast.pictures_of("0000")
    assert len(pictures) == 2
    times = cast.picture_times("0000")
    cast.cut("0000", (begin + end) / 2)
    assert cast.pictures_of("0000a") == pictures[:1]
    assert cast.pictures_of("0000b") == pictures[1:]
    first, second = cast.picture_times("0000a"), cast.picture_times("0000b")
    assert first + second == times
    assert first[0] < (begin + end) / 2 <= second[0]
    assert (cast.pictures["0000a"], cast.pictures["0000b"]) == (1, 1)
    assert cast.frame_of("0000a").is_file()  # the frame is that of the best
    assert cast.frame_of("0000b") is None
    cast.undo()
    assert cast.pictures_of("0000") == pictures
